package erasure

import (
	"context"
	"math"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
)

// collector makes one member's parity file of one version. Each of the others has a receiver,
// which adds its blocks to the stripes in the window; run writes the stripes that are complete.
//
//	receiver of member 0   ..............>|
//	receiver of member 2   ......>|                  the slowest: all before are complete
//	receiver of member 3   ................>| waits
//	                     ^ base                    ^ base + window
//	                     written up to here
//
// Stripes are counted as this member's own ones: the n-th that it holds parity of.
type collector struct {
	s       *Scheme
	version version
	over    chan struct{} // closed with err, the outcome

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, when others should look again
	givers   []giver       // by member
	parts    Parts
	ownKnown bool      // parts has what this rank's part was
	ring     []*stripe // by number modulo window
	base     int64     // the lowest that is not written
	end      int64     // above the highest that has data
	sealed   bool      // nothing is missing: it is too late for a failure of others
	err      error
}

// giver is how far a member is.
type giver struct {
	admitted bool
	next     int64 // the first of the holder's stripes that it can still add to
}

// stripe is a parity block that blocks are added to. Stripes that are written serve again,
// by way of the scheme.
type stripe struct {
	number int64 // among all stripes
	mu     sync.Mutex
	buf    []byte // with room for a checksum
	n      int    // up to where something was added; behind it are zeros
}

const beyond = math.MaxInt64 // where a giver is that has given all

func newCollector(s *Scheme, v version) *collector {
	n := s.layout.Members
	c := &collector{
		s: s, version: v, over: make(chan struct{}), changed: make(chan struct{}),
		givers: make([]giver, n), ring: make([]*stripe, s.window),
		parts: Parts{Sizes: make([]int64, n), Digests: make([]uint32, n)},
	}
	c.givers[s.me].next = beyond // where it holds parity it gives nothing
	return c
}

// wake lets all that wait look again. The lock is held.
func (c *collector) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// wait gives the lock away until something has changed.
func (c *collector) wait(ctx context.Context) error {
	changed := c.changed
	c.mu.Unlock()
	defer c.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return comm.Withdrawn(ctx)
	}
}

// fail ends the collector, unless it has all it needs.
func (c *collector) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil && !c.sealed {
		c.err = err
		c.wake()
	}
}

// admit lets a member give its part, or this rank write its own.
func (c *collector) admit(member int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch g := &c.givers[member]; {
	case c.err != nil:
		return c.err
	case g.admitted:
		return ofVersion(c.version.id, invalidf("rank %d gives its part twice", c.s.ranks[member]))
	default:
		g.admitted = true
		return nil
	}
}

// gave says what a member's part was, this rank's own one too. A member that has
// given all is at the end of all stripes.
func (c *collector) gave(member int, size int64, digest uint32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.parts.Sizes[member], c.parts.Digests[member] = size, digest
	c.givers[member].next = beyond
	if member == c.s.me {
		c.ownKnown = true
	}
	c.wake()
	return nil
}

// ownGiven reports whether this rank's part is known.
func (c *collector) ownGiven() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ownKnown
}

// lost says that a member gives nothing more. If it had begun to, its receiver knows what has
// become of it.
func (c *collector) lost(member int, err error) {
	c.mu.Lock()
	admitted := c.givers[member].admitted
	c.mu.Unlock()
	if !admitted {
		c.fail(&GiverError{ID: c.version.id, Rank: c.s.ranks[member], Err: err})
	}
}

// reserve returns a stripe to add to, as soon as it is in the window.
func (c *collector) reserve(ctx context.Context, n int64) (*stripe, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && n >= c.base+c.s.window {
		if err := c.wait(ctx); err != nil {
			return nil, err
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	at := &c.ring[n%c.s.window]
	if *at == nil {
		*at = c.s.stripes.Get().(*stripe)
		(*at).number = c.s.layout.ParityStripe(c.s.me, n)
		c.end = max(c.end, n+1)
	}
	return *at, nil
}

// advance says that a member adds nothing more to stripes before next.
func (c *collector) advance(member int, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.complete()
	c.givers[member].next = next
	if c.complete() > before { // else nobody waits for it
		c.wake()
	}
}

// complete returns how many stripes nobody can add to any more.
func (c *collector) complete() int64 {
	lowest := int64(beyond)
	for i := range c.givers {
		lowest = min(lowest, c.givers[i].next)
	}
	return lowest
}

// watch says of members that are gone that they are lost: what this rank gives to them need
// not tell it, if it gives nothing or that has ended before.
func (c *collector) watch() (stop func()) {
	var stops []func()
	for member, rank := range c.s.ranks {
		if member != c.s.me {
			stops = append(stops, c.s.config.Service.WhenGone(comm.Rank(rank), func(why error) { c.lost(member, why) }))
		}
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// run makes the file.
func (c *collector) run() {
	defer c.watch()()
	err := c.keep()
	c.mu.Lock()
	if err != nil && c.err == nil {
		c.err = &HolderError{ID: c.version.id, Rank: c.s.ranks[c.s.me], Err: err}
	}
	err = c.err
	clear(c.ring) // a receiver may still be adding to what was not written
	c.wake()
	c.mu.Unlock()
	c.s.forget(c, err)
	close(c.over)
	if err != nil {
		c.s.config.Log.Debug("parity is not made", "version", c.version.id.Version, "error", err)
	}
}

func (c *collector) keep() (err error) {
	first, err := c.next()
	if err != nil {
		return err // there is nothing to be thrown away
	}
	key := storage.ObjectKey{ID: c.version.id, Kind: storage.KindParity, Part: storage.Part{Rank: c.s.ranks[c.s.me], Size: c.version.size}}
	var file storage.PartWriter
	c.s.config.Service.Around(func() { file, err = c.s.config.Node.CreateObject(c.s.ctx, key) })
	if err != nil {
		return err
	}
	err = c.write(file, first)
	if err == nil && c.s.config.Unwanted != nil {
		err = c.s.config.Unwanted(c.version.id)
	}
	if err != nil {
		_ = file.Abort()
		return err
	}
	c.s.config.Service.Around(func() { err = file.Commit() })
	return err
}

// write writes all stripes, of which it gets the first, and the end.
func (c *collector) write(file storage.PartWriter, st *stripe) error {
	w, err := NewParityWriter(file, c.s.header(c.s.me, c.version))
	for ; err == nil && st != nil; st, err = c.next() {
		c.s.config.Service.Around(func() { err = w.WriteBlock(st.number, st.buf[:st.n]) })
		if err != nil {
			return err
		}
		c.written(st)
	}
	if err != nil {
		return err
	}
	return w.Finish(c.parts)
}

// next waits for a stripe that is complete; nil if there will be none any more.
func (c *collector) next() (*stripe, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil {
		complete := c.complete()
		for ; c.base < min(complete, c.end); c.base++ {
			if st := c.ring[c.base%c.s.window]; st != nil {
				return st, nil
			}
		}
		if complete == beyond && c.ownKnown {
			c.sealed = true
			return nil, nil
		}
		if err := c.wait(c.s.ctx); err != nil && c.err == nil {
			return nil, err
		}
	}
	return nil, c.err
}

// written makes room in the window.
func (c *collector) written(st *stripe) {
	clear(st.buf[:st.n+crcSize])
	st.n = 0
	c.s.stripes.Put(st)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ring[c.base%c.s.window] = nil
	c.base++
	c.wake()
}

// header is what files and streams of a version begin with.
func (s *Scheme) header(member int, v version) Header {
	return Header{Layout: s.layout, Member: member, Identity: appendIdentity(nil, v, s.ranks)}
}
