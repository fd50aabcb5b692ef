package storage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Policy says which versions are kept at which level: each level has its
// period. The zero Policy sends everything to the parallel file system.
type Policy []Period

// Period asks for every n-th version at a level.
type Period struct {
	Level Level
	Every uint64 // 1: all
}

// Every asks for every n-th version at a level.
func (l Level) Every(n uint64) Period { return Period{Level: l, Every: n} }

// ParsePolicy reads "local:1,partner:5,xor:10,rs:20,pfs:50". A level without a
// number has every version; "" is the zero Policy.
func ParsePolicy(s string) (Policy, error) {
	var p Policy
	if s == "" {
		return p, nil
	}
	for field := range strings.SplitSeq(s, ",") {
		name, every, found := strings.Cut(strings.TrimSpace(field), ":")
		level, err := ParseLevel(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		period := Period{level, 1}
		if found {
			if period.Every, err = strconv.ParseUint(strings.TrimSpace(every), 10, 32); err != nil || period.Every == 0 {
				return nil, fmt.Errorf("period %q of level %v: it must be a whole number from 1 to %d, and commas separate the levels", every, level, uint32(math.MaxUint32))
			}
		}
		p = append(p, period)
	}
	// As they are shown, not as they are safe.
	slices.SortFunc(p, func(a, b Period) int { return slices.Index(declared, a.Level) - slices.Index(declared, b.Level) })
	for i := range p[1:] {
		if p[i].Level == p[i+1].Level {
			return nil, fmt.Errorf("level %v is given twice", p[i].Level)
		}
	}
	if always := func(p Period) bool { return p.Every == 1 }; !p.On(TierNode) && !slices.ContainsFunc(p, always) {
		return nil, fmt.Errorf("%v:%d without a level on the nodes: the versions between would be nowhere; add local:1, or use the frequency of writing", p[0].Level, p[0].Every)
	}
	return p, nil
}

// String gives what ParsePolicy reads.
func (p Policy) String() string {
	var out []string
	for _, period := range p {
		out = append(out, fmt.Sprintf("%v:%d", period.Level, period.Every))
	}
	return strings.Join(out, ",")
}

// On reports whether any version is kept on a tier.
func (p Policy) On(t Tier) bool {
	return slices.ContainsFunc(p, func(period Period) bool { return period.Level.Tier == t })
}

// BelowHome reports whether any version is kept elsewhere than on the parallel file
// system.
func (p Policy) BelowHome() bool { return p.On(TierMemory) || p.On(TierNode) }

// Has reports whether the policy asks for a level.
func (p Policy) Has(l Level) bool {
	return slices.ContainsFunc(p, func(period Period) bool { return period.Level == l })
}

// Plan is what is due for a version.
func (p Policy) Plan(version uint64) (plan Levels) {
	if !p.BelowHome() {
		return LevelsOf(PFS)
	}
	for _, period := range p {
		if version%period.Every == 0 {
			plan = plan.With(LevelsOf(period.Level))
		}
	}
	return plan.Staged()
}

// Staged are these levels and what a version needs to have them: from the nodes it is copied to the
// parallel file system, and one for which nothing is due is kept there.
func (ls Levels) Staged() Levels {
	if ls.On(TierNode) == 0 && (ls.AtHome() || ls == 0) {
		return ls.With(LevelsOf(Local))
	}
	return ls
}

// Between are the levels that are due for any of the numbers after one up to another.
func (p Policy) Between(from, to uint64) (due Levels) {
	for _, period := range p {
		if from/period.Every != to/period.Every {
			due = due.With(LevelsOf(period.Level))
		}
	}
	return due
}
