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

// Plan is what a policy asks for one version.
type Plan struct {
	// Node is the level on the nodes; Captured: the ranks write to the parallel
	// file system themselves.
	Node Level
	// Flush: the version is copied to the parallel file system.
	Flush bool
}

// ParsePolicy reads "local:1,partner:5,xor:10,rs:20,pfs:50". A level without a
// number has every version.
func ParsePolicy(s string) (Policy, error) {
	var p Policy
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
	slices.SortFunc(p, func(a, b Period) int { return int(a.Level) - int(b.Level) })
	for i := range p[1:] {
		if p[i].Level == p[i+1].Level {
			return nil, fmt.Errorf("level %v is given twice", p[i].Level)
		}
	}
	if !p.OnNodes() && p[0].Every > 1 {
		return nil, fmt.Errorf("%v:%d without a level on the nodes: the versions between would be nowhere; add local:1, or use the frequency of writing", PFS, p[0].Every)
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

// OnNodes reports whether any version is kept on the nodes.
func (p Policy) OnNodes() bool {
	return slices.ContainsFunc(p, func(period Period) bool { return period.Level.OnNodes() })
}

// Has reports whether the policy asks for a level.
func (p Policy) Has(l Level) bool {
	return slices.ContainsFunc(p, func(period Period) bool { return period.Level == l })
}

// Plan says what is due for a version: of the levels on the nodes the one that
// survives most (Local if none is due), and the parallel file system by itself.
func (p Policy) Plan(version uint64) Plan {
	if !p.OnNodes() {
		return Plan{Flush: true}
	}
	plan := Plan{Node: Local}
	for _, period := range p {
		switch {
		case version%period.Every != 0:
		case period.Level == PFS:
			plan.Flush = true
		default:
			plan.Node = max(plan.Node, period.Level)
		}
	}
	return plan
}
