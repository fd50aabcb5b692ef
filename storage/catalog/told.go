package catalog

import (
	"encoding/hex"
	"slices"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// Told is what the files beside the versions tell of: LATEST.json, NODES.json and the records
// of runs. Nobody believes them that bytes are good, only that there have been some.
type Told struct {
	Claims []Claim // versions that were complete
	// Highest is the highest number that was used, as By says.
	Highest uint64
	By      string
	Runs    []storage.Record // oldest first
	// Damaged are those that the last run has set aside, or knew of.
	Damaged []storage.ID
}

// Claim tells of a version that was complete.
type Claim struct {
	ID      storage.ID
	Lineage *container.LineageID // nil: not known
	By      string               // name of the file
}

// Use enters that a number was used.
func (t *Told) Use(number uint64, by string) {
	if number > t.Highest {
		t.Highest, t.By = number, by
	}
}

// Claim enters that a version was complete, of a lineage as records have it.
func (t *Told) Claim(id storage.ID, lineage, by string) {
	one := Claim{ID: id, By: by}
	if l, ok := storage.ParseLineage(lineage); ok {
		one.Lineage = &l
	}
	t.Use(id.Version, by)
	t.Claims = append(t.Claims, one)
}

// Records enters the records of runs, oldest first. Those of a nested checkpoint do not
// say of which stage its versions were. name gives the name of a record's file.
func (t *Told) Records(runs []storage.Record, nested bool, name func(storage.Record) string) {
	t.Runs = runs
	for _, r := range runs {
		attempt, ok := storage.ParseAttempt(r.Attempt)
		if !ok {
			continue
		}
		if r.VersionsWritten+r.VersionsFailed > 0 {
			t.Use(r.LastVersion, name(r))
		}
		if nested {
			continue
		}
		if r.LastWritten > 0 {
			t.Claim(storage.ID{Version: r.LastWritten, Attempt: attempt}, r.Lineage, name(r))
		}
		if from, ok := restoredFrom(r); ok && !r.RestoredMemory {
			t.Claim(from, r.Lineage, name(r))
		}
	}
	if len(runs) == 0 {
		return
	}
	for _, name := range runs[len(runs)-1].Damaged {
		if id, ok := storage.ParseID(name); ok {
			t.Damaged = append(t.Damaged, id)
		}
	}
}

// TellsOf reports whether a version is known to have been complete.
func (t *Told) TellsOf(id storage.ID) bool {
	return slices.ContainsFunc(t.Claims, func(one Claim) bool { return one.ID == id })
}

// TellsOfAttempt reports whether an attempt is known.
func (t *Told) TellsOfAttempt(attempt container.AttemptID) bool {
	return slices.ContainsFunc(t.Claims, func(one Claim) bool { return one.ID.Attempt == attempt }) ||
		slices.ContainsFunc(t.Runs, func(r storage.Record) bool {
			id, ok := storage.ParseAttempt(r.Attempt)
			return ok && id == attempt
		})
}

// Newest is the claim with the highest number beyond one, and the files that tell of it or
// of others beyond that number; nil if there is none.
func (t *Told) Newest(beyond uint64) (best *Claim, by []string) {
	for i, one := range t.Claims {
		if one.ID.Version <= beyond {
			continue
		}
		if !slices.Contains(by, one.By) {
			by = append(by, one.By)
		}
		if best == nil || one.ID.Version > best.ID.Version {
			best = &t.Claims[i]
		}
	}
	return best, by
}

// LineageOf finds the lineage of an attempt; nil if nothing tells of it.
func (t *Told) LineageOf(attempt container.AttemptID) *container.LineageID {
	for _, one := range t.Claims {
		if one.ID.Attempt == attempt && one.Lineage != nil {
			return one.Lineage
		}
	}
	for _, r := range t.Runs {
		if id, ok := storage.ParseAttempt(r.Attempt); ok && id == attempt {
			if l, ok := storage.ParseLineage(r.Lineage); ok {
				return &l
			}
		}
	}
	return nil
}

// AnewStored reports whether a record says that a lineage was begun anew and that a nested
// checkpoint has a version of it.
func (t *Told) AnewStored(anew container.LineageID) bool {
	return slices.ContainsFunc(t.Runs, func(r storage.Record) bool {
		return r.AnewStored && r.Anew == hex.EncodeToString(anew[:])
	})
}

// Origins finds out from headers and records what attempts were restored from.
func (t *Told) Origins(complete []Candidate) Origins {
	o := make(Origins)
	for _, r := range t.Runs {
		attempt, known := storage.ParseAttempt(r.Attempt)
		if from, ok := restoredFrom(r); ok && known {
			o[attempt] = from
		}
	}
	for _, c := range complete {
		if !c.Origin.IsZero() {
			o[c.ID.Attempt] = c.Origin
		}
	}
	return o
}
