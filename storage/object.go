package storage

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind says what an object is.
type Kind int

const (
	KindPart   Kind = iota // a rank's own part
	KindCopy               // a copy of the part of a rank of another node
	KindParity             // what a rank keeps for the others of its set
)

var kindPrefix = [...]string{KindPart: "", KindCopy: "copy-", KindParity: "parity-"}

func (k Kind) valid() bool { return k >= 0 && int(k) < len(kindPrefix) }

// String gives "part", "copy" or "parity".
func (k Kind) String() string {
	switch {
	case k == KindPart:
		return "part"
	case k.valid():
		return strings.TrimSuffix(kindPrefix[k], "-")
	default:
		return fmt.Sprintf("Kind(%d)", int(k))
	}
}

// ObjectKey names an object: what a node has of a version. Part says whose it is: the rank that wrote the part or
// the original of the copy; for parity, the rank that keeps it.
type ObjectKey struct {
	ID   ID
	Kind Kind
	Part Part
}

// Compare orders keys by version, kind, and rank.
func (k ObjectKey) Compare(other ObjectKey) int {
	return cmp.Or(k.ID.Compare(other.ID), cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Part.Size, other.Part.Size), cmp.Compare(k.Part.Rank, other.Part.Rank))
}

// String gives "copy rank-00005-of-00008.craft of v-000012-0123456789abcdef".
func (k ObjectKey) String() string { return fmt.Sprintf("%v %v of %v", k.Kind, k.Part, k.ID) }

// Name gives the name of the object that other ranks know it by:
// "v-000012-0123456789abcdef/copy-rank-00005-of-00008.craft".
func (k ObjectKey) Name() string { return k.ID.String() + "/" + k.File() }

// ParseObjectKey accepts exactly what Name gives for an object that can be. The error
// matches ErrName.
func ParseObjectKey(name string) (ObjectKey, error) {
	version, file, _ := strings.Cut(name, "/")
	id, ok1 := ParseID(version)
	kind, part, ok2 := ParseObject(file)
	key := ObjectKey{ID: id, Kind: kind, Part: part}
	if !ok1 || !ok2 || key.Check() != nil {
		return ObjectKey{}, fmt.Errorf("%w: %q is no object of a node (expected: like %q)",
			ErrName, name, "v-000012-0123456789abcdef/copy-rank-00005-of-00008.craft")
	}
	return key, nil
}

// File gives the name of the object's file in the directory of its version.
func (k ObjectKey) File() string { return kindPrefix[k.Kind] + k.Part.String() }

// Check returns an error if there can be no such object.
func (k ObjectKey) Check() error {
	switch {
	case !k.Kind.valid():
		return fmt.Errorf("%v is no kind of object", k.Kind)
	case k.ID.Version == 0:
		return fmt.Errorf("%v: versions are numbered from 1", k.Kind)
	case k.Part.Rank < 0 || k.Part.Rank >= k.Part.Size:
		return fmt.Errorf("%v of rank %d of %d: no such rank", k.Kind, k.Part.Rank, k.Part.Size)
	}
	return nil
}

// ParseObject reads the name of an object's file.
func ParseObject(name string) (kind Kind, part Part, ok bool) {
	for k, prefix := range kindPrefix {
		if rest, found := strings.CutPrefix(name, prefix); found {
			if part, ok := ParsePart(rest); ok {
				return Kind(k), part, true
			}
		}
	}
	return 0, Part{}, false
}
