package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/exchange"
	"github.com/craft-go/craft/storage/flush"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Placement is the storage of one checkpoint over the nodes of a job and its home.
// Open, Survey and what says so are collective; everything else may be called
// concurrently.
type Placement struct {
	Config

	comm        comm.Comm // duplicate: only the exchange uses it
	me          comm.Rank
	log         *slog.Logger
	nodes       nodes
	rootDir     string // Dir of rank 0
	unused      string // see Unused
	local       *nodelocal.Store
	service     *exchange.Service
	pools       []*streamPool // by node
	schemes     map[storage.Level]Scheme
	reach       map[storage.Level]storage.Level // what the scheme of a level stands for
	parity      map[storage.Level]parityHolder
	protections map[storage.Level]protection
	ready       chan struct{} // closed when the schemes are there
	manifest    *manifest.Writer

	ctx     context.Context // ends when the placement has been closed
	cancel  context.CancelFunc
	work    context.Context // of what goes on in the background: ends before
	idle    context.CancelFunc
	running sync.WaitGroup
	healing sync.WaitGroup // those of running that Heal has started
	flusher *flush.Flusher
	once    sync.Once
	failure error // of Close

	mu  sync.Mutex
	cat *catalog.Catalog
	// own are the versions whose part of this rank Heal has brought to its node. The
	// catalog does not say so: it is the same on all ranks while they follow from
	// it who copies which part to the home.
	own map[storage.ID]bool
	// healed are, on rank 0, the levels that Heal has brought versions back to.
	healed map[storage.ID]storage.Levels
	// keeps are the versions that this rank heals, heals are, on rank 0, those that
	// any rank may heal, or might before they were deleted.
	keeps map[storage.ID]versionContext
	heals map[storage.ID]healState
	// written are, on other ranks than 0, the versions of this job that inv still knows.
	written []storage.ID
	// owed are levels that the last version which should have reached them has
	// not reached: the next version is to.
	owed storage.Levels
	// weak says why this rank's part of a version is not at a level that was planned.
	weak map[storage.ID]map[storage.Level]error
	torn map[storage.ID]bool // versions of which this rank's file turned out to be damaged
	sent map[storage.ID]bool // versions of which the home may have something
	// reports counts, on rank 0, the ranks that have done something.
	reports map[report]int

	// avoiding is how many parts of this rank are still to bypass its node, which
	// has failed with avoidedFor.
	avoiding   int
	avoidedFor error

	refusing    alarm   // this node does not take parts
	unprotected alarm   // what is to protect parts does not
	leftover    []alarm // a node cannot delete; by node, on rank 0

}

var _ storage.Driver = (*Placement)(nil)

// Open builds the levels. It is collective: all ranks of the communicator return
// an error, or none does. Close must be called.
func Open(ctx context.Context, c Config) (*Placement, error) {
	c.complete()
	s := &Placement{
		Config: c, me: c.Comm.Rank(), log: c.Log,
		cat: catalog.New(), own: make(map[storage.ID]bool), healed: make(map[storage.ID]storage.Levels),
		weak: make(map[storage.ID]map[storage.Level]error), torn: make(map[storage.ID]bool), sent: make(map[storage.ID]bool),
		keeps: make(map[storage.ID]versionContext), heals: make(map[storage.ID]healState),
		reports: make(map[report]int),
	}
	if err := s.readManifest(ctx); err != nil {
		return nil, err
	}
	opened := false
	defer func() {
		if !opened && s.local != nil {
			s.local.Leave()
		}
	}()
	own, err := s.openNode(ctx)
	if err := s.gatherNodes(ctx, own, err); err != nil {
		return nil, err
	}
	s.beginManifest()
	if s.comm, err = comm.Dup(ctx, c.Comm); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	s.ready = make(chan struct{})
	s.work, s.idle = context.WithCancel(s.ctx)
	for range s.nodes.list {
		s.pools = append(s.pools, newStreamPool())
	}
	s.leftover = make([]alarm, len(s.nodes.list))
	s.service = exchange.New(s.ctx, s.comm, handler{s}, c.Exchange)
	s.flusher = flush.New(flushing{s}, flush.Options{Limit: c.FlushLimit, Around: s.service.Around, Log: s.log})
	s.flusher.Start(s.work)
	if err := s.buildSchemes(); err != nil {
		return nil, errors.Join(err, s.Close(ctx))
	}
	close(s.ready)
	opened = true
	return s, nil
}

// openNode makes this rank's place on its node. A node without room is no
// reason to give up: its parts go to the home.
//
// Where the node holds versions of this home under an identity that the home does not
// tell, the program may yet be ended because of them: the place is made when it goes on.
func (s *Placement) openNode(ctx context.Context) (nodeReport, error) {
	var err error
	s.local, err = nodelocal.New(nodelocal.Config{
		Root: s.Root, Name: s.Name, Home: s.Dir, ID: s.manifest.Last().ID, Sync: s.Sync, FS: s.FS, Self: s.Self, Job: s.Job, Patience: s.Patience,
	})
	if err != nil {
		return nodeReport{}, err
	}
	var earlier []string
	if !s.manifest.Stored() {
		earlier = s.local.Earlier()
	}
	if len(earlier) == 0 {
		if err := s.local.Prepare(ctx, nil); err != nil && !errors.Is(err, nodelocal.ErrNoSpace) {
			return nodeReport{}, s.unusable(err)
		}
	}
	report := s.describeNode()
	report.Earlier = osstring.From(earlier)
	return report, nil
}

// unusable says what a user can do about a node on which nothing can be stored.
func (s *Placement) unusable(err error) error {
	host, dir := s.describeNode().Host, s.local.Dir()
	if errors.Is(err, storage.ErrLocked) {
		return fmt.Errorf("rank %d on host %s: %w", s.me, host, err)
	}
	return fmt.Errorf("%w: rank %d on host %s cannot store in %s: %w; CRAFT_NODE_PATH has to name a directory on the node that this user can write to, or can make",
		ErrConfig, s.me, host, dir, err)
}

// Close ends what goes on in the background and what this rank does for the
// others, once they close theirs too or ctx ends. A flush that is cut off is
// taken up by the next job.
func (s *Placement) Close(ctx context.Context) error {
	s.once.Do(func() {
		s.idle()
		s.flusher.Stop()
		// What heals must have told the others that it gives no more, or they wait
		// for it.
		s.running.Wait()
		for _, k := range s.parity {
			s.failure = errors.Join(s.failure, k.Close(ctx))
		}
		// The others may still be storing here.
		s.failure = errors.Join(s.failure, s.service.Close(ctx))
		s.cancel()
		s.local.Leave()
	})
	if s.failure != nil {
		return fmt.Errorf("close the levels of checkpoint %q: %w", s.Name, s.failure)
	}
	return nil
}

// Serving reports whether this rank is doing something for another one just now.
func (s *Placement) Serving() bool { return s.service.Serving() > 0 }

// root reports that this rank speaks for all.
func (s *Placement) root() bool { return s.me == 0 }
