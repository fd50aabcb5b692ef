package storage

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"

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
}

// Size returns the number of ranks that wrote the version, 0 if no part of it
// is there. Parts of groups of different size in one version, which no writer
// produces, count as damage: Size is then -1.
func (e Entry) Size() int {
	size := 0
	for _, p := range e.Parts {
		if size != 0 && p.Size != size {
			return -1
		}
		size = p.Size
	}
	return size
}

// Complete reports whether the parts of all ranks are there.
func (e Entry) Complete() bool {
	size := e.Size()
	return size > 0 && len(e.Parts) == size
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
