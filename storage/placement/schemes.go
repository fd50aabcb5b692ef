package placement

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/internal/domain"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/internal/memory"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/partner"
	"github.com/craft-go/craft/storage/replica"
)

// schemes are what protects the versions of the levels that the policy has. They do not change
// once they are built.
type schemes map[storage.Level]protection

// Scheme protects the parts of this rank on other nodes.
type Scheme interface {
	// Create starts the protection of a part, which gets the bytes that the part's
	// own file gets. Commit returns nil when they are safe.
	Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error)
	// Skip tells the others, who may be waiting for it, that this rank does not
	// write its part.
	Skip(ctx context.Context, id storage.ID, part storage.Part) error
}

// possible is what a level is kept as. Of one that the policy does not have there are
// the files of the ranks alone.
func (s schemes) possible(l storage.Level) storage.Level {
	p, built := s[l]
	switch {
	case built:
		return p.reach
	case l.Tier == storage.TierHome:
		return l
	}
	return storage.Local
}

// allPossible is possible for some levels.
func (s schemes) allPossible(wanted storage.Levels) (possible storage.Levels) {
	for l := range wanted.All() {
		possible = possible.With(storage.LevelsOf(s.possible(l)))
	}
	return possible
}

// of are the schemes that protect what is kept at some levels.
func (s schemes) of(levels storage.Levels) iter.Seq2[storage.Level, Scheme] {
	return func(yield func(storage.Level, Scheme) bool) {
		for level := range levels.All() {
			if scheme := s[level].scheme; scheme != nil && !yield(level, scheme) {
				return
			}
		}
	}
}

// skip tells the others that this rank does not write its part of a version.
func (s schemes) skip(ctx context.Context, plan storage.Levels, id storage.ID, part storage.Part) (err error) {
	for _, scheme := range s.of(plan) {
		err = errors.Join(err, scheme.Skip(ctx, id, part))
	}
	return err
}

// healing are the levels whose schemes protect a version anew: those that it was
// written for or, where this job's policy does not have one of them, those that there
// are; none if nothing is to protect it.
func (s schemes) healing(plan storage.Levels) (by storage.Levels) {
	for level := range plan.All() {
		switch {
		case level.Redundancy == storage.NoRedundancy:
		case s[level].scheme != nil:
			by = by.With(storage.LevelsOf(level))
		default:
			for other, p := range s {
				if p.scheme != nil && other.Tier == level.Tier {
					by = by.With(storage.LevelsOf(other))
				}
			}
		}
	}
	return by
}

// haveParity reports whether parity protects what is kept at one of some levels.
func (s schemes) haveParity(levels storage.Levels) bool {
	return levels.Where(func(l storage.Level) bool { return s[l].sets != nil }) != 0
}

func (s schemes) close(ctx context.Context) (err error) {
	for _, p := range s {
		if k, ok := p.scheme.(*erasure.Scheme); ok {
			err = errors.Join(err, k.Close(ctx))
		}
	}
	return err
}

// schemeBuilder is what schemes are made of.
type schemeBuilder struct {
	nodes             *nodes
	setSize, parities int
	copies            int // in memory
	service           *exchange.Service
	local             *nodelocal.Store
	memory            *memory.Objects
	newest            func() storage.ID      // in memory that is complete
	unwanted          func(storage.ID) error // an error if the version is deleted
	warned            *warnings
	log               *slog.Logger
}

// warn says something on rank 0, once in a job for each what, and not again in each attempt of a zone.
func (b *schemeBuilder) warn(text string, what []any, more ...any) {
	if b.nodes.root() && b.warned.first(fmt.Sprint(text, what)) {
		b.log.Warn(text, append(what, more...)...)
	}
}

// build makes the schemes of the levels that the policy has. For one that
// the job's nodes do not allow there is the strongest one that they do, with a
// message: the program is to run on a laptop as on a cluster, and on the nodes that
// are left when one is lost.
func (b *schemeBuilder) build(all schemes, policy storage.Policy) error {
	for _, period := range policy {
		level := period.Level
		if level.Tier == storage.TierHome {
			continue
		}
		p, why, err := b.buildOne(level)
		if err != nil {
			return fmt.Errorf("%w: level %v: %w", ErrConfig, level, err)
		}
		all[level] = p
		if p.reach != level {
			b.warn("a level is not possible with these nodes, its versions are kept at a lower one",
				[]any{"level", level.String(), "kept_as", p.reach.String()}, "nodes", len(b.nodes.list), "error", why)
		}
	}
	return nil
}

// buildOne makes what protects a level, or one that survives less: why it is not the level itself.
func (b *schemeBuilder) buildOne(level storage.Level) (p protection, why, err error) {
	if most := b.survivable(level); !most.Cover(level.Survives) {
		return p, nil, fmt.Errorf("it is declared to survive %+v, and what is made for it here survives %+v: declare no more than that, or make it in another way (attempts in storage/placement/schemes.go)",
			level.Survives, most)
	}
	if level.Redundancy == storage.NoRedundancy {
		return protection{reach: level}, nil, nil
	}
	for _, try := range b.attempts(level) {
		switch {
		case level.Tier == storage.TierMemory:
			p, err = b.buildMemory(try)
		case try.parity > 0:
			p, err = b.buildParity(level, try)
		default:
			p, err = b.buildPartner(level, try)
		}
		switch {
		case err == nil:
			return p, why, nil
		case !errors.Is(err, domain.ErrTooFewNodes):
			return p, nil, err
		case why == nil:
			why = err
		}
	}
	return protection{reach: storage.Local}, why, nil
}

