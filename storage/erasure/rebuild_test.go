package erasure

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
)

// All losses of up to m members, of parts of random uneven sizes: parts come back
// bit for bit.
func TestRebuildAllLosses(t *testing.T) {
	rng := testseed.Rand(t)
	eachLayout(64, func(l Layout) {
		sizes := unevenSizes(rng, l)
		s := newSet(t, rng, l, sizes)
		for i := range s.files {
			require.NoError(t, s.open(t, i).Verify(t.Context()))
			require.Equal(t, s.after, s.open(t, i).parts)
		}
		t.Log(about(l, sizes))
		for _, members := range choices(l.Members, l.Parity) {
			s.requireRebuilt(t, s.sources(t, members...), members...)
		}
	})
}

func TestEmptySet(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{3, 1, 64}, []int64{0, 0, 0})
	s.requireRebuilt(t, s.sources(t, 1), 1)
}

// Where only the part of a member is lost, its parity file is not needed, but may
// be given.
func TestOnlyThePartIsLost(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{5, 2, 64}, []int64{500, 1000, 20, 700, 699})
	sources := s.sources(t, 1)
	sources[2].part = nil
	s.requireRebuilt(t, sources, 1, 2)
}

// An empty part is not needed.
func TestAnEmptyPartIsNotMissed(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{4, 1, 64}, []int64{640, 640, 640, 0})
	sources := s.sources(t, 0)
	sources[3].part = nil
	s.requireRebuilt(t, sources, 0)
}

// More than m members: a typed error that says which, and where.
func TestTooManyLost(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	err := s.rebuild(t.Context(), s.sources(t, 0, 2), 0, io.Discard)
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
	rng := testseed.Rand(t)
	l := Layout{5, 2, 64}
	s := newSet(t, rng, l, []int64{640, 900, 64, 0, 800})
	plan := s.open(t, 0).plan
	for stripe := range plan.Stripes() {
		n := plan.StripeLen(stripe)
		if n == 0 {
			continue
		}
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
		// One parity is damaged (both, but the second is repaired): any one lost
		// member is still rebuilt.
		second := l.Holder(stripe, 1)
		repaired := newSetLike(t, s)
		s.files[second] = repaired.files[second]
		for member := range l.Members {
			s.requireRebuilt(t, s.sources(t, member), member)
		}
		s.files = repaired.files
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
	s := newSet(t, testseed.Rand(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	offset, _ := s.parityBlock(t, 2, 2)
	s.files[2][offset] ^= 1
	err := s.rebuild(t.Context(), s.sources(t, 0), 0, io.Discard)
	var loss *LossError
	require.ErrorAs(t, err, &loss)
	require.Equal(t, int64(2), loss.Stripe)
	require.Equal(t, []int{0, 2}, loss.Missing)
	require.ErrorIs(t, err, ErrDamaged)
	// What stripe 2 is not needed for is rebuilt all the same.
	s.requireRebuilt(t, s.sources(t, 2), 2)
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
	s := newSet(t, testseed.Rand(t), Layout{4, 2, 64}, []int64{640, 640, 640, 640})
	sources := s.sources(t, 0)
	sources[1].part = failingAt{sources[1].part, 70, broken}
	sources[2].part = failingAt{sources[2].part, 300, broken}
	s.requireRebuilt(t, sources, 0)

	one := newSet(t, testseed.Rand(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	sources = one.sources(t, 0)
	sources[1].part = failingAt{sources[1].part, 70, broken}
	err := one.rebuild(t.Context(), sources, 0, io.Discard)
	require.ErrorIs(t, err, ErrTooManyLost)
	require.ErrorIs(t, err, broken)

	sources[1].part = bytes.NewReader(one.parts[1][:100]) // shorter than it was
	require.ErrorIs(t, one.rebuild(t.Context(), sources, 0, io.Discard), io.ErrUnexpectedEOF)
}

// Wrong data that nobody noticed does not come back as a good part.
func TestWrongDataIsNoticed(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{4, 1, 64}, []int64{640, 640, 640, 640})
	found := 0
	for at := range s.parts[3] {
		sources := s.sources(t, 0)
		wrong := slices.Clone(s.parts[3])
		wrong[at] ^= 1
		sources[3].part = bytes.NewReader(wrong)
		var out bytes.Buffer
		err := s.rebuild(t.Context(), sources, 0, &out)
		if err == nil { // what is wrong was not read
			require.Equal(t, s.parts[0], out.Bytes())
			continue
		}
		require.Equal(t, &PartError{Member: 0, Got: checksum(out.Bytes()), Want: s.after.Digests[0]}, err)
		require.ErrorIs(t, err, ErrDamaged)
		found++
	}
	require.Greater(t, found, 300)
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

func TestRebuildEndsEarly(t *testing.T) {
	s := newSet(t, testseed.Rand(t), Layout{3, 1, 64}, []int64{100, 200, 300})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.rebuild(ctx, s.sources(t, 0), 0, io.Discard), context.Canceled)
	full := errors.New("no space")
	require.ErrorIs(t, s.rebuild(t.Context(), s.sources(t, 0), 0, failingWriter{full}), full)
}
