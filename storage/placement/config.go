package placement

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Config says what a Placement is made of. All ranks give the same but for what
// describes their node.
type Config struct {
	Comm   *comm.Comm // of the job; the placement makes one of its own from it
	Name   string     // of the checkpoint
	Home   storage.Driver
	Dir    string         // of the checkpoint at home: names the place on the nodes
	Policy storage.Policy // no level below the home: there are no nodes
	// Due, if there is one, says on all ranks alike what a version is to have in place of what the periods say; none:
	// as they say. It is called by any goroutine.
	Due func(version uint64) storage.Levels
	// Carried, if it is not empty, is the identity of the store at home, known from before: no file is
	// read or written, and all that there is is what is in memory.
	Carried string
	// SetSize is how many ranks protect each other by parity (4 if 0), Parity how
	// many of them Reed-Solomon lets a set lose (2 if 0).
	SetSize, Parity int
	// MemoryCopies is how many ranks have a part in memory at the levels that are there, its own
	// one included (2 if 0), MemoryLimit how many bytes a rank uses for that; 0: any number.
	MemoryCopies int
	MemoryLimit  int64
	// FlushLimit bounds the bytes per second that this rank copies to the home;
	// 0: no bound.
	FlushLimit int64
	// Flushed is called on rank 0, by another goroutine, when the home has all
	// parts of a version that this job has flushed.
	Flushed func(storage.ID)
	// MayWrite, if not nil, returns an error if others may write to the home now.
	MayWrite func() error
	// Late is how long the home may take to show rank 0 what another rank has
	// written there: 5 s if 0.
	Late time.Duration
	// Job is the same for all processes of the job, in all its epochs: rank 0's counts. No
	// other job uses the places on the nodes at the same time. Empty: this process is a
	// job of its own. Patience is how long another one is waited for (5 s if 0).
	Job      string
	Patience time.Duration
	// Around, if not nil, runs the body of what this rank does in the background: what
	// it takes in for others, flushes and healing.
	Around func(body func())
	Sync   filestore.Sync // of the nodes' storage
	Log    *slog.Logger   // says whose it is: checkpoint and rank

	// Root is this node's directory (CRAFT_NODE_PATH), Rack the label of what the
	// node fails together with.
	Root, Rack string

	FS vfs.FS // of the nodes; nil: the operating system's
	// BeforeMemory, for tests, is asked before each operation on the memory of this rank.
	BeforeMemory func(operation string, key storage.ObjectKey) error
	Self         nodelocal.Identity // of this process if zero
	Exchange     exchange.Options
}

// complete puts the defaults in.
func complete(c *Config) {
	c.SetSize = cmp.Or(c.SetSize, 4)
	c.Parity = cmp.Or(c.Parity, 2)
	c.MemoryCopies = cmp.Or(c.MemoryCopies, 2)
	c.Late = cmp.Or(c.Late, 5*time.Second)
	c.Job = cmp.Or(c.Job, filestore.ThisJob())
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.FS = cmp.Or(c.FS, vfs.OS())
	if c.MayWrite == nil {
		c.MayWrite = func() error { return nil }
	}
	c.Exchange.Log, c.Exchange.Around = c.Log, c.Around
}
