package erasure

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/nodelocal"
)

// defaultBlock is the length of a block. What is written to a node at once should
// be about that; parts of less than a block each are not spread evenly.
const defaultBlock = 256 << 10

// SchemeConfig says which ranks protect each other, and how. But for Rank, Node
// and Log it must be the same at all members of the set.
type SchemeConfig struct {
	Service *exchange.Service
	Node    *nodelocal.Store // where this rank's parity files go
	Rank    int              // this one
	Set     []int            // ranks of the set, in the order of the members: see domain.Sets
	Parity  int              // how many losses are brought back: 1 is XOR
	Block   int              // bytes of a block; 0: 256 KiB
	// Prefix begins the names of the streams, so that several schemes can share a
	// service. No "/" in it.
	Prefix string
	// Unwanted is asked before parity is published, and says why it is not to be:
	// the version may have been deleted meanwhile. May be nil.
	Unwanted func(storage.ID) error
	Log      *slog.Logger // says which rank it is
}

// Scheme protects the parts of one rank, and holds parity for the other members
// of its set. Its methods may be called concurrently.
type Scheme struct {
	config  SchemeConfig
	code    *Code
	layout  Layout
	ranks   []int // of the set
	me      int   // member
	window  int64 // stripes of a collector that are not written yet
	stripes sync.Pool

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu         sync.Mutex
	closed     bool // nothing new is begun
	collectors map[version]*collector
	ended      ended
}

// NewScheme returns the scheme of this rank. Close must be called, before that of
// the service.
func NewScheme(c SchemeConfig) (*Scheme, error) {
	if c.Block == 0 {
		c.Block = defaultBlock
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	code, err := NewCode(Layout{Members: len(c.Set), Parity: c.Parity, Block: c.Block})
	if err != nil {
		return nil, err
	}
	c.Log = c.Log.With("scheme", c.Prefix)
	s := &Scheme{
		config: c, code: code, layout: code.layout,
		ranks: slices.Clone(c.Set), me: slices.Index(c.Set, c.Rank),
		window:     int64(c.Parity) * windowStripes,
		collectors: make(map[version]*collector),
	}
	s.stripes.New = func() any { return &stripe{buf: make([]byte, c.Block+crcSize)} }
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// windowStripes is how many stripes a collector takes in, for each parity, before the
// lowest is complete.
const windowStripes = 6

func (c *SchemeConfig) check() error {
	switch {
	case c.Service == nil || c.Node == nil:
		return invalidf("a scheme needs a service and a storage of the node")
	case !slices.Contains(c.Set, c.Rank):
		return invalidf("rank %d is not in its set %v", c.Rank, c.Set)
	case strings.Contains(c.Prefix, "/"):
		return invalidf("prefix %q (allowed: without %q)", c.Prefix, "/")
	}
	for i, r := range c.Set {
		if r < 0 || slices.Contains(c.Set[:i], r) {
			return invalidf("rank %d in the set %v (allowed: each once, from 0)", r, c.Set)
		}
	}
	return nil
}

// name is how the other members know the stream of a part.
func (s *Scheme) name(id storage.ID, part storage.Part) string {
	return s.config.Prefix + "/" + storage.ObjectKey{ID: id, Kind: storage.KindPart, Part: part}.Name()
}

// Handle takes in the part of another member: the Create of an exchange.Handler
// for names that begin with the scheme's prefix and "/". ctx is the stream's.
func (s *Scheme) Handle(ctx context.Context, from comm.Rank, name string) (storage.PartWriter, error) {
	rest, ok := strings.CutPrefix(name, s.config.Prefix+"/")
	key, err := storage.ParseObjectKey(rest)
	if !ok || err != nil || key.Kind != storage.KindPart {
		return nil, invalidf("%q is no part that parity is made of", name)
	}
	member := slices.Index(s.ranks, int(from))
	if member < 0 || member == s.me || key.Part.Rank != int(from) || key.Part.Size <= slices.Max(s.ranks) {
		return nil, invalidf("rank %d gives %v to rank %d (expected: its own part, in one set of %v)", from, key, s.ranks[s.me], s.ranks)
	}
	c, err := s.collector(version{key.ID, key.Part.Size})
	if err != nil {
		return nil, err
	}
	if err := c.admit(member); err != nil {
		return nil, err
	}
	return newParityReceiver(ctx, c, member), nil
}

// collector returns what makes this rank's parity of a version. The error is what
// has come of it, if it has ended.
func (s *Scheme) collector(v version) (*collector, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.collectors[v]; c != nil {
		return c, nil
	}
	if err := s.ended.find(v); err != nil {
		return nil, err
	}
	if s.closed {
		return nil, ofVersion(v.id, exchange.ErrClosed)
	}
	c := newCollector(s, v)
	s.collectors[v] = c
	s.tasks.Go(c.run)
	return c, nil
}

// forget is the end of a collector.
func (s *Scheme) forget(c *collector, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.collectors, c.version)
	s.ended.add(c.version, err)
}

// task runs f unless the scheme is closed; Close waits for it.
func (s *Scheme) task(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.tasks.Go(f)
	}
	return !s.closed
}

