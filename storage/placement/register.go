package placement

import (
	"cmp"
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/internal/heal"
)

// register is what this rank knows of the versions: it owns the catalog, and has the one lock
// for it. Whoever works on versions tells it what has become of them, and asks it what follows.
type register struct {
	nodes   *nodes
	parity  int  // how many of a set Reed-Solomon is to let the job lose
	carried bool // no file is looked at: see Config

	mu  sync.Mutex
	cat *catalog.Catalog
	// notes are what it knows of versions beside that.
	notes map[storage.ID]note
	// written are, on other ranks than 0, the versions of this job that are still known.
	written []storage.ID
}

// note is what a rank knows of a version beside the catalog.
type note struct {
	// own: this rank's part has been brought to its node. The catalog does not say so: it is
	// the same on all ranks while they follow from it who copies which part to the home.
	own bool
	// healed are, on rank 0, the levels that it has been brought back to.
	healed storage.Levels
	// replaced: its parity is being made anew, in the place of what there was: what a Survey
	// found of it does not count any more. Rank 0 knows.
	replaced bool
	torn     bool // this rank's file turned out to be damaged
	tornCopy bool // a copy of this rank's part did: where it is it is none
	// tornMemory: this rank's part did in some memory. overtaken: it is not kept in memory any more.
	tornMemory, overtaken bool
	sent                  bool // the home may have something of it
}

func newRegister(n *nodes, parity int) *register {
	return &register{nodes: n, parity: parity, cat: catalog.New(n.ofRanks()...), notes: make(map[storage.ID]note)}
}

// query answers a question out of the catalog.
func query[T any](r *register, question func(v catalog.View) T) T {
	r.mu.Lock()
	defer r.mu.Unlock()
	return question(r.cat.View)
}

// tell changes what is known.
func (r *register) tell(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// note changes the note about a version. One that says nothing is not kept: the version may
// be deleted already.
func (r *register) note(id storage.ID, change func(*note)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	about := r.notes[id]
	change(&about)
	if about == (note{}) {
		delete(r.notes, id)
	} else {
		r.notes[id] = about
	}
}

// ownKey is the part of this rank.
func (r *register) ownKey(id storage.ID) storage.ObjectKey {
	return catalog.PartOf(id, r.nodes.ownPart())
}

// sources lists where a part can be had, in the order in which it is tried.
func (r *register) sources(id storage.ID, part storage.Part) []catalog.Source {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.cat.Sources(id, part, r.nodes.memory(), r.nodes.here())
	first := catalog.Source{Key: catalog.PartOf(id, part), At: r.nodes.here()}
	if r.notes[id].own && part == r.nodes.ownPart() && !slices.Contains(all, first) {
		return slices.Insert(all, 0, first)
	}
	return all
}

// noteTorn remembers that this rank's own file of a version, or a copy of it, is damaged.
func (r *register) noteTorn(src *catalog.Source) {
	if src == nil || src.Parity || src.At == catalog.Home || src.Key.Part != r.nodes.ownPart() {
		return
	}
	_, inMemory := src.At.Rank()
	r.note(src.Key.ID, func(about *note) {
		switch {
		case inMemory:
			about.tornMemory = true
		case src.Key.Kind == storage.KindCopy:
			about.tornCopy = true
		case src.At == r.nodes.here():
			about.torn = true
		}
	})
}

// noteOwn remembers that this rank's own file of a version is on its node, and
// good.
func (r *register) noteOwn(id storage.ID) {
	r.note(id, func(about *note) { about.own, about.torn = true, false })
}

// hostOf is the rank that has a part on its node or, if no node has it, that is
// to get it there.
func (r *register) hostOf(v catalog.View, id storage.ID, part storage.Part) comm.Rank {
	return r.nodes.hostOf(part, v.Nodes(catalog.PartOf(id, part)))
}

// storesOf says of each node of this job whether it has parts of an attempt.
func (r *register) storesOf(attempt container.AttemptID) []bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]bool, len(r.nodes.list))
	for _, id := range r.cat.IDs() {
		if id.Attempt != attempt {
			continue
		}
		for _, n := range r.cat.NodesWith(id, storage.KindPart) {
			out[n] = true
		}
	}
	return out
}