// survivable is what may be lost of what is made of a level on the nodes, at best.
func (b *schemeBuilder) survivable(level storage.Level) storage.Losses {
	nodes := 1
	switch {
	case level.Tier == storage.TierMemory:
		return storage.Losses{Process: true, Nodes: b.copies - 1}
	case level.Redundancy == storage.NoRedundancy:
		nodes = 0
	case level.Redundancy == storage.Parity && level.Survives.OfEachSet > 1:
		nodes = max(b.parities, storage.RS.Survives.Nodes)
	}
	return storage.Losses{Process: true, JobEnd: true, Nodes: nodes, OfEachSet: nodes}
}

// attempts are what may protect a level, the strongest first. Fewer parities than
// Reed-Solomon was asked for survive at least what XOR does.
func (b *schemeBuilder) attempts(level storage.Level) (out []protection) {
	switch {
	case level == storage.Mem:
		return []protection{{reach: level}, {reach: storage.Process}}
	case level.Redundancy != storage.Parity:
		return []protection{{reach: level}}
	}
	n := 1
	if level.Survives.OfEachSet > 1 {
		n = b.parities
	}
	out = append(out, protection{reach: level, parity: n})
	for fewer := n - 1; fewer > 0; fewer-- {
		out = append(out, protection{reach: storage.XOR, parity: fewer})
	}
	return append(out, protection{reach: storage.Partner})
}

func (b *schemeBuilder) buildPartner(level storage.Level, p protection) (protection, error) {
	chosen, err := domain.Partners(b.nodes.places())
	if err != nil {
		return p, err
	}
	if len(chosen.SameRack) > 0 && b.nodes.root() {
		b.log.Warn("some copies are in the rack of their originals: the loss of that rack can cost a version (each rank holds one copy; with at most half of the ranks in each rack all copies are in another one)",
			"level", level.String(), "ranks", chosen.SameRack)
	}
	p.partners = chosen.Partner
	p.scheme = &partner.Scheme{Service: b.service, Partner: comm.Rank(p.partners[b.nodes.me]), ObjectName: objectName}
	return p, nil
}

// buildMemory chooses who has whose part in memory: on as many nodes as there are copies or, where
// there are fewer nodes, copies; for a level that survives no node on any ranks.
func (b *schemeBuilder) buildMemory(p protection) (protection, error) {
	apart := p.reach.Survives.Nodes > 0
	most := len(b.nodes.of)
	if apart {
		most = len(b.nodes.list)
	}
	copies := min(b.copies, most)
	if copies < 2 {
		return p, fmt.Errorf("%w: copies in memory need at least 2 nodes, or 2 ranks to survive a process", domain.ErrTooFewNodes)
	}
	if copies < b.copies {
		b.warn("fewer copies in memory than asked for: there are not as many places", []any{"level", p.reach.String(), "copies", copies, "asked", b.copies})
	}
	places, err := replica.NewPlaces(b.nodes.of, copies, !apart)
	if err != nil {
		return p, err
	}
	var others []comm.Rank
	for rank := range b.nodes.of {
		var holders []int
		for _, seat := range places.Holders(places.Slot(replica.Seat(rank))) {
			holders = append(holders, int(seat))
			if rank == int(b.nodes.me) && int(seat) != rank {
				others = append(others, comm.Rank(seat))
			}
		}
		p.holders = append(p.holders, holders)
	}
	p.scheme = &memory.Scheme{Objects: b.memory, Service: b.service, Others: others, ObjectName: func(key storage.ObjectKey) string {
		return memoryNameAfter(key, b.newest())
	}}
	return p, nil
}

func (b *schemeBuilder) buildParity(level storage.Level, p protection) (_ protection, err error) {
	if p.sets, err = domain.Sets(b.nodes.places(), b.setSize, p.parity); err != nil {
		return p, err
	}
	b.warnOfRacks(level, p.sets, p.parity)
	own := slices.IndexFunc(p.sets, func(set domain.Set) bool { return slices.Contains(set.Members, int(b.nodes.me)) })
	p.scheme, err = erasure.NewScheme(erasure.SchemeConfig{
		Service: b.service, Node: b.local, Rank: int(b.nodes.me), Set: p.sets[own].Members, Parity: p.parity,
		Prefix: level.String(), Unwanted: b.unwanted, Log: b.log,
	})
	return p, err
}

// warnOfRacks reports that the sets of a level do not survive the loss of a rack. Who
// has not said which node is where does not expect that.
func (b *schemeBuilder) warnOfRacks(level storage.Level, sets []domain.Set, parity int) {
	most := slices.MaxFunc(sets, func(a, b domain.Set) int { return a.PerRack - b.PerRack }).PerRack
	racks := slices.ContainsFunc(b.nodes.list, func(n manifest.Node) bool { return n.Rack != b.nodes.list[0].Rack })
	if b.nodes.root() && racks && most > parity {
		b.log.Warn("sets have more members in one rack than they can lose: the loss of a rack can cost a version (more racks, smaller sets or more parities help: CRAFT_RACKS, CRAFT_SET_SIZE, CRAFT_RS_PARITY)",
			"level", level.String(), "members", most, "parities", parity)
	}
}
