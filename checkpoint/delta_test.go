package checkpoint

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/storagetest"
)

// From the second version of a level on, whatever the policy, and however versions
// fail or are less safe than planned: of those that stay at the level one needs no byte
// of what the newest needs.
func TestEachLevelKeepsTwoChains(t *testing.T) {
	ofData(t)
	rng := testseed.Rand(t)
	for range 200 {
		policy := storage.Policy{{Level: storage.Local, Every: 1}}
		for _, l := range storagetest.Protecting() {
			if rng.IntN(2) == 0 {
				policy = append(policy, storage.Period{Level: l, Every: 1 + rng.Uint64N(12)})
			}
		}
		every, keep := 1+rng.IntN(12), 2+rng.IntN(3)
		var d deltas
		var kept []catalog.Kept
		stored := make(map[storage.Level]int)
		for version := uint64(1); version < 60; version++ {
			levels, oldest := policy.Plan(version), uint64(0)
			if rng.IntN(20) == 0 || d.isDue(levels, every, keep) { // others are full too
				d.begin(version)
			} else {
				d.since++
				oldest = d.full
			}
			if rng.IntN(8) == 0 {
				levels = levels.And(policy.Plan(1 + rng.Uint64N(60)))
			}
			if levels == 0 {
				continue // it has failed
			}
			d.stored(levels)
			for _, p := range policy {
				if levels.Covers(p.Level) {
					stored[p.Level]++
				}
			}
			kept = append(kept, catalog.Kept{Entry: storage.Entry{ID: storage.ID{Version: version}, Parts: []storage.Part{{Rank: 0, Size: 1}}}, Reached: levels, Oldest: oldest})
			kept = retained(catalog.Retention{Keep: keep}, policy, kept)
			for _, p := range policy {
				if stored[p.Level] > 1 {
					require.True(t, twoChains(kept, p.Level), "%v of version %d, %v: %+v", p.Level, version, policy, kept)
				}
			}
		}
	}
}

// retained are the versions that stay.
func retained(r catalog.Retention, policy storage.Policy, versions []catalog.Kept) (left []catalog.Kept) {
	var levels []storage.Level
	for _, p := range policy {
		levels = append(levels, p.Level)
	}
	gone := make(map[storage.ID]bool)
	for _, id := range r.Prunable(levels, versions).Everywhere {
		gone[id] = true
	}
	for _, v := range versions {
		if !gone[v.ID] {
			left = append(left, v)
		}
	}
	return left
}

// twoChains reports whether a version of a level, with all that it needs, and the
// newest of the level have no file in common.
func twoChains(kept []catalog.Kept, level storage.Level) bool {
	needs := func(v catalog.Kept) map[uint64]bool {
		all := map[uint64]bool{v.ID.Version: true}
		for n := v.Oldest; n > 0 && n < v.ID.Version; n++ {
			all[n] = true
		}
		return all
	}
	var newest map[uint64]bool
	for i := len(kept) - 1; i >= 0; i-- {
		v := kept[i]
		if !v.Reached.Covers(level) {
			continue
		}
		if newest == nil {
			newest = needs(v)
			continue
		}
		common := false
		for n := range needs(v) {
			common = common || newest[n]
		}
		if !common {
			return true
		}
	}
	return false
}
