package erasure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// All losses of up to m members, of parts of random uneven sizes: parts and
// parity files come back bit for bit.
func TestRebuildAllLosses(t *testing.T) {
	rng := random(t)
	eachLayout(64, func(l Layout) {
		sizes := unevenSizes(rng, l)
		s := newSet(t, rng, l, sizes)
		for i := range s.files {
			require.NoError(t, s.open(t, i).Verify(t.Context()))
			require.Equal(t, s.after, s.open(t, i).Parts())
		}
		for _, members := range choices(l.Members, l.Parity) {
			lost, out := s.want(t, members...)
			require.NoError(t, s.code.Rebuild(t.Context(), s.sources(t, members...), lost), "lost %v of %s", members, about(l, sizes))
			s.requireRebuilt(t, members, out)
		}
	})
}

func TestEmptySet(t *testing.T) {
	s := newSet(t, random(t), Layout{3, 1, 64}, []int64{0, 0, 0})
	lost, out := s.want(t, 1)
	require.NoError(t, s.code.Rebuild(t.Context(), s.sources(t, 1), lost))
	s.requireRebuilt(t, []int{1}, out)
}

func TestRebuildOnlyWhatIsWanted(t *testing.T) {
	s := newSet(t, random(t), Layout{5, 2, 64}, []int64{500, 1000, 20, 700, 699})
	// Two lost, one wanted; of another one only the parity file is lost.
	sources := s.sources(t, 1, 2)
	lost, out := s.want(t, 2)
	require.NoError(t, s.code.Rebuild(t.Context(), sources, lost))
	s.requireRebuilt(t, []int{2}, out)

	sources = s.sources(t)
	sources[4].Parity = nil
	lost, out = s.want(t, 4)
	lost[0].Part = nil
	require.NoError(t, s.code.Rebuild(t.Context(), sources, lost))
	require.Equal(t, s.files[4], out[0].parity.Bytes())
}

