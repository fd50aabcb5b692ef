package catalog

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Version is a complete version: how it is kept, and what its header says.
type Version struct {
	Kept
	Header container.Header

	stage Stage
}

// Stage names the stage that a version of a nested checkpoint belongs to.
type Stage string

// StageOf is the stage behind the versions of the ancestors, the innermost first.
func StageOf(ancestors []container.Ancestor) Stage {
	var b strings.Builder
	for _, a := range ancestors {
		fmt.Fprintf(&b, "%d-%s/", a.Version, hex.EncodeToString(a.Attempt[:]))
	}
	return Stage(b.String())
}

// Versions are the complete versions of a checkpoint that whoever decides about them knows
// of, oldest first. The zero Versions are none.
type Versions struct {
	// Verified is the newest one that was read back with its checksums, out of whichever
	// places; zero: none was. VerifiedAtHome: every byte that the home has of it.
	Verified       storage.ID
	VerifiedAtHome bool

	list    []Version
	damaged []storage.ID
	passed  []storage.ID
	marks   []storage.Mark
	// waiting are incomplete versions, newer than what was restored, that may be complete
	// again.
	waiting []Kept
}

// Clear forgets all, but for which of them are verified, damaged or marked.
func (vs *Versions) Clear() { vs.list, vs.waiting, vs.passed = nil, nil, nil }

// PassOver notes that a way back has passed over a version: see Retention.
func (vs *Versions) PassOver(id storage.ID) { vs.passed = append(vs.passed, id) }

// SetMarks names the marks that there are now: see Retention.
func (vs *Versions) SetMarks(marks []storage.Mark) { vs.marks = marks }

// Add enters a version that is newer than all others: older ones of its stage are not in memory
// any more if it is.
func (vs *Versions) Add(k Kept, h container.Header) {
	stage := StageOf(h.Ancestors)
	for i := range vs.list {
		if v := &vs.list[i]; v.stage == stage && !v.Volatile && k.Reached.On(storage.TierMemory) != 0 {
			v.Reached = v.Reached.On(storage.TierNode)
		}
	}
	vs.list = append(vs.list, Version{k, h, stage})
}

// All are the versions, which must not be changed.
func (vs *Versions) All() []Version { return vs.list }

// Newest is the last of them; nil if there is none.
func (vs *Versions) Newest() *Version {
	if len(vs.list) == 0 {
		return nil
	}
	return &vs.list[len(vs.list)-1]
}

// NewestInFiles is the last of them that is not in memory alone; nil if there is none.
func (vs *Versions) NewestInFiles() (newest *Version) {
	for i := range vs.list {
		if !vs.list[i].Volatile {
			newest = &vs.list[i]
		}
	}
	return newest
}

// Find returns one of them; nil if it is not among them.
func (vs *Versions) Find(id storage.ID) *Version {
	if i := slices.IndexFunc(vs.list, func(v Version) bool { return v.ID == id }); i >= 0 {
		return &vs.list[i]
	}
	return nil
}

// Has reports whether a version is stored, or may be had again.
func (vs *Versions) Has(id storage.ID) bool { return vs.WaitsFor(id) || vs.Find(id) != nil }

// CameHome notes that the parallel file system has a version now, and returns it; nil if
// it is not among them.
func (vs *Versions) CameHome(id storage.ID) *Version {
	v := vs.Find(id)
	if v != nil {
		v.Home, v.Pending, v.Volatile = true, false, false
	}
	return v
}

// ReadBack notes that a version was read with its checksums: see Verified.
func (vs *Versions) ReadBack(id storage.ID, atHome bool) {
	vs.Verified, vs.VerifiedAtHome = id, atHome
	vs.damaged = slices.DeleteFunc(vs.damaged, func(d storage.ID) bool { return d == id }) // it is not
}

// SetDamaged names those that earlier runs have set aside.
func (vs *Versions) SetDamaged(ids []storage.ID) { vs.damaged = ids }

// SetAside adds a version that has turned out to be damaged.
func (vs *Versions) SetAside(id storage.ID) {
	if !slices.Contains(vs.damaged, id) {
		vs.damaged = append(vs.damaged, id)
	}
}

