package placement

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// What other ranks ask for by name: "<verb>/<rest>". Data for a scheme has the
// name of its level, everything else is an object of this node, or a command.
const (
	verbObject  = "object"  // storage.ObjectKey: write or read it
	verbMemory  = "memory"  // storage.ObjectKey: keep it in memory or read it there
	verbForget  = "forget"  // version: forget all of it in memory
	verbRemove  = "remove"  // version: delete all of it on this node
	verbCancel  = "cancel"  // version: do not heal it, nor copy it to the home
	verbKept    = "kept"    // version: an error if it is deleted (to rank 0)
	verbFlushed = "flushed" // version: the sender has flushed its parts (to rank 0)
	verbHealed  = "healed"  // version: the sender has healed its part (to rank 0)
	verbAtHome  = "athome"  // storage.ObjectKey: an error if the home does not have it (to rank 0)
)

func objectName(key storage.ObjectKey) string { return verbObject + "/" + key.Name() }
func memoryName(key storage.ObjectKey) string { return verbMemory + "/" + key.Name() }

// memoryNameAfter also says which version is known to be complete.
func memoryNameAfter(key storage.ObjectKey, newest storage.ID) string {
	if newest.IsZero() {
		return memoryName(key)
	}
	return memoryName(key) + "/" + newest.String()
}

// parseMemory reads what follows the verb of these.
func parseMemory(name string) (key storage.ObjectKey, newest storage.ID, err error) {
	if at := strings.LastIndexByte(name, '/'); at >= 0 {
		if id, ok := storage.ParseID(name[at+1:]); ok {
			name, newest = name[:at], id
		}
	}
	key, err = storage.ParseObjectKey(name)
	return key, newest, err
}

// command is a request without data: its Commit does what is asked.
type command func() error

func (c command) Write([]byte) (int, error) {
	return 0, fmt.Errorf("%w: it takes no data", ErrCommand)
}
func (c command) Commit() error { return c() }
func (c command) Abort() error  { return nil }

// commands go to other ranks, and reports to rank 0.
type commands struct {
	service *exchange.Service
	nodes   *nodes
	homeDir string                      // where rank 0 looks for what others have written to the home
	late    time.Duration               // Config.Late
	all     map[string]func(storage.ID) // on rank 0, by verb: what follows when all ranks have reported it

	mu      sync.Mutex
	reports map[report]int // on rank 0: how many ranks have
}

// report is what a rank tells rank 0 when it has done its share.
type report struct {
	verb string // verbFlushed, verbHealed
	id   storage.ID
}

// give gives a command to another rank and waits until it is done.
func (o *commands) give(ctx context.Context, to comm.Rank, verb, about string) error {
	w, err := o.service.Create(ctx, to, verb+"/"+about)
	if err != nil {
		return err
	}
	return w.Commit()
}

// report tells rank 0 that this rank has done something with a version.
func (o *commands) report(ctx context.Context, verb string, id storage.ID) error {
	if o.nodes.root() {
		o.reported(report{verb, id})
		return nil
	}
	return o.give(ctx, 0, verb, id.String())
}

// reported is called on rank 0 for each rank.
func (o *commands) reported(r report) {
	o.mu.Lock()
	o.reports[r]++
	all := o.reports[r] == o.nodes.ranks()
	if all {
		delete(o.reports, r)
	}
	o.mu.Unlock()
	if all {
		o.all[r.verb](r.id)
	}
}

// forget drops what was reported of a version.
func (o *commands) forget(id storage.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.reports, func(r report, _ int) bool { return r.id == id })
}