// More than m members: a typed error that says which, and where.
func TestTooManyLost(t *testing.T) {
	s := newSet(t, random(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	lost, _ := s.want(t, 0)
	err := s.code.Rebuild(t.Context(), s.sources(t, 0, 2), lost)
	var loss *LossError
	require.ErrorAs(t, err, &loss)
	require.Equal(t, []int{0, 2}, loss.Missing)
	require.ErrorIs(t, err, ErrTooManyLost)
	require.NotErrorIs(t, err, ErrDamaged)
}

// parityBlock returns where a parity block is in the file of its holder.
func (s *set) parityBlock(t *testing.T, holder int, stripe int64) (offset int64, n int) {
	p := s.open(t, holder)
	bytes, blocks := p.plan.ParityBefore(holder, stripe)
	return p.blocks + bytes + 4*blocks, p.plan.StripeLen(stripe)
}

// A damaged parity block is found, and is one more loss in its stripe alone.
func TestDamagedParityBlock(t *testing.T) {
	rng := random(t)
	l := Layout{5, 2, 64}
	s := newSet(t, rng, l, []int64{640, 900, 64, 0, 800})
	plan := s.open(t, 0).Plan()
	for stripe, n := range plan.All() {
		for row := range l.Parity {
			holder := l.Holder(stripe, row)
			offset, _ := s.parityBlock(t, holder, stripe)
			s.files[holder][offset+int64(rng.IntN(n+4))] ^= 1 << rng.IntN(8)
			err := s.open(t, holder).Verify(t.Context())
			require.ErrorIs(t, err, ErrDamaged)
			for other := range plan.ParityStripes(holder) {
				err := s.open(t, holder).ReadBlock(other, make([]byte, plan.StripeLen(other)))
				require.Equal(t, other == stripe, errors.Is(err, ErrDamaged), "stripe %d damaged, %d read", stripe, other)
			}
		}
		// One parity is damaged (both, but the second is mended): any one lost
		// member is still rebuilt.
		second := l.Holder(stripe, 1)
		mended := newSetLike(t, s)
		s.files[second] = mended.files[second]
		for member := range l.Members {
			lost, out := s.want(t, member)
			require.NoError(t, s.code.Rebuild(t.Context(), s.sources(t, member), lost))
			require.Equal(t, s.parts[member], append([]byte{}, out[0].part.Bytes()...))
			require.Equal(t, mended.files[member], out[0].parity.Bytes())
		}
		s.files = mended.files
	}
}

// newSetLike encodes the same parts again.
func newSetLike(t *testing.T, s *set) *set {
	again := &set{code: s.code, parts: s.parts, header: s.header, after: s.after}
	again.encode(t)
	return again
}

// Where a damaged block is one loss too many, the error says why.
func TestDamageThatIsTooMuch(t *testing.T) {
	s := newSet(t, random(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	offset, _ := s.parityBlock(t, 2, 2)
	s.files[2][offset] ^= 1
	lost, _ := s.want(t, 0)
	err := s.code.Rebuild(t.Context(), s.sources(t, 0), lost)
	var loss *LossError
	require.ErrorAs(t, err, &loss)
	require.Equal(t, int64(2), loss.Stripe)
	require.Equal(t, []int{0, 2}, loss.Missing)
	require.ErrorIs(t, err, ErrDamaged)
	// What stripe 2 is not needed for is rebuilt all the same.
	lost, out := s.want(t, 2)
	require.NoError(t, s.code.Rebuild(t.Context(), s.sources(t, 2), lost))
	s.files = newSetLike(t, s).files
	s.requireRebuilt(t, []int{2}, out)
}

// failingAt fails reads that touch one byte, with an error of its own.
type failingAt struct {
	io.ReaderAt
	at  int64
	err error
}

func (f failingAt) ReadAt(p []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(p)) {
		return 0, f.err
	}
	return f.ReaderAt.ReadAt(p, off)
}

// A part that cannot be read in one place counts as lost there alone.
func TestPartThatFailsInPlaces(t *testing.T) {
	broken := errors.New("checksum of a chunk")
	s := newSet(t, random(t), Layout{4, 2, 64}, []int64{640, 640, 640, 640})
	sources := s.sources(t, 0)
	sources[1].Part = failingAt{sources[1].Part, 70, broken}
	sources[2].Part = failingAt{sources[2].Part, 300, broken}
	lost, out := s.want(t, 0)
	require.NoError(t, s.code.Rebuild(t.Context(), sources, lost))
	s.requireRebuilt(t, []int{0}, out)

	one := newSet(t, random(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	sources = one.sources(t, 0)
	sources[1].Part = failingAt{sources[1].Part, 70, broken}
	lost, _ = one.want(t, 0)
	err := one.code.Rebuild(t.Context(), sources, lost)
	require.ErrorIs(t, err, ErrTooManyLost)
	require.ErrorIs(t, err, broken)

	sources[1].Part = bytes.NewReader(one.parts[1][:100]) // shorter than it was
	lost, _ = one.want(t, 0)
	require.ErrorIs(t, one.code.Rebuild(t.Context(), sources, lost), io.ErrUnexpectedEOF)
}

// Wrong data that nobody noticed does not come back as a good part, nor as good
// parity, and it is said whose it is.
func TestWrongDataIsNoticed(t *testing.T) {
	s := newSet(t, random(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	for at := range s.parts[3] {
		sources := s.sources(t, 0)
		wrong := slices.Clone(s.parts[3])
		wrong[at] ^= 1
		sources[3].Part = bytes.NewReader(wrong)
		lost, _ := s.want(t, 0)
		err := s.code.Rebuild(t.Context(), sources, lost)
		require.Equal(t, &PartError{Member: 3, Got: checksum(wrong), Want: s.after.Digests[3]}, err)
		require.ErrorIs(t, err, ErrDamaged)
	}
	// Not all of the sources is read where only a part is wanted.
	found := 0
	for at := range s.parts[3] {
		sources := s.sources(t, 0)
		wrong := slices.Clone(s.parts[3])
		wrong[at] ^= 1
		sources[3].Part = bytes.NewReader(wrong)
		lost, out := s.want(t, 0)
		lost[0].Parity = nil
		err := s.code.Rebuild(t.Context(), sources, lost)
		if err != nil {
			var part *PartError
			require.ErrorAs(t, err, &part)
			require.Equal(t, PartError{Member: 0, Rebuilt: true, Got: part.Got, Want: s.after.Digests[0]}, *part)
			found++
			continue
		}
		require.Equal(t, s.parts[0], out[0].part.Bytes())
	}
	require.Greater(t, found, 300)
}

func TestRebuildBlocks(t *testing.T) {
	s := newSet(t, random(t), Layout{4, 1, 64}, []int64{640, 333, 640, 1})
	sources := s.sources(t)
	sources[1].Part = nil
	var out bytes.Buffer
	require.NoError(t, s.code.RebuildBlocks(t.Context(), sources, 1, 2, 6, &out))
	require.Equal(t, s.parts[1][128:], out.Bytes())
	require.ErrorIs(t, s.code.RebuildBlocks(t.Context(), sources, 1, 2, 7, &out), ErrInvalid)
	require.ErrorIs(t, s.code.RebuildBlocks(t.Context(), s.sources(t), 1, 2, 3, &out), ErrInvalid)
}

func TestFilesThatDoNotBelongTogether(t *testing.T) {
	rng := random(t)
	l, sizes := Layout{3, 1, 64}, []int64{100, 200, 300}
	s := newSet(t, rng, l, sizes)
	other := newSet(t, rng, l, sizes) // other bytes
	fails := func(change func(sources []Source, lost []Lost) []Lost) error {
		sources := s.sources(t, 0)
		lost, _ := s.want(t, 0)
		lost = change(sources, lost)
		return s.code.Rebuild(t.Context(), sources, lost)
	}
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost { so[1].Parity = other.open(t, 1); return lo }), ErrMismatch)
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost { so[1].Parity = s.open(t, 2); return lo }), ErrMismatch)
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost {
		w, err := NewParityWriter(io.Discard, Header{Layout: l, Identity: []byte("other")})
		require.NoError(t, err)
		lo[0].Parity = w
		return lo
	}), ErrMismatch)
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost { so[1].Parity, so[2].Parity = nil, nil; return lo }), ErrInvalid)
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost { lo[0].Member = 3; return lo }), ErrInvalid)
	require.ErrorIs(t, fails(func(so []Source, lo []Lost) []Lost { so[0].Part = so[1].Part; return lo }), ErrInvalid)
	require.ErrorIs(t, s.code.Rebuild(t.Context(), nil, nil), ErrInvalid)
	wide, err := NewCode(Layout{3, 1, 65})
	require.NoError(t, err)
	lost, _ := s.want(t, 0)
	require.ErrorIs(t, wide.Rebuild(t.Context(), s.sources(t, 0), lost), ErrMismatch)
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestRebuildEndsEarly(t *testing.T) {
	s := newSet(t, random(t), Layout{3, 1, 64}, []int64{100, 200, 300})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lost, _ := s.want(t, 0)
	require.ErrorIs(t, s.code.Rebuild(ctx, s.sources(t, 0), lost), context.Canceled)
	full := errors.New("no space")
	lost[0].Part = failingWriter{full}
	require.ErrorIs(t, s.code.Rebuild(t.Context(), s.sources(t, 0), lost), full)
}
