package checkpoint

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// restoration is the attempt to restore one candidate. All ranks go through
// its steps together and agree after each how it went.
type restoration struct {
	reg   *registry
	from  catalog.Candidate
	older []catalog.Candidate // which may be taken in its place
	parts storage.Snapshot    // of it
	// home is the part whose local and replicated values this rank takes.
	home   *storage.File
	mem    arrangement
	layout []partBoxes // of the parts that this rank has looked at, later of all
	// redistribute: the parts of partitioned values are not where they were.
	redistribute bool
	anyLate      bool // values are late on any rank
	anyAdopted   bool // any rank has adopted the version
}

// arrangement is how the values lie in memory while a version is read into them
// (docs/decisions/0022).
type arrangement struct {
	reg     *registry
	version uint64
	stored  map[string]container.Info // of the home part
	then    storedSharing             // how they lay when it was written, as that part says
	kin     kinship                   // the same
	// late are the keys of values that must not be changed before the version is
	// known to be good.
	late map[string]bool
	// with are the keys, among those that are read now, of values that lie in the same
	// memory as another one, and the key of that.
	with map[string]string
	// before are the bonds that there were before anything moved.
	before []bond
	moved  bool
	// within are those of values of which parts lie in the same memory.
	within map[string]bool
	// parted counts what leaveFamily has done about a value here and one of another checkpoint.
	parted map[[2]int]int
}

func newRestoration(reg *registry, from catalog.Candidate, older []catalog.Candidate) *restoration {
	r := &restoration{reg: reg, from: from, older: older}
	r.mem = arrangement{reg: reg, version: from.ID.Version, parted: make(map[[2]int]int)}
	r.parts = storage.Snapshot{Ranks: from.Ranks, Open: func(ctx context.Context, part storage.Part) (*storage.File, error) {
		return reg.store.Open(ctx, reg.name, from.ID, part)
	}}
	return r
}

// tryRestore reads a candidate into the values. The verdict damaged means that
// the first of the older ones may be tried, which writes over what was changed.
func (st *starting) tryRestore(ctx context.Context, c catalog.Candidate, older []catalog.Candidate) (*container.Header, verdict, error) {
	r := newRestoration(st.reg, c, older)
	defer r.close()
	defer r.mem.warnOfBroken()
	gather := func(ctx context.Context) error { return st.placement.Gather(ctx, c.ID) } // what is not as such anywhere
	if v, err := r.together(ctx, gather, r.open, r.match, r.compare, r.load); err != nil {
		return nil, v, err
	}
	if r.anyLate {
		if v, err := r.together(ctx, r.verifyLate); err != nil {
			return nil, v, err
		}
		if _, err := r.together(ctx, r.makeLateRooms, r.loadLate); err != nil { // no other version can be taken now
			return nil, failed, err
		}
	}
	h := r.home.Header()
	if !r.anyAdopted { // else nobody has seen all of it
		small := c.Ranks > st.comm.Size() // which takes small replicated values out of as many parts as it has ranks
		st.line.stored.ReadBack(c.ID, !small && st.placement.Kept(c.ID).Reached == 0)
	}
	st.reg.taken = r.mem.stored
	return &h, fine, nil
}

// together takes steps after each of which all ranks agree how it went.
func (r *restoration) together(ctx context.Context, steps ...func(context.Context) error) (verdict, error) {
	for _, step := range steps {
		if v, err := r.reg.agree(ctx, errVersion(r.from.ID, step(ctx))); err != nil {
			return v, err
		}
	}
	return fine, nil
}

func (r *restoration) close() { _ = r.parts.Close() } // nothing was written

// open opens this rank's share of the parts, so that together the ranks have
// seen the index of each, and keeps its home open.
func (r *restoration) open(ctx context.Context) (err error) {
	rank, ranks := int(r.reg.comm.Rank()), r.reg.comm.Size()
	if r.home, err = r.parts.Keep(ctx, rank%r.from.Ranks); err != nil {
		return err
	}
	if err := r.look(r.home); err != nil {
		return err
	}
	for p := rank + ranks; p < r.from.Ranks; p += ranks {
		if err := r.parts.With(ctx, p, r.look); err != nil {
			return err
		}
	}
	r.mem.stored = make(map[string]container.Info)
	for _, info := range r.home.Sections() {
		r.mem.stored[info.Key] = info
	}
	r.mem.then, r.mem.kin = sharedWhenStored(r.home)
	return nil
}

// look checks that a part belongs with the home part and notes its boxes.
func (r *restoration) look(f *storage.File) error {
	h, home := f.Header(), r.home.Header()
	if versionDigest(h) != versionDigest(home) {
		return &container.DamageError{Reason: fmt.Sprintf("the parts of ranks %d and %d are not of one version", home.Rank, h.Rank)}
	}
	r.layout = append(r.layout, boxesOfPart(f))
	return nil
}

// versionDigest condenses what all parts of a version must have in common
// beside what their places say.
func versionDigest(h container.Header) int64 {
	return condensed(fmt.Appendf(nil, "%s%s%d %v", h.Lineage[:], h.Fingerprint, h.Iteration, h.Ancestors))
}

