package commtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
)

// player is one process in a trial with failures.
type player struct {
	c *comm.Comm // the first one of the process
	f Faults
	// end is the communicator that the ranks take leave on.
	end *comm.Comm
	// same gives all ranks of the job the same numbers, if all ask it for the
	// same; own gives each its own.
	same, own *rand.Rand

	timers sync.WaitGroup // what after has started
	over   chan struct{}  // closed when the body has ended
	doomed bool           // dieSoon was called, in the soak
	struck chan struct{}  // closed when dieSoon has killed
}

// body runs the trial on one process, and keeps it until all are done, so that
// nobody who still tries something sees a rank that has left.
func (tr faultTrial) body(seed uint64) FaultyBody {
	return func(ctx context.Context, d driver.Comm, f Faults) error {
		c := comm.New(d)
		ctx, cancel := context.WithTimeoutCause(ctx, patience, errBlocked)
		defer cancel()
		p := &player{
			c: c, f: f, end: c,
			same: rand.New(rand.NewPCG(seed, 0)),
			own:  rand.New(rand.NewPCG(seed, 1+uint64(c.Rank()))),
			over: make(chan struct{}), struck: make(chan struct{}),
		}
		defer p.timers.Wait()
		defer close(p.over)
		if err := ends(func() error { return tr.run(ctx, p) }); err != nil {
			return fmt.Errorf("%s, rank %d of %d: %w", seeded(tr.name, seed), c.Rank(), c.Size(), err)
		}
		if err := meet(ctx, p.end); err != nil {
			return fmt.Errorf("%s, rank %d of %d: taking leave: %w", seeded(tr.name, seed), c.Rank(), c.Size(), err)
		}
		return nil
	}
}

// never is a tag that nobody sends, words are for messages that only tell
// somebody to go on.
const (
	never comm.Tag = 1 << 20
	word  comm.Tag = 1<<20 + 1
)

// tell and hear pass on that something has been done.
func tell(ctx context.Context, c *comm.Comm, to comm.Rank) error {
	if err := comm.Send(ctx, c, to, word, []byte{1}); err != nil {
		return fmt.Errorf("telling rank %d: %w", to, err)
	}
	return nil
}

func hear(ctx context.Context, c *comm.Comm, from comm.Rank) error {
	if _, _, err := comm.Recv(ctx, c, from, word, make([]byte, 1)); err != nil {
		return fmt.Errorf("hearing from rank %d: %w", from, err)
	}
	return nil
}

// dieHeard ends this process when all others have told it to go on, but for those that have
// died before.
func (p *player) dieHeard(ctx context.Context, dead ...comm.Rank) {
	for _, r := range others(p.c, append(dead, p.c.Rank())...) {
		check(hear(ctx, p.c, r))
	}
	p.f.Die()
}

// await waits until this process knows that the ranks have failed.
func await(ctx context.Context, c *comm.Comm, victims ...comm.Rank) error {
	for _, v := range victims {
		_, _, err := comm.Recv(ctx, c, v, never, make([]byte, 1))
		if err := failed("receive from a dead rank", err, v); err != nil {
			return err
		}
		if known := c.Failed(); !slices.Contains(known, v) {
			return fmt.Errorf("a receive has failed because of rank %d, but Failed is %v", v, known)
		}
	}
	return nil
}

// meet waits until all that are alive have come to the same place.
func meet(ctx context.Context, c *comm.Comm) error {
	if _, err := c.Agree(ctx, 0); err != nil && !errors.Is(err, comm.ErrProcFailed) {
		return fmt.Errorf("agree: %w", err)
	}
	return nil
}

// failed is an error unless err is a FailedError that names the ranks, and maybe
// others.
func failed(what string, err error, ranks ...comm.Rank) error {
	var detail *comm.FailedError
	if !errors.As(err, &detail) || !errors.Is(err, comm.ErrProcFailed) {
		return fmt.Errorf("%s: got error %w, want a FailedError of rank %v", what, orNone(err), ranks)
	}
	for _, r := range ranks {
		if !slices.Contains(detail.Ranks, r) {
			return fmt.Errorf("%s: got error %w, want one that names rank %d", what, err, r)
		}
	}
	if !slices.IsSorted(detail.Ranks) {
		return fmt.Errorf("%s: ranks of the FailedError are not in order: %v", what, detail.Ranks)
	}
	return nil
}

var errNone = errors.New("none")

// orNone lets nil be formatted with %w.
func orNone(err error) error { return cmp.Or(err, errNone) }

// gone is an error unless err says that a process failed or the communicator was
// revoked.
func gone(what string, err error) error {
	if errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked) {
		return nil
	}
	return fmt.Errorf("%s: got error %w, want ErrProcFailed or ErrRevoked", what, orNone(err))
}

// soon is a time in which some messages can be exchanged, often a very short one.
func soon(random *rand.Rand) time.Duration {
	scale := 1 << random.IntN(13) // up to 4 ms
	return time.Duration(random.IntN(scale)+1) * time.Microsecond
}

// after calls f after a delay, unless the body has ended by then.
func (p *player) after(delay time.Duration, f func()) {
	p.timers.Go(func() {
		select {
		case <-time.After(delay):
			f()
		case <-p.over:
		}
	})
}

