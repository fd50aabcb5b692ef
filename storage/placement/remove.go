package placement

import (
	"context"
	"errors"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/internal/remove"
	"github.com/craft-go/craft/storage/nodelocal"
)

// removing is the placement of the remover.
type removing struct {
	local    *nodelocal.Store
	nodes    *nodes
	register *register
	schemes  schemes
	commands *commands
	troubles *troubles
	cancel   func(storage.ID)
}

var _ remove.Placement = (*removing)(nil)

// MayFlush reports whether the home is to get something of a version that it does not have.
func (r *removing) MayFlush(id storage.ID) bool {
	return r.register.mayBeAtHome(id) && !query(r.register, func(v catalog.View) bool { return v.HomeAlone().Whole(id) })
}

func (r *removing) Cancel(ctx context.Context, rank int, id storage.ID) error {
	if rank == int(r.nodes.me) {
		r.cancel(id)
		return nil
	}
	err := r.commands.give(ctx, comm.Rank(rank), verbCancel, id.String())
	if errors.Is(err, comm.ErrProcFailed) {
		return nil
	}
	return err
}

func (r *removing) Drop(ctx context.Context, node int, id storage.ID) (err error) {
	if !r.register.isInFiles(id, r.schemes) { // no node was to have anything
		return nil
	}
	leader := r.nodes.leader(catalog.Place(node))
	if leader == r.nodes.me {
		err = r.local.Remove(ctx, id)
	} else {
		err = r.commands.give(ctx, leader, verbRemove, id.String())
	}
	return r.troubles.unlessStuck(node, id, err)
}

func (r *removing) Dropped(id storage.ID) {
	r.register.tell(func() { r.register.cat.Leave(id, storage.TierNode) })
}