// kept is Placement.Kept.
func (r *register) kept(id storage.ID) catalog.Kept {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := r.cat.Kept(id, len(r.nodes.list), r.parity)
	k.Reached = r.withHealed(id, k.Reached)
	return k
}

// reached is Placement.Reached.
func (r *register) reached(id storage.ID) storage.Levels {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.withHealed(id, r.cat.Reached(id, len(r.nodes.list), r.parity))
}

func (r *register) withHealed(id storage.ID, reached storage.Levels) storage.Levels {
	switch {
	case reached == 0:
		return 0
	case r.notes[id].replaced: // copies may be missing too: that a node can be lost was by parity then
		reached = storage.LevelsOf(storage.Local)
	}
	return reached.With(r.notes[id].healed)
}

// mayBeAtHome reports whether the home can have anything of a version: it is not
// asked for one that was neither flushed nor spilled.
func (r *register) mayBeAtHome(id storage.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.cat.Facts(id)
	return !known || f.Plan.AtHome() || r.cat.HomeAlone().Any(id) || r.notes[id].sent
}

// cameHome notes that the home has a part that this rank has written there.
func (r *register) cameHome(id storage.ID, part storage.Part) {
	r.tell(func() { r.cat.AddPart(id, part, catalog.Home) })
}

// noteSent notes that the home may have something of a version.
func (r *register) noteSent(id storage.ID) { r.note(id, func(about *note) { about.sent = true }) }

func (r *register) isOvertaken(id storage.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes[id].overtaken
}

func (r *register) wasSent(id storage.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.notes[id].sent
}

// settled enters a version that all ranks have written, and what protects it, as a Survey
// would find it: a flush may need it.
func (r *register) settled(id storage.ID, size int, f catalog.Facts, reached storage.Levels, s schemes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cat.SetFacts(id, f)
	for rank := range size {
		if !s.memoryAlone(f.Plan) {
			r.cat.AddPart(id, storage.Part{Rank: rank, Size: size}, r.nodes.at(comm.Rank(rank)))
		}
	}
	for l := range reached.All() {
		s[l].enter(r.cat, r.nodes, id, size)
	}
}

// work says what is to be healed of a version and of those that it refers to: all ranks
// find the same versions, but for what is torn.
func (r *register) work(id storage.ID, s schemes) (work []heal.Work, all []storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = r.cat.WithBases(id)
	for _, one := range all {
		plan, by := r.protecting(one, s)
		switch {
		case r.needsHealing(one, plan, by, s):
			w := heal.Work{ID: one, Plan: plan, By: by, Left: r.left(one, by, s), Here: r.isHere(one), ParityStays: !r.isWhole(one)}
			if r.nodes.root() && !w.ParityStays && s.haveParity(by) {
				about := r.notes[one]
				about.replaced, about.healed = true, 0
				r.notes[one] = about
			}
			work = append(work, w)
		case r.notes[one].torn || r.notes[one].tornCopy || r.notes[one].tornMemory:
			work = slices.Insert(work, 0, heal.Work{ID: one, Torn: true, Left: r.tornCopies(one, by, s)})
		}
	}
	return work, all
}

// protectors are the levels of a version that are to be had here, and those whose schemes protect it.
// What is not in memory any more does not come back there, and what another number of ranks has written has copies in
// memory only.
func (r *register) protectors(id storage.ID, s schemes) (plan, by storage.Levels) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.protecting(id, s)
}

func (r *register) protecting(id storage.ID, s schemes) (plan, by storage.Levels) {
	if plan = r.cat.Plan(id).BelowHome(); !catalog.InMemory(r.cat.View).Complete(id) {
		plan = plan.On(storage.TierNode)
	}
	if r.resized(id) { // the sets of its files are those of other ranks
		plan = plan.On(storage.TierMemory)
	}
	return plan, s.healing(plan)
}

// left are those of some levels for which this rank's share in the protection of a version
// is to be made anew.
func (r *register) left(id storage.ID, by storage.Levels, s schemes) storage.Levels {
	lost := by.Where(func(l storage.Level) bool { return !s[l].intact(r.cat.View, r.nodes, id) })
	return lost.With(r.tornCopies(id, by, s))
}

