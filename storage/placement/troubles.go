package placement

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
)

// troubles are those that this rank has with the storage of nodes.
type troubles struct {
	log   *slog.Logger
	nodes *nodes
	root  string // directory of this node

	refusing    alarm   // this node does not take parts
	unprotected alarm   // what is to protect parts does not
	leftover    []alarm // a node cannot delete; by node, on rank 0

	mu sync.Mutex
	// avoiding is how many parts of this rank are still to bypass its node, which
	// has failed with avoidedFor.
	avoiding   int
	avoidedFor error
}

// tell logs a warning; one that is no news is a detail.
func (t *troubles) tell(news bool, message string, args ...any) {
	level := slog.LevelDebug
	if news {
		level = slog.LevelWarn
	}
	t.log.Log(context.Background(), level, message, args...)
}

// spills tells that a part goes to the home, because of a problem with the node.
func (t *troubles) spills(id storage.ID, problem string, why error) {
	t.tell(t.refusing.raise(problem), problem+": a part goes to the parallel file system",
		"version", id.Version, "directory", t.root, "error", why)
}

// took notes that the node has taken a part.
func (t *troubles) took() {
	if over := t.refusing.ease(); over != "" {
		t.log.Info("the node takes parts again", "directory", t.root, "was", over)
	}
}

// weak tells that a part is not protected as it should be, strong that it is.
func (t *troubles) weak(id storage.ID, level storage.Level, why error) {
	t.tell(t.unprotected.raise(failing(why)), "a version is not protected as planned, it is kept on its own node alone",
		"version", id.Version, "level", level.String(), "error", why)
}

func (t *troubles) strong(id storage.ID) {
	if t.unprotected.ease() != "" {
		t.log.Info("the parts of this rank are protected as planned again", "version", id.Version)
	}
}

// unlessStuck is the error of a deletion on a node, but for a node that can change
// nothing any more: what it has stays there, which does no harm, until a job finds
// that it can be deleted.
func (t *troubles) unlessStuck(node int, id storage.ID, err error) error {
	if !stuck(err) {
		if err == nil {
			t.leftover[node].ease()
		}
		return err
	}
	n := t.nodes.list[node]
	t.tell(t.leftover[node].raise(refusal(err)), "what a node has of an old version is not deleted: it cannot be written to",
		"version", id.Version, "host", n.Host, "directory", n.Root(), "error", err)
	return nil
}

// avoidFor is how many parts go to the home at once when the node has failed as
// one was published, which is too late to send it elsewhere: if the disk fails
// whenever its cache is written, or has blocks looked for only then (a quota, a thin
// volume), no part would be stored.
const avoidFor = 10

// avoid keeps the next parts off the node.
func (t *troubles) avoid(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.avoiding, t.avoidedFor = avoidFor, why
}

// avoided returns why the node is not to be asked for the next part; nil if it is.
func (t *troubles) avoided() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.avoiding == 0 {
		return nil
	}
	t.avoiding--
	return t.avoidedFor
}

// failing is what kind of trouble it is with what protects parts: a new one is told
// of, even if it begins before the last one is over.
func failing(why error) string {
	problem := refusal(why)
	switch {
	case problem != "":
		return problem
	case errors.Is(why, comm.ErrProcFailed):
		return "a process failed"
	case errors.Is(why, exchange.ErrClosed):
		return "a rank has ended"
	}
	return "it fails"
}
