package placement

import (
	"errors"
	"fmt"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/domain"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/partner"
)

// buildSchemes makes the schemes of the levels that the policy has. For one that
// the job's nodes do not allow there is the strongest one that they do, with a
// message: the program is to run on a laptop as on a cluster, and on the nodes that
// are left when one is lost.
func (s *Placement) buildSchemes() error {
	s.schemes, s.parity = make(map[storage.Level]Scheme), make(map[storage.Level]parityHolder)
	s.reach = make(map[storage.Level]storage.Level)
	s.protections = make(map[storage.Level]protection)
	for _, period := range s.Policy {
		if period.Level.Tier == storage.TierHome {
			continue
		}
		reach, why, err := s.build(period.Level)
		if err != nil {
			return fmt.Errorf("%w: level %v: %w", ErrConfig, period.Level, err)
		}
		s.reach[period.Level] = reach
		if reach != period.Level && s.root() {
			s.log.Warn("a level is not possible with these nodes, its versions are kept at a lower one",
				"level", period.Level.String(), "kept_as", reach.String(), "nodes", len(s.nodes.list), "error", why)
		}
	}
	return nil
}

// build makes the scheme of a level, or of one that survives less. It returns the level
// that this stands for, and why it is not the level itself.
func (s *Placement) build(level storage.Level) (reach storage.Level, why, err error) {
	if level.Redundancy == storage.NoRedundancy {
		return level, nil, nil
	}
	for _, try := range s.attempts(level) {
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

type schemeAttempt struct {
	reach storage.Level
	build func() error
}

// attempts are the schemes for a level, the strongest first. Fewer parities than
// Reed-Solomon was asked for survive at least what XOR does.
func (s *Placement) attempts(level storage.Level) (out []schemeAttempt) {
	add := func(reach storage.Level, build func() error) { out = append(out, schemeAttempt{reach, build}) }
	if level.Redundancy == storage.Parity {
		n := 1
		if level.Survives.OfEachSet > 1 {
			n = s.Parity
		}
		add(level, func() error { return s.buildParity(level, n) })
		for fewer := n - 1; fewer > 0; fewer-- {
			add(storage.XOR, func() error { return s.buildParity(level, fewer) })
		}
		add(storage.Partner, func() error { return s.buildPartner(level) })
		return out
	}
	add(level, func() error { return s.buildPartner(level) })
	return out
}

func (s *Placement) buildPartner(level storage.Level) error {
	p, err := domain.Partners(s.nodes.places())
	if err != nil {
		return err
	}
	if len(p.SameRack) > 0 && s.root() {
		s.log.Warn("some copies are in the rack of their originals: the loss of that rack can cost a version (each rank holds one copy; with at most half of the ranks in each rack all copies are in another one)",
			"level", level.String(), "ranks", p.SameRack)
	}
	s.protections[level] = protection{partners: p.Partner}
	s.schemes[level] = partner.New(partner.Config{
		Service: s.service, Partner: p.Partner, Rank: int(s.me), ObjectName: objectName,
	})
	return nil
}

func (s *Placement) buildParity(level storage.Level, parity int) error {
	sets, err := domain.Sets(s.nodes.places(), s.SetSize, parity)
	if err != nil {
		return err
	}
	s.warnOfRacks(level, sets, parity)
	s.protections[level] = protection{sets: sets, parity: parity}
	for _, set := range sets {
		if !slices.Contains(set.Members, int(s.me)) {
			continue
		}
		scheme, err := erasure.NewScheme(erasure.SchemeConfig{
			Service: s.service, Node: s.local, Rank: int(s.me), Set: set.Members, Parity: parity,
			Prefix: level.String(), Unwanted: s.unwanted, Log: s.log,
		})
		if err != nil {
			return err
		}
		s.schemes[level], s.parity[level] = scheme, scheme
	}
	return nil
}

// warnOfRacks reports that the sets of a level do not survive the loss of a rack. Who
// has not said which node is where does not expect that.
func (s *Placement) warnOfRacks(level storage.Level, sets []domain.Set, parity int) {
	most := 0
	for _, set := range sets {
		most = max(most, set.PerRack)
	}
	if s.root() && s.nodes.racks() > 1 && most > parity {
		s.log.Warn("sets have more members in one rack than they can lose: the loss of a rack can cost a version (more racks, smaller sets or more parities help: CRAFT_RACKS, CRAFT_SET_SIZE, CRAFT_RS_PARITY)",
			"level", level.String(), "members", most, "parities", parity)
	}
}
