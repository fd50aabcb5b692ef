package erasure

import (
	"context"
	"errors"
	"fmt"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/nodelocal"
)

// The identity that a Scheme gives to the parity files of a set:
//
//	0   1  form: 1
//	1   8  number of the version
//	9   8  attempt of the version
//	17  4  number of ranks that have written the version
//	21  4  rank of each member, in the order of the members
//	..
const (
	identityForm  = 1
	identityFixed = 21
)

func appendIdentity(b []byte, v version, ranks []int) []byte {
	b = append(b, identityForm)
	b = le.AppendUint64(b, v.id.Version)
	b = append(b, v.id.Attempt[:]...)
	b = le.AppendUint32(b, uint32(v.size))
	for _, r := range ranks {
		b = le.AppendUint32(b, uint32(r))
	}
	return b
}

// version names the parts of one version.
type version struct {
	id   storage.ID
	size int // number of ranks
}

// SetOf tells what the parity file with this header protects: the parts of which
// version, written by size ranks, of which ranks, in the order of the members.
// The error matches ErrMismatch if the file was not made by a Scheme.
func SetOf(h Header) (id storage.ID, ranks []int, size int, err error) {
	bad := func(format string, args ...any) (storage.ID, []int, int, error) {
		return storage.ID{}, nil, 0, fmt.Errorf("erasure: identity of a parity file: %s: %w", fmt.Sprintf(format, args...), ErrMismatch)
	}
	b := h.Identity
	if len(b) != identityFixed+4*h.Layout.Members || b[0] != identityForm {
		return bad("%d bytes for %d members", len(b), h.Layout.Members)
	}
	id.Version = le.Uint64(b[1:])
	copy(id.Attempt[:], b[9:])
	size = int(le.Uint32(b[17:]))
	seen := make(map[int]bool)
	for b = b[identityFixed:]; len(b) > 0; b = b[4:] {
		r := int(le.Uint32(b))
		if r >= size || seen[r] {
			return bad("member of rank %d of %d", r, size)
		}
		seen[r] = true
		ranks = append(ranks, r)
	}
	return id, ranks, size, nil
}

// Findings are the objects of a node, and what its parity files say of their sets, for a
// catalog. A parity file that cannot be used does not count, and unusable is told why; what
// cannot be read now may be there later.
func Findings(ctx context.Context, host string, objects []nodelocal.Object, open Open, unusable func(storage.ObjectKey, error)) (f catalog.Findings) {
	for _, o := range objects {
		if o.Kind == storage.KindParity {
			set, err := openSet(ctx, o.ObjectKey, open)
			if err != nil {
				unusable(o.ObjectKey, err)
				if storage.Passing(err) && !errors.Is(err, ErrMismatch) {
					f.Away = append(f.Away, storage.Entry{ID: o.ID, Away: []string{fmt.Sprintf("on node %s a parity file cannot be read: %v", host, err)}})
				}
				continue
			}
			f.Sets = append(f.Sets, catalog.Of[catalog.Set]{ID: o.ID, It: set})
		}
		f.Objects = append(f.Objects, o.ObjectKey)
	}
	return f
}

// openSet reads of a parity file which set it is of. The error matches ErrMismatch if it
// says that it is another object than key.
func openSet(ctx context.Context, key storage.ObjectKey, open Open) (catalog.Set, error) {
	r, err := open(ctx, key)
	if err != nil {
		return catalog.Set{}, err
	}
	defer r.Close() // nothing was written
	p, err := OpenParity(r, r.Size())
	if err != nil {
		return catalog.Set{}, err
	}
	id, ranks, size, err := SetOf(p.Header())
	if err == nil && (id != key.ID || size != key.Part.Size) {
		err = fmt.Errorf("it is of %v by %d ranks, it was copied or renamed: %w", id, size, ErrMismatch)
	}
	return catalog.Set{Ranks: ranks, Size: size, Parity: p.Header().Layout.Parity, Holders: []int{key.Part.Rank}}, err
}