// Damaged are those of the damaged ones that are stored.
func (vs *Versions) Damaged() (ids []storage.ID) {
	for _, id := range vs.damaged {
		if vs.Find(id) != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// WaitFor lets incomplete versions wait that may be complete again when their nodes come
// back: until a version of this run is complete, the program may be ended and started with
// them. They are given newest first; one that is not wanted for its own sake waits if one
// that does refers to it.
func (vs *Versions) WaitFor(k Kept, wanted bool) {
	if wanted || vs.WaitsFor(k.ID) {
		vs.waiting = append(vs.waiting, k)
	}
}

// WaitsFor reports whether a version is one of those that wait, or one of them refers to it.
func (vs *Versions) WaitsFor(id storage.ID) bool {
	return slices.ContainsFunc(vs.waiting, func(k Kept) bool {
		return k.ID == id || refers(k.ID, k.Oldest, id)
	})
}

// Overtake returns the versions that wait, because there is a newer one now.
func (vs *Versions) Overtake() (gone []storage.ID) {
	for _, k := range vs.waiting {
		gone = append(gone, k.ID)
	}
	vs.waiting = nil
	return gone
}

// AnyOf reports whether there is a version of a stage for which is holds.
func (vs *Versions) AnyOf(stage Stage, is func(container.Header) bool) bool {
	return slices.ContainsFunc(vs.list, func(v Version) bool { return v.stage == stage && is(v.Header) })
}

// Prune takes out what need not be kept any more, and returns it: for levels, see Retention.
func (vs *Versions) Prune(keep int, levels []storage.Level) Prunable {
	return vs.take(vs.prunable(vs.list, keep, levels))
}

// Nesting is what retention has to know of the checkpoints around a nested one.
type Nesting struct {
	Now Stage // the present stage
	// Reachable reports whether a restart from what is stored of the ancestors could come
	// to the stage behind these.
	Reachable func([]container.Ancestor) bool
	// Witness: the newest version stays though it be void.
	Witness bool
	// Begun: a restart comes to the present stage, and so to none before for what is in memory alone.
	Begun bool
}

// PruneNested is Prune for a nested checkpoint: of the present stage stays what retention
// keeps, of any other one that a restart may fall back to the newest, and nothing of the rest.
func (vs *Versions) PruneNested(n Nesting, keep int, levels []storage.Level) Prunable {
	var witness storage.ID
	if newest := vs.NewestInFiles(); newest != nil && n.Witness {
		witness = newest.ID
	}
	byStage := make(map[Stage][]Version)
	for _, v := range vs.list {
		byStage[v.stage] = append(byStage[v.stage], v)
	}
	var all Prunable
	for stage, list := range byStage {
		if stage != n.Now && n.Begun {
			list = slices.DeleteFunc(list, func(v Version) bool {
				if v.Volatile {
					all.Memory = append(all.Memory, v.ID)
				}
				return v.Volatile
			})
		}
		switch {
		case len(list) == 0:
		case stage == n.Now:
			all = all.and(vs.prunable(list, keep, levels))
		case n.Reachable(list[0].Header.Ancestors):
			all = all.and(vs.prunable(list, 1, levels))
		default:
			for _, v := range list {
				switch {
				case v.ID == witness:
				case v.Volatile:
					all.Memory = append(all.Memory, v.ID)
				default:
					all.Everywhere = append(all.Everywhere, v.ID)
				}
			}
		}
	}
	slices.SortFunc(all.Everywhere, storage.ID.Compare)
	return vs.take(all)
}

func (p Prunable) and(q Prunable) Prunable {
	return Prunable{Everywhere: append(p.Everywhere, q.Everywhere...), Nodes: append(p.Nodes, q.Nodes...), Memory: append(p.Memory, q.Memory...)}
}

func (vs *Versions) prunable(list []Version, keep int, levels []storage.Level) Prunable {
	kept := make([]Kept, 0, len(list))
	for _, v := range list {
		kept = append(kept, v.Kept)
	}
	return Retention{Keep: keep, Verified: vs.Verified, Damaged: vs.damaged, Passed: vs.passed, Marks: vs.marks}.Prunable(levels, kept)
}

func (vs *Versions) take(p Prunable) Prunable {
	vs.list = slices.DeleteFunc(vs.list, func(v Version) bool {
		return slices.Contains(p.Everywhere, v.ID) || slices.Contains(p.Memory, v.ID)
	})
	for _, id := range p.Nodes {
		v := vs.Find(id)
		v.Reached = v.Reached.On(storage.TierMemory)
	}
	return p
}