// match compares what is stored with what was added, before any value is
// changed, and then makes room for it.
func (r *restoration) match(ctx context.Context) error {
	reg := r.reg
	if err := checkFingerprint(reg.core, r.home.Header().Fingerprint); err != nil {
		return err
	}
	if i := r.home.Header().Iteration; i != container.NoIteration && (i == math.MaxInt64 || int64(int(i)+1) != i+1) {
		return fmt.Errorf("%w: it is of iteration %d, and the next one is no int of this program", ErrArgument, i)
	}
	for _, info := range r.home.Sections() {
		if _, ok := reg.index[info.Key]; !ok {
			return &KeyError{Key: info.Key, Err: fmt.Errorf("it is stored but was not added to the checkpoint: add it, or start in another directory")}
		}
	}
	for _, e := range reg.entries {
		if _, ok := r.mem.stored[e.key]; !ok && !e.optional {
			return &KeyError{Key: e.key, Err: fmt.Errorf("it was added to the checkpoint but is not stored: declare it checkpoint.Optional(), or start in another directory")}
		}
	}
	for _, e := range reg.entries {
		if info, ok := r.mem.stored[e.key]; ok {
			if err := r.spread(e, info); err != nil {
				return &KeyError{Key: e.key, Err: err}
			}
		}
	}
	if err := r.checkExtents(); err != nil {
		return err
	}
	r.foresee(ctx)
	return r.makeAllRooms(false)
}

// spread checks that the value can be read by as many ranks as there are, and finds
// out whether its parts are where they were.
func (r *restoration) spread(e entry, info container.Info) error {
	switch {
	case info.Desc.Dist == container.Local && r.from.Ranks != r.reg.comm.Size():
		return fmt.Errorf("%w: it was stored as local to its rank by %d ranks, now there are %d: start with %d (only values that were declared replicated or partitioned when they were stored can be read by another number)",
			ErrRanks, r.from.Ranks, r.reg.comm.Size(), r.from.Ranks)
	case info.Desc.Dist != container.Partitioned:
		return nil
	}
	mine := cptypes.DescOf(e.value)
	if mine.Dist != container.Partitioned {
		return &cptypes.MismatchError{Stored: info.Desc, Have: mine, Reason: "the value must be declared partitioned, as it was when it was stored"}
	}
	if _, ok := e.value.(cptypes.BoxReader); !ok {
		return fmt.Errorf("%w: type %T is partitioned but cannot read boxes", ErrArgument, e.value)
	}
	same := slices.Equal(mine.Box.Lo, info.Desc.Box.Lo) && slices.Equal(mine.Box.Hi, info.Desc.Box.Hi)
	r.redistribute = r.redistribute || r.from.Ranks != r.reg.comm.Size() || !same
	return nil
}

// makeAllRooms prepares the late values, or the others, for what is stored.
func (r *restoration) makeAllRooms(late bool) error {
	if r.adopts() {
		return nil
	}
	if !late { // these come first
		r.mem.before = r.mem.bonds()
	}
	if _, err := r.mem.leaveFamily(late); err != nil { // a new length is already a change
		return err
	}
	r.mem.leaveEmpty(late)
	if err := r.mem.makeRooms(late); err != nil {
		return err
	}
	return r.mem.separate(late)
}

// reads reports whether a value is stored, and read with the late ones, or with the others.
func (m *arrangement) reads(i int, late bool) bool {
	key := m.reg.entries[i].key
	_, stored := m.stored[key]
	return stored && m.late[key] == late
}

// makeRooms makes room for what is stored in the late values, or in the others: last
// in those that change by that, when the others have turned out to fit.
func (m *arrangement) makeRooms(late bool) error {
	for _, changes := range []bool{false, true} {
		for _, e := range m.reg.entries {
			info, ok := m.stored[e.key]
			mine := cptypes.DescOf(e.value)
			if !ok || m.late[e.key] != late || changes != (mine.Elem == info.Desc.Elem && !slices.Equal(mine.Shape, info.Desc.Shape)) {
				continue
			}
			if err := m.makeRoom(e, mine, info.Desc); err != nil {
				return &KeyError{Key: e.key, Err: err}
			}
		}
	}
	return nil
}

func (m *arrangement) makeRoom(e entry, mine, stored cptypes.Desc) error {
	before := slices.Clone(mine.Shape)
	err := cptypes.MakeRoom(e.value, stored)
	if !slices.Equal(before, cptypes.DescOf(e.value).Shape) {
		m.reg.touch(e.key)
	}
	return err
}

// compare makes sure that all ranks read the same version and hold the same
// replicated values, and that they redistribute together or not at all. It is
// the last step that communicates before its end: after it each rank may fail
// alone.
func (r *restoration) compare(ctx context.Context) error {
	for _, is := range r.mem.late {
		r.anyLate = r.anyLate || is
	}
	adopted := r.adopts()
	differ, bits, err := r.reg.compare(ctx, []int64{versionDigest(r.home.Header()), r.replicaDigest()}, bit(r.redistribute), bit(r.anyLate), bit(adopted))
	switch {
	case err != nil:
		return err
	case differ[0]:
		return &container.DamageError{Reason: "the parts are not of one version"}
	case differ[1]:
		return fmt.Errorf("%w: the parts hold different values of a replicated key", ErrDisagree)
	}
	r.anyLate = bits[1] != 0
	if r.redistribute = bits[0] != 0; !r.redistribute {
		if r.anyAdopted = bits[2] != 0; adopted {
			return r.matchesAdopted()
		}
		return nil
	}
	if r.layout, err = r.gatherLayout(ctx); err == nil && adopted { // it is to be read after all
		err = r.makeAllRooms(false)
	}
	return err
}

func (r *restoration) replicaDigest() int64 {
	var digests []byte
	for _, info := range r.home.Sections() {
		if info.Desc.Dist == container.Replicated {
			digests = binary.LittleEndian.AppendUint64(digests, info.Digest)
		}
	}
	return condensed(digests)
}
