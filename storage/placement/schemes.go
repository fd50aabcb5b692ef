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
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/partner"
)

// schemes are those of the levels that the policy has. They do not change once they are built.
type schemes struct {
	scheme     map[storage.Level]Scheme
	parity     map[storage.Level]*erasure.Scheme // those that hold parity for others
	protection map[storage.Level]protection
	reach      map[storage.Level]storage.Level // what the scheme of a level stands for
}

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
func (s *schemes) possible(l storage.Level) storage.Level {
	instead, built := s.reach[l]
	switch {
	case built:
		return instead
	case l.Tier == storage.TierHome:
		return l
	}
	return storage.Local
}

// allPossible is possible for some levels.
func (s *schemes) allPossible(wanted storage.Levels) (possible storage.Levels) {
	for l := range wanted.All() {
		possible = possible.With(storage.LevelsOf(s.possible(l)))
	}
	return possible
}

// of are the schemes that protect what is kept at some levels.
func (s *schemes) of(levels storage.Levels) iter.Seq2[storage.Level, Scheme] {
	return func(yield func(storage.Level, Scheme) bool) {
		for level := range levels.All() {
			if scheme := s.scheme[level]; scheme != nil && !yield(level, scheme) {
				return
			}
		}
	}
}

// healing are the levels whose schemes protect a version anew: those that it was
// written for or, where this job's policy does not have one of them, those that there
// are; none if nothing is to protect it.
func (s *schemes) healing(plan storage.Levels) (by storage.Levels) {
	for level := range plan.All() {
		_, has := s.scheme[level]
		switch {
		case level.Redundancy == storage.NoRedundancy:
		case has:
			by = by.With(storage.LevelsOf(level))
		default:
			for other := range s.scheme {
				by = by.With(storage.LevelsOf(other))
			}
		}
	}
	return by
}

// haveParity reports whether parity protects what is kept at one of some levels.
func (s *schemes) haveParity(levels storage.Levels) bool {
	return levels.Where(func(l storage.Level) bool { return s.protection[l].sets != nil }) != 0
}

func (s *schemes) close(ctx context.Context) (err error) {
	for _, k := range s.parity {
		err = errors.Join(err, k.Close(ctx))
	}
	return err
}

// schemeBuilder is what schemes are made of.
type schemeBuilder struct {
	*schemes

	nodes             *nodes
	setSize, parities int
	service           *exchange.Service
	local             *nodelocal.Store
	unwanted          func(storage.ID) error // an error if the version is deleted
	log               *slog.Logger
}

// build makes the schemes of the levels that the policy has. For one that
// the job's nodes do not allow there is the strongest one that they do, with a
// message: the program is to run on a laptop as on a cluster, and on the nodes that
// are left when one is lost.
func (b *schemeBuilder) build(policy storage.Policy) error {
	b.scheme, b.parity = make(map[storage.Level]Scheme), make(map[storage.Level]*erasure.Scheme)
	b.protection, b.reach = make(map[storage.Level]protection), make(map[storage.Level]storage.Level)
	for _, period := range policy {
		if period.Level.Tier == storage.TierHome {
			continue
		}
		reach, why, err := b.buildOne(period.Level)
		if err != nil {
			return fmt.Errorf("%w: level %v: %w", ErrConfig, period.Level, err)
		}
		b.reach[period.Level] = reach
		if reach != period.Level && b.nodes.root() {
			b.log.Warn("a level is not possible with these nodes, its versions are kept at a lower one",
				"level", period.Level.String(), "kept_as", reach.String(), "nodes", len(b.nodes.list), "error", why)
		}
	}
	return nil
}

// buildOne makes the scheme of a level, or of one that survives less. It returns the level
// that this stands for, and why it is not the level itself.
func (b *schemeBuilder) buildOne(level storage.Level) (reach storage.Level, why, err error) {
	if most := b.survivable(level); !most.Cover(level.Survives) {
		return level, nil, fmt.Errorf("it is declared to survive %+v, and what is made for it here survives %+v: declare no more than that, or make it in another way (attempts in storage/placement/schemes.go)",
			level.Survives, most)
	}
	if level.Redundancy == storage.NoRedundancy {
		return level, nil, nil
	}
	for _, try := range b.attempts(level) {
		err := try.build()
		switch {
		case err == nil:
			return try.reach, why, nil
		case !errors.Is(err, domain.ErrTooFewNodes):
			return storage.Local, nil, err
		case why == nil:
			why = err
		}
	}
	return storage.Local, why, nil
}

