package nodelocal

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
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

// Key names an object. Part says whose it is: the rank that wrote the part or
// the original of the copy; for parity, the rank that keeps it.
type Key struct {
	ID   storage.ID
	Kind Kind
	Part storage.Part
}

// Compare orders keys by version, kind, and rank.
func (k Key) Compare(other Key) int {
	return cmp.Or(k.ID.Compare(other.ID), cmp.Compare(k.Kind, other.Kind),
		cmp.Compare(k.Part.Size, other.Part.Size), cmp.Compare(k.Part.Rank, other.Part.Rank))
}

// String gives "copy rank-00005-of-00008.craft of v-000012-0123456789abcdef".
func (k Key) String() string { return fmt.Sprintf("%v %v of %v", k.Kind, k.Part, k.ID) }

// Name gives the name of the object that other ranks know it by:
// "v-000012-0123456789abcdef/copy-rank-00005-of-00008.craft".
func (k Key) Name() string { return k.ID.String() + "/" + k.file() }

// ParseKey accepts exactly what Name gives for an object that can be. The error
// matches storage.ErrName.
func ParseKey(name string) (Key, error) {
	version, file, _ := strings.Cut(name, "/")
	id, ok1 := filestore.ParseID(version)
	kind, part, ok2 := parseFile(file)
	key := Key{ID: id, Kind: kind, Part: part}
	if !ok1 || !ok2 || key.check() != nil {
		return Key{}, fmt.Errorf("%w: %q is no object of a node (expected: like %q)",
			storage.ErrName, name, "v-000012-0123456789abcdef/copy-rank-00005-of-00008.craft")
	}
	return key, nil
}

// file gives the name of the object's file in the directory of its version.
func (k Key) file() string { return kindPrefix[k.Kind] + k.Part.String() }

func (k Key) check() error {
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

// parseFile reads the name of an object's file.
func parseFile(name string) (kind Kind, part storage.Part, ok bool) {
	for k, prefix := range kindPrefix {
		if rest, found := strings.CutPrefix(name, prefix); found {
			if part, ok := filestore.ParsePart(rest); ok {
				return Kind(k), part, true
			}
		}
	}
	return 0, storage.Part{}, false
}

// hiddenName is the name of a file that is being written; only a random one
// cannot meet that of another process, or one that a killed process has left.
func hiddenName(file, random string) string { return "." + file + "." + random + ".tmp" }

// parseHidden recognises what hiddenName gives.
func parseHidden(name string) (Kind, bool) {
	rest, ok1 := strings.CutPrefix(name, ".")
	rest, ok2 := strings.CutSuffix(rest, ".tmp")
	dot := strings.LastIndexByte(rest, '.')
	if !ok1 || !ok2 || dot < 0 {
		return 0, false
	}
	kind, _, ok := parseFile(rest[:dot])
	return kind, ok
}
