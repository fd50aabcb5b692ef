package placement

import (
	"sync"

	"github.com/craft-go/craft/storage"
)

// planner says how the next version is to be kept, and knows what the last ones have missed.
type planner struct {
	policy storage.Policy
	// instead is Config.Due.
	instead func(version uint64) storage.Levels

	mu sync.Mutex
	// owed are levels that the last version which should have reached them has
	// not reached: the next version is to.
	owed storage.Levels
	// failed: the last version is nowhere. One that is due for memory alone is made then without what is owed, which may
	// not be there for long: a full disk would end versions in memory, too.
	failed bool
	// demanded is the number of a version that is to be at home whatever is due.
	demanded uint64
	// weak are the planned levels at which this rank's part of a version is not.
	weak map[storage.ID]storage.Levels
}

// plan is Placement.Plan.
func (p *planner) plan(version uint64) storage.Levels {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan := p.due(version)
	if home := storage.LevelsOf(storage.PFS); version == p.demanded && plan != home {
		plan = plan.With(home).Staged()
	}
	if p.owed == 0 || p.waits(plan) {
		return plan
	}
	return plan.With(p.owed).Staged()
}

// due is what a version is to have, but for what is owed.
func (p *planner) due(version uint64) storage.Levels {
	if p.instead != nil {
		if levels := p.instead(version); levels != 0 {
			return levels.Staged()
		}
	}
	return p.policy.Plan(version)
}

// demand is Demand.
func (p *planner) demand(version uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.demanded = version
}

// waits reports whether what is owed is for a later version than one for which so much is due.
func (p *planner) waits(due storage.Levels) bool { return p.failed && due.MemoryAlone() }

// skipNumbers is Placement.SkipNumbers.
func (p *planner) skipNumbers(from, to uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.owed = p.owed.With(p.policy.Between(from, to))
}

// settled notes the levels that a version has missed, on all ranks alike, and whether it is nowhere.
func (p *planner) settled(version uint64, missed storage.Levels, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits(p.due(version)) {
		missed, failed = missed.With(p.owed), false
	}
	p.owed, p.failed = missed, failed
}

// weaken notes that this rank's part of a version is not at a level, and reports whether it is
// the first one.
func (p *planner) weaken(id storage.ID, level storage.Level) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.weak == nil {
		p.weak = make(map[storage.ID]storage.Levels)
	}
	first = p.weak[id] == 0
	p.weak[id] |= storage.LevelsOf(level)
	return first
}

// takeWeak returns what weaken has noted of a version, once.
func (p *planner) takeWeak(id storage.ID) storage.Levels {
	p.mu.Lock()
	defer p.mu.Unlock()
	weak := p.weak[id]
	delete(p.weak, id)
	return weak
}

// Outcome is what became of one rank's part of a version, or of all.
type Outcome struct {
	Levels  storage.Levels // that it has below the home; none: it is not stored
	Spilled bool           // it is at home because the node was full
	Void    bool           // all ranks find that it is not complete: without this another one may think otherwise
}