// dieSoon has this process killed at a random moment. It goes on until then.
func (p *player) dieSoon() {
	p.after(soon(p.own), func() {
		p.f.Kill(int(p.c.Rank()))
		close(p.struck)
	})
}

// dieIdle waits for a random moment, and ends this process then.
func (p *player) dieIdle(ctx context.Context) {
	p.dieSoon()
	check(p.killed(ctx))
}

// choose is a rank that all choose, and two are two different ones.
func (p *player) choose() comm.Rank { return comm.Rank(p.same.IntN(p.c.Size())) }

func (p *player) two() (one, other comm.Rank) {
	order := p.same.Perm(p.c.Size())
	return comm.Rank(order[0]), comm.Rank(order[1])
}

// one has a rank that all know do something, as end itself.
func (p *player) one(do func()) comm.Rank {
	chosen := p.choose()
	if p.c.Rank() == chosen {
		do()
	}
	return chosen
}

// some is one for any number of ranks, but not all of them.
func (p *player) some(do func()) []comm.Rank {
	n := p.c.Size()
	chosen := pick(p.same, n, 1+p.same.IntN(n-1))
	if p.isOneOf(chosen) {
		do()
	}
	return chosen
}

// killed waits for the end that dieSoon has ordered.
func (p *player) killed(ctx context.Context) error {
	select {
	case <-p.struck:
		p.f.Die()
	case <-ctx.Done():
	}
	return fmt.Errorf("should have been killed: %w", context.Cause(ctx))
}

// settle makes a communicator of the living of c, all of whom are alive at the
// end: no failure that has happened before can disturb it.
func settle(ctx context.Context, c *comm.Comm) *comm.Comm {
	for {
		s := must(c.Shrink(ctx))
		if _, err := s.Agree(ctx, 1); !errors.Is(err, comm.ErrProcFailed) {
			check(err)
			return s
		}
	}
}

// alike is an error unless all living ranks of c have the same answer. No process
// may fail meanwhile; one that was killed before does no harm.
func alike(ctx context.Context, c *comm.Comm, what string, answer any) error {
	s := settle(ctx, c)
	mine := fmt.Sprint(answer)
	for r, theirs := range must(comm.AllgatherBytes(ctx, s, []byte(mine))) {
		if string(theirs) != mine {
			return fmt.Errorf("%s: got %s, but survivor %d of %d got %s", what, mine, r, s.Size(), theirs)
		}
	}
	return nil
}

// members are the ranks in the first communicators of the processes of s.
func (p *player) members(ctx context.Context, s *comm.Comm) ([]comm.Rank, error) {
	all := make([]comm.Rank, s.Size())
	err := comm.Allgather(ctx, s, []comm.Rank{p.c.Rank()}, all)
	return all, err
}

// isMadeOf is an error unless s works and has these processes in this order.
func (p *player) isMadeOf(ctx context.Context, s *comm.Comm, want []comm.Rank) error {
	if s == nil {
		return errors.New("got no communicator")
	}
	if err := equal("size", s.Size(), len(want)); err != nil {
		return err
	}
	got, err := p.members(ctx, s)
	return first(err,
		equalSlices("members", got, want),
		equal("own place", want[s.Rank()], p.c.Rank()),
		equal("number of failed ranks", len(s.Failed()), 0),
		equalSlices("nodes", s.Nodes(), nodesOf(p.c, want)),
		works(ctx, s), meet(ctx, s))
}

// nodesOf are the nodes of some ranks.
func nodesOf(c *comm.Comm, ranks []comm.Rank) (nodes []int) {
	of := c.Nodes()
	for _, r := range ranks {
		if of != nil {
			nodes = append(nodes, of[r])
		}
	}
	return nodes
}

// works is an error unless messages and collectives get through. Some ranks may
// still be in it when others are done.
func works(ctx context.Context, c *comm.Comm) error {
	if c == nil {
		return errors.New("got no communicator")
	}
	sum, err := comm.AllreduceOne(ctx, c, int(c.Rank()), comm.Sum)
	if err := first(err, equal("sum", sum, c.Size()*(c.Size()-1)/2)); err != nil {
		return err
	}
	for _, length := range []int{10, 100 << 10} {
		buf := make([]byte, length)
		_, _, err := comm.Sendrecv(ctx, c, right(c), 3, pattern(c.Rank(), 3, length), left(c), 3, buf)
		if err := first(err, equalSlices("data", buf, pattern(left(c), 3, length))); err != nil {
			return err
		}
	}
	return comm.Barrier(ctx, c)
}

// pick chooses count of n ranks, in ascending order.
func pick(random *rand.Rand, n, count int) []comm.Rank {
	var ranks []comm.Rank
	for _, r := range random.Perm(n)[:count] {
		ranks = append(ranks, comm.Rank(r))
	}
	slices.Sort(ranks)
	return ranks
}

// others are the ranks of c that are not among these.
func others(c *comm.Comm, without ...comm.Rank) []comm.Rank {
	var ranks []comm.Rank
	for r := range comm.Rank(c.Size()) {
		if !slices.Contains(without, r) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

func (p *player) isOneOf(ranks []comm.Rank) bool { return slices.Contains(ranks, p.c.Rank()) }