// tornCopies are those of some levels at which the copy of this rank's part is damaged. It is
// made anew by this rank alone.
func (r *register) tornCopies(id storage.ID, by storage.Levels, s schemes) storage.Levels {
	about := r.notes[id]
	return by.Where(func(l storage.Level) bool {
		return about.tornCopy && s[l].partners != nil || about.tornMemory && s[l].holders != nil
	})
}

// isHere reports whether this rank's part of a version is on its node and, as far as is
// known, good.
func (r *register) isHere(id storage.ID) bool {
	return !r.notes[id].torn && slices.Contains(r.cat.Nodes(r.ownKey(id)), r.nodes.here())
}

// isWhole reports, on all ranks alike, whether each part is somewhere as such.
func (r *register) isWhole(id storage.ID) bool {
	return !slices.ContainsFunc(r.cat.Entry(id).Parts, func(part storage.Part) bool { return !r.cat.Stored(id, part) })
}

// needsHealing reports, on all ranks alike, whether a version would not survive
// what its level promises, or is not where its ranks are.
func (r *register) needsHealing(id storage.ID, plan, by storage.Levels, s schemes) bool {
	if plan == 0 {
		return false
	}
	if by.Where(func(l storage.Level) bool { return r.lacksInMemory(id, s[l]) }) != 0 {
		return true
	}
	if r.resized(id) || !catalog.InFiles(r.cat.View).Any(id) {
		return false
	}
	for _, part := range r.cat.Entry(id).Parts {
		if len(r.cat.Nodes(catalog.PartOf(id, part))) == 0 || r.hostOf(r.cat.View, id, part) != comm.Rank(part.Rank) {
			return true
		}
	}
	if by.On(storage.TierNode) != 0 && !catalog.InFiles(r.cat.View).SurvivesANode(id) {
		return true
	}
	return plan.Where(func(l storage.Level) bool {
		return l.Survives.OfEachSet > 1 && by.Include(storage.LevelsOf(l)) && r.cat.LacksAny(id, s[l].parity)
	}) != 0
}

// lacksInMemory reports whether any part of a version is not with all who are to have it.
func (r *register) lacksInMemory(id storage.ID, p protection) bool {
	return p.holders != nil && slices.ContainsFunc(r.cat.Entry(id).Parts, func(part storage.Part) bool {
		_, lack := p.lackOf(r.cat.View, r.nodes, id, part)
		return len(lack) > 0
	})
}

// toGive are the parts in memory that this rank is to give to others, of a version of another number of ranks.
func (r *register) toGive(id storage.ID, p protection) map[storage.Part][]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	give := make(map[storage.Part][]int)
	for _, part := range r.cat.Entry(id).Parts {
		if giver, lack := p.lackOf(r.cat.View, r.nodes, id, part); giver == int(r.nodes.me) && len(lack) > 0 {
			give[part] = lack
		}
	}
	return give
}

// isResized reports whether another number of ranks has written a version.
func (r *register) isResized(id storage.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resized(id)
}

func (r *register) resized(id storage.ID) bool { return r.cat.Entry(id).Size() != r.nodes.ranks() }

// unfinished is the newest version whose flush an earlier job has begun, or not got to.
// Older ones are of no use when it is done.
func (r *register) unfinished() (left storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.cat.IDs() {
		switch {
		case !r.cat.Complete(id):
		case r.cat.HomeAlone().Whole(id):
			left = storage.ID{}
		case r.cat.Plan(id).AtHome():
			left = id
		}
	}
	return left
}

// outdated are, on ranks that do not decide about retention, the versions that nobody will
// query them about any more once a new one is written: a job may write very many. Those that
// are pending stay.
func (r *register) outdated(newest storage.ID, oldest uint64, pending func(storage.ID) bool) (old []storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	oldest = cmp.Or(oldest, newest.Version)
	r.written = slices.DeleteFunc(append(r.written, newest), func(id storage.ID) bool {
		gone := id.Version < oldest && !pending(id)
		if gone {
			old = append(old, id)
		}
		return gone
	})
	return old
}

// forget drops all that is known of a version.
func (r *register) forget(id storage.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cat.Forget(id)
	delete(r.notes, id)
}
