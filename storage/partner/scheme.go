package partner

import (
	"context"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// Scheme makes the copies of one rank's parts. Its methods may be called
// concurrently, also for several versions at once.
type Scheme struct {
	Service *exchange.Service
	Partner comm.Rank // holds the copies of this rank: see domain.Partners
	// ObjectName gives the name by which the partner is asked to store an object.
	ObjectName func(storage.ObjectKey) string
}

// Create starts the copy of a part, which this rank writes now. Errors are those of the
// stream, *exchange.Error, which name the partner and the copy. ctx is for the whole life
// of the writer; the partner throws the copy away when it ends.
func (s *Scheme) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	name := s.ObjectName(storage.ObjectKey{ID: id, Kind: storage.KindCopy, Part: part})
	return s.Service.Create(ctx, s.Partner, name)
}

// Skip does nothing: nobody waits for a copy.
func (s *Scheme) Skip(context.Context, storage.ID, storage.Part) error { return nil }
