package checkpoint

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/procid"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// core is what all parts of a checkpoint have in common: who it is, with which ranks it
// agrees, what it was set to, and where its versions are.
type core struct {
	name        string
	comm        *comm.Comm
	opt         options
	log         *slog.Logger
	rootLog     *slog.Logger // for what rank 0 says for all; elsewhere it discards
	fingerprint []byte

	home      *filestore.Store     // the directory on the parallel file system
	placement *placement.Placement // where versions go; nil before an attempt
	store     *storage.Store       // over placement, or home before an attempt
	lock      storage.Lock         // of the attempt, on rank 0

	threads  *async.Threads // of what goes on beside the program; nil: nothing does
	writer   *async.Writer  // nil: synchronous
	light    bool           // the attempt has touched no file: see carryover
	placedAt string         // placement.Config.Dir
	closed   bool
	released bool // it was closed because its communicator was given up
	private  bool // values are copied although zero-copy was asked for
}

// root reports that this rank speaks for all.
func (c *core) root() bool { return c.comm.Rank() == 0 }

func (c *core) dir() string { return c.home.Dir() }

// mayWrite returns an error if others may write here now.
func (c *core) mayWrite() error {
	if c.lock != nil {
		if err := c.lock.Check(); err != nil {
			return err
		}
	}
	return c.comm.Lease()
}

// hasAtHome reports whether the parallel file system has the parts that so many ranks have written of a version, as far as this one sees.
func hasAtHome(c *core, id storage.ID, ranks int) bool {
	for rank := range ranks {
		part, err := c.home.Open(context.Background(), id, storage.Part{Rank: rank, Size: ranks})
		if err != nil {
			return false
		}
		_ = part.Close() // it was only read
	}
	return true
}

// outOfOrder is the error of a call that must not be made now.
func (c *core) outOfOrder(what string) error {
	return fmt.Errorf("checkpoint %q: %w: %s", c.name, ErrState, what)
}

// daemonOf is what the lock names beside its holder, so that it stays the job's when that has failed; nil: there is none.
func daemonOf(c *core) *procid.ID {
	text := c.comm.Session().Daemon()
	if text == "" {
		return nil
	}
	p, err := procid.Parse(text)
	if err != nil { // of another version, which no rank of this one joins
		c.log.Warn("the daemon is not known: the lock does not name it", "error", err)
		return nil
	}
	return &p
}
