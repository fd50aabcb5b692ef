package storage

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage/container"
)

// ID is the identity of a version.
type ID struct {
	Version uint64
	Attempt container.AttemptID
}

// IsZero reports whether id names no version.
func (id ID) IsZero() bool { return id == ID{} }

// String gives the name of the version's directory: "v-000012-0123456789abcdef".
func (id ID) String() string {
	return fmt.Sprintf("v-%06d-%s", id.Version, hex.EncodeToString(id.Attempt[:]))
}

// Compare orders versions by number; the attempt only makes the order total.
func (id ID) Compare(other ID) int {
	if c := cmp.Compare(id.Version, other.Version); c != 0 {
		return c
	}
	return slices.Compare(id.Attempt[:], other.Attempt[:])
}

// Origin is the version that the attempt which wrote h was restored from; zero: none, or
// it is not known, as the file is of an old program.
func Origin(h container.Header) (id ID) {
	if b, ok := h.Fields.Get(container.FieldOrigin); ok && len(b) == 8+len(id.Attempt) {
		id.Version = binary.LittleEndian.Uint64(b)
		copy(id.Attempt[:], b[8:])
	}
	return id
}

// WithOrigin adds the field that Origin reads; the zero ID adds none.
func WithOrigin(fields container.Fields, origin ID) container.Fields {
	if origin.IsZero() {
		return fields
	}
	return fields.With(container.FieldOrigin, append(binary.LittleEndian.AppendUint64(nil, origin.Version), origin.Attempt[:]...))
}

// Unsynced are the fields of a version whose files are not synced before they are published.
var Unsynced = container.Fields{{ID: container.FieldUnsynced, Data: []byte{1}}}

// Synced reports whether a version's files were synced before they were published.
func Synced(h container.Header) bool {
	_, unsynced := h.Fields.Get(container.FieldUnsynced)
	return !unsynced
}

// Finished reports whether a version is the last one of a run that has come to its end.
func Finished(h container.Header) bool {
	_, is := h.Fields.Get(container.FieldFinished)
	return is
}

// Part names one rank's file of a version written by Size ranks.
type Part struct {
	Rank, Size int
}

// String gives the name of the part's file: "rank-00003-of-00008.craft".
func (p Part) String() string {
	return fmt.Sprintf("rank-%05d-of-%05d.craft", p.Rank, p.Size)
}

// Entry is what a level holds of one version.
type Entry struct {
	ID    ID
	Parts []Part // ascending by size, then rank
	// Away are links of it that lead nowhere, and places that may have it and cannot be
	// read, and why: it may be there again, so the version is not to be deleted.
	Away []string
}

// Size returns the number of ranks that wrote the version, 0 if no part of it is
// there. Every part's name states it. No writer leaves different ones in one
// version, so some of the names lie then: those that are complete together are
// believed (of several groups the largest), else the most (the smallest).
func (e Entry) Size() int {
	groups := make(map[int]int)
	for _, p := range e.Parts {
		groups[p.Size]++
	}
	best := 0 // what the loop finds does not depend on its order
	for size, n := range groups {
		whole, wholeBest := n == size, groups[best] == best
		switch {
		case best == 0, whole && !wholeBest, whole && size > best:
			best = size
		case !wholeBest && (n > groups[best] || n == groups[best] && size < best):
			best = size
		}
	}
	return best
}

// Group returns the parts of the version, without those whose names lie: see Size.
func (e Entry) Group() []Part {
	size := e.Size()
	other := func(p Part) bool { return p.Size != size }
	if !slices.ContainsFunc(e.Parts, other) {
		return e.Parts
	}
	return slices.DeleteFunc(slices.Clone(e.Parts), other)
}

// Complete reports whether the parts of all ranks are there.
func (e Entry) Complete() bool {
	parts := e.Group()
	return len(parts) > 0 && len(parts) == parts[0].Size
}

// Missing returns the ranks of which no part is there, at most limit of them, and
// how many more there are: a name may speak of any number of ranks.
func (e Entry) Missing(limit int) (ranks []int, more int) {
	there, size := make(map[int]bool), 0
	for _, p := range e.Group() {
		there[p.Rank], size = true, p.Size
	}
	missing := size - len(there)
	for rank := 0; len(ranks) < min(limit, missing); rank++ {
		if !there[rank] {
			ranks = append(ranks, rank)
		}
	}
	return ranks, missing - len(ranks)
}

// MissingText is such as "0, 3, 5 and 12 more"; "" if nothing is missing.
func (e Entry) MissingText() string {
	ranks, more := e.Missing(32)
	text := strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// SortEntries orders entries by version and their parts by rank.
func SortEntries(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return a.ID.Compare(b.ID) })
	for _, e := range entries {
		slices.SortFunc(e.Parts, func(a, b Part) int {
			return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.Rank, b.Rank))
		})
	}
}