// survivable is what may be lost of what is made of a level on the nodes, at best.
func (b *schemeBuilder) survivable(level storage.Level) storage.Losses {
	nodes := 1
	switch {
	case level.Redundancy == storage.NoRedundancy:
		nodes = 0
	case level.Redundancy == storage.Parity && level.Survives.OfEachSet > 1:
		nodes = max(b.parities, storage.RS.Survives.Nodes)
	}
	return storage.Losses{Process: true, JobEnd: true, Nodes: nodes, OfEachSet: nodes}
}

type schemeAttempt struct {
	reach storage.Level
	build func() error
}

// attempts are the schemes for a level, the strongest first. Fewer parities than
// Reed-Solomon was asked for survive at least what XOR does.
func (b *schemeBuilder) attempts(level storage.Level) (out []schemeAttempt) {
	add := func(reach storage.Level, build func() error) { out = append(out, schemeAttempt{reach, build}) }
	if level.Redundancy == storage.Parity {
		n := 1
		if level.Survives.OfEachSet > 1 {
			n = b.parities
		}
		add(level, func() error { return b.buildParity(level, n) })
		for fewer := n - 1; fewer > 0; fewer-- {
			add(storage.XOR, func() error { return b.buildParity(level, fewer) })
		}
		add(storage.Partner, func() error { return b.buildPartner(level) })
		return out
	}
	add(level, func() error { return b.buildPartner(level) })
	return out
}

func (b *schemeBuilder) buildPartner(level storage.Level) error {
	p, err := domain.Partners(b.nodes.places())
	if err != nil {
		return err
	}
	if len(p.SameRack) > 0 && b.nodes.root() {
		b.log.Warn("some copies are in the rack of their originals: the loss of that rack can cost a version (each rank holds one copy; with at most half of the ranks in each rack all copies are in another one)",
			"level", level.String(), "ranks", p.SameRack)
	}
	b.protection[level] = protection{partners: p.Partner}
	b.scheme[level] = &partner.Scheme{Service: b.service, Partner: comm.Rank(p.Partner[b.nodes.me]), ObjectName: objectName}
	return nil
}

func (b *schemeBuilder) buildParity(level storage.Level, parity int) error {
	sets, err := domain.Sets(b.nodes.places(), b.setSize, parity)
	if err != nil {
		return err
	}
	b.warnOfRacks(level, sets, parity)
	b.protection[level] = protection{sets: sets, parity: parity}
	for _, set := range sets {
		if !slices.Contains(set.Members, int(b.nodes.me)) {
			continue
		}
		scheme, err := erasure.NewScheme(erasure.SchemeConfig{
			Service: b.service, Node: b.local, Rank: int(b.nodes.me), Set: set.Members, Parity: parity,
			Prefix: level.String(), Unwanted: b.unwanted, Log: b.log,
		})
		if err != nil {
			return err
		}
		b.scheme[level], b.parity[level] = scheme, scheme
	}
	return nil
}

// warnOfRacks reports that the sets of a level do not survive the loss of a rack. Who
// has not said which node is where does not expect that.
func (b *schemeBuilder) warnOfRacks(level storage.Level, sets []domain.Set, parity int) {
	most := 0
	for _, set := range sets {
		most = max(most, set.PerRack)
	}
	if b.nodes.root() && b.nodes.racks() > 1 && most > parity {
		b.log.Warn("sets have more members in one rack than they can lose: the loss of a rack can cost a version (more racks, smaller sets or more parities help: CRAFT_RACKS, CRAFT_SET_SIZE, CRAFT_RS_PARITY)",
			"level", level.String(), "members", most, "parities", parity)
	}
}