// Skip tells the other members that this rank does not write a version: nobody
// makes parity of it. It waits until they know, or ctx ends; they are told in any
// case. Members that have died are not told, they are no error.
func (s *Scheme) Skip(ctx context.Context, id storage.ID, part storage.Part) error {
	if err := s.mine(part); err != nil {
		return err
	}
	told := make(chan struct{})
	if !s.task(func() { defer close(told); s.skip(id, part) }) {
		return ofVersion(id, exchange.ErrClosed)
	}
	select {
	case <-told:
		return nil
	case <-ctx.Done():
		return ofVersion(id, comm.Withdrawn(ctx))
	}
}

func (s *Scheme) skip(id storage.ID, part storage.Part) {
	if c, err := s.collector(version{id, part.Size}); err == nil {
		c.fail(&GiverError{ID: id, Rank: part.Rank, Err: ErrGivenUp})
	}
	var tell sync.WaitGroup
	for member, rank := range s.ranks {
		if member == s.me {
			continue
		}
		tell.Go(func() {
			w, err := s.config.Service.Create(s.ctx, comm.Rank(rank), s.name(id, part))
			if err == nil {
				err = w.Abort()
			}
			if err != nil { // it has died, or knows already
				s.config.Log.Debug("a member was not told that a version is given up", "version", id.Version, "member", rank, "error", err)
			}
		})
	}
	tell.Wait()
}

func (s *Scheme) mine(part storage.Part) error {
	if part.Rank != s.ranks[s.me] || part.Size <= slices.Max(s.ranks) {
		return invalidf("%v by rank %d of the set %v (expected: its own part)", part, s.ranks[s.me], s.ranks)
	}
	return nil
}

// Close ends the scheme, before the service. This rank's own writers must have
// been committed or aborted. Parity of versions that this rank has written is
// still made: Close waits for what the others have to give, or until ctx or the
// service ends. Who gives a part of another version, now or later, gets an error
// that matches exchange.ErrClosed. Close waits for the goroutines of the scheme;
// it returns the error of ctx if the others were not waited for.
func (s *Scheme) Close(ctx context.Context) error {
	s.failAll(func(c *collector) bool { return !c.ownGiven() })
	done := make(chan struct{})
	go func() { defer close(done); s.tasks.Wait() }()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = comm.Withdrawn(ctx)
	case <-s.config.Service.Done():
	}
	s.failAll(func(*collector) bool { return true })
	s.cancel()
	<-done
	return err
}

// failAll ends collectors because the scheme ends; new ones are not begun from now on.
func (s *Scheme) failAll(which func(*collector) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for v, c := range s.collectors {
		if which(c) {
			c.fail(&HolderError{ID: v.id, Rank: s.ranks[s.me], Err: exchange.ErrClosed})
		}
	}
}
