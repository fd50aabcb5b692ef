package storage

import (
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage/container"
)

// Levels are levels that a version is to have, or has. Of those on one tier only the
// ones are in it that no other one includes: at rs a version is at xor, too. The zero
// Levels: in the memory of the program alone. They can be compared with ==.
type Levels uint64 // one bit for each of declared, in its order

// everyLevel are all that are declared.
const everyLevel = ^Levels(0)

// LevelsOf are some levels together; the zero Level adds nothing.
func LevelsOf(levels ...Level) Levels {
	return everyLevel.Where(func(l Level) bool {
		return slices.ContainsFunc(levels, func(wanted Level) bool { return wanted.Name == l.Name })
	}).closed().top()
}

// All are the levels, in the order in which they are shown.
func (ls Levels) All() iter.Seq[Level] {
	return func(yield func(Level) bool) {
		for rest := ls; rest != 0; rest &= rest - 1 {
			if !yield(declared[bits.TrailingZeros64(uint64(rest))]) {
				return
			}
		}
	}
}

// Where are those for which something holds.
func (ls Levels) Where(holds func(Level) bool) (some Levels) {
	for i, l := range declared {
		if ls&(1<<i) != 0 && holds(l) {
			some |= 1 << i
		}
	}
	return some
}

// On are those that are on some tiers.
func (ls Levels) On(tiers ...Tier) Levels {
	return ls.Where(func(l Level) bool { return slices.Contains(tiers, l.Tier) })
}

// BelowHome are those that are not on the parallel file system.
func (ls Levels) BelowHome() Levels { return ls.On(TierMemory, TierNode) }

// AtHome reports whether the parallel file system is among them.
func (ls Levels) AtHome() bool { return ls.On(TierHome) != 0 }

// With are these levels and others.
func (ls Levels) With(others Levels) Levels { return (ls.closed() | others.closed()).top() }

// And are the levels of a version of which one part has these and another part has
// others.
func (ls Levels) And(others Levels) Levels { return (ls.closed() & others.closed()).top() }

// Include reports whether all others are made by what makes these.
func (ls Levels) Include(others Levels) bool { return others&^ls.closed() == 0 }

// Covers reports whether a version with these levels survives all that one at a level
// does.
func (ls Levels) Covers(l Level) bool {
	return ls.Where(func(has Level) bool { return has.Covers(l) }) != 0 || l.Survives == Losses{}
}

// closed are these and all that they include.
func (ls Levels) closed() Levels {
	return everyLevel.Where(func(l Level) bool {
		return ls.Where(func(has Level) bool { return has.includes(l) }) != 0
	})
}

// top are those that no other one includes.
func (ls Levels) top() Levels {
	return ls.Where(func(l Level) bool {
		return ls.Where(func(other Level) bool { return other.Name != l.Name && other.includes(l) }) == 0
	})
}

// Missing says of each level whether a version lacks it, 1 or 0: the maximum over all
// ranks is what FromMissing takes for their And.
func (ls Levels) Missing() (missing []int64) {
	all := ls.closed()
	for i := range declared {
		missing = append(missing, int64(1&^(all>>i)))
	}
	return missing
}

// FromMissing reads what Missing gives.
func FromMissing(missing []int64) (ls Levels) {
	for i := range min(len(missing), len(declared)) {
		if missing[i] == 0 {
			ls |= 1 << i
		}
	}
	return ls.closed().top()
}

// String gives the names, such as "rs" or "local,pfs"; "captured" if there are none.
func (ls Levels) String() string {
	var names []string
	for l := range ls.All() {
		names = append(names, l.Name)
	}
	if names == nil {
		return captured
	}
	return strings.Join(names, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (ls Levels) MarshalText() ([]byte, error) { return []byte(ls.String()), nil }

// UnmarshalText reads what MarshalText writes. Names that this program does not know
// are of a newer one, and left out.
func (ls *Levels) UnmarshalText(text []byte) error {
	var known []Level
	for name := range strings.SplitSeq(string(text), ",") {
		if l, ok := levelNamed(name); ok {
			known = append(known, l)
		}
	}
	*ls = LevelsOf(known...)
	return nil
}

// Promises are all levels that a version covers, wherever they are: one bit each, and
// one that says that it is stored.
type Promises uint64

// Promises are those of a version that has these levels.
func (ls Levels) Promises() Promises { return Promises(1 | everyLevel.Where(ls.Covers)<<1) }

// MemoryAlone reports whether these are levels of versions of which there is no file.
func (ls Levels) MemoryAlone() bool { return ls != 0 && ls.On(TierMemory) == ls }

// oldLevels are those that the level byte of a header has had since format 1.1.
var oldLevels = []string{captured, "local", "partner", "xor", "rs"}

// Planned are the levels that a version was to have when it was written, as its header
// says.
func Planned(h container.Header) (ls Levels) {
	if names, ok := h.Fields.Get(container.FieldLevels); ok {
		_ = ls.UnmarshalText(names)
	} else if int(h.Level) < len(oldLevels) {
		l, _ := levelNamed(oldLevels[h.Level])
		ls = LevelsOf(l)
	}
	if h.Flush || ls == 0 {
		ls = ls.With(LevelsOf(PFS))
	}
	return ls
}

// SetPlanned enters what Planned reads. Nothing is entered for a version that goes to
// the parallel file system alone.
func SetPlanned(h *container.Header, plan Levels) {
	below := plan.BelowHome()
	if below == 0 {
		return
	}
	h.Flush = plan.AtHome()
	h.Fields = h.Fields.With(container.FieldLevels, []byte(below.String()))
	h.Level = 1 // what old readers take for granted of the nodes
	for code, name := range oldLevels {
		if l, ok := levelNamed(name); ok && below.On(TierNode).Include(LevelsOf(l)) {
			h.Level = uint8(code)
		}
	}
}
