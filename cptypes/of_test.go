package cptypes_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/cptypes/cptypestest"
	"github.com/craft-go/craft/storage/container"
)

// itself implements Value on its pointer: the first of the three ways.
type itself struct{ text string }

func (v *itself) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, v.text)
	return int64(n), err
}

func (v *itself) ReadFrom(r io.Reader) (int64, error) {
	b, err := io.ReadAll(r)
	v.text = string(b)
	return int64(len(b)), err
}

// foreign stands for a type of somebody else's package, wrapped by an adapter:
// the second and third way.
type foreign struct{ text string }

type foreignValue struct{ *foreign }

func (v foreignValue) WriteTo(w io.Writer) (int64, error) { return (&itself{v.text}).WriteTo(w) }

func (v foreignValue) ReadFrom(r io.Reader) (int64, error) {
	x := itself{}
	n, err := x.ReadFrom(r)
	v.text = x.text
	return n, err
}

// marshals is an encoding.BinaryMarshaler that fetches its data first.
type marshals struct {
	b       []byte
	updates int
	err     error
}

func (m *marshals) MarshalBinary() ([]byte, error) { return m.b, m.err }
func (m *marshals) UnmarshalBinary(b []byte) error { m.b = bytes.Clone(b); return m.err }
func (m *marshals) Update() error                  { m.updates++; return m.err }

var registerForeign = sync.OnceValue(func() error {
	return cptypes.Register(func(v *foreign) cptypes.Value { return foreignValue{v} })
})

func TestUserTypes(t *testing.T) {
	require.NoError(t, registerForeign())
	random := func(rng *rand.Rand) string { return string(make([]byte, rng.IntN(100))) + "x" }
	t.Run("itself", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[itself]{
			ToEOF: true,
			Fill:  func(v *itself, rng *rand.Rand) { v.text = random(rng) },
		})
	})
	t.Run("wrapper", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[foreign]{
			ToEOF: true,
			Fill:  func(v *foreign, rng *rand.Rand) { v.text = random(rng) },
			Value: func(v *foreign) any { return foreignValue{v} },
		})
	})
	t.Run("adapter", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[foreign]{
			ToEOF: true,
			Fill:  func(v *foreign, rng *rand.Rand) { v.text = random(rng) },
		})
	})
	t.Run("replicated adapter", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[foreign]{
			ToEOF: true,
			Fill:  func(v *foreign, rng *rand.Rand) { v.text = random(rng) },
			Value: func(v *foreign) any { return cptypes.Replicated(v) },
		})
	})
	t.Run("marshaler", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[marshals]{
			ToEOF: true,
			Fill:  func(v *marshals, rng *rand.Rand) { v.b = []byte(random(rng)) },
			Equal: func(a, b *marshals) bool { return bytes.Equal(a.b, b.b) },
		})
	})
	t.Run("netip.Addr", func(t *testing.T) {
		cptypestest.Run(t, cptypestest.Case[netip.Addr]{
			ToEOF: true,
			Fill:  func(v *netip.Addr, rng *rand.Rand) { *v = netip.AddrFrom4([4]byte{1, 2, 3, byte(rng.Uint32())}) },
		})
	})
}

func TestMarshalerPassesUpdateAndErrors(t *testing.T) {
	m := &marshals{b: []byte("abc")}
	v, err := cptypes.Of(m)
	require.NoError(t, err)
	require.NoError(t, v.(cptypes.Updater).Update())
	require.Equal(t, 1, m.updates)
	require.Equal(t, cptypes.Desc{Elem: container.Opaque, Type: "cptypes_test.marshals"}, cptypes.DescOf(v))

	m.err = errors.New("no licence")
	_, err = v.WriteTo(io.Discard)
	require.ErrorIs(t, err, m.err)
	require.ErrorContains(t, err, "cptypes_test.marshals")
	_, err = v.ReadFrom(bytes.NewReader(nil))
	require.ErrorIs(t, err, m.err)

	v, err = cptypes.Of(new(netip.Addr))
	require.NoError(t, err)
	require.NoError(t, v.(cptypes.Updater).Update())
}

func TestOfErrors(t *testing.T) {
	require.NoError(t, registerForeign())
	var x int
	var nilWrapper *itself
	for _, c := range []struct {
		v    any
		is   error
		text string
	}{
		{nil, cptypes.ErrNil, "allowed is a pointer to a number"},
		{(*int)(nil), cptypes.ErrNil, "*int is nil"},
		{(*[]float64)(nil), cptypes.ErrNil, "*[]float64 is nil"},
		{nilWrapper, cptypes.ErrNil, "*cptypes_test.itself is nil"},
		{(*foreign)(nil), cptypes.ErrNil, "*cptypes_test.foreign is nil"},
		{x, cptypes.ErrUnsupported, "int: give its address, a *int"},
		{[]float64{1}, cptypes.ErrUnsupported, "[]float64: give its address"},
		{itself{}, cptypes.ErrUnsupported, "itself: give its address"},
		{foreign{}, cptypes.ErrUnsupported, "foreign: give its address"},
		{netip.Addr{}, cptypes.ErrUnsupported, "netip.Addr: give its address"},
		{struct{ A int }{}, cptypes.ErrUnsupported, "struct { A int }: give its address"},
		{map[string]int{}, cptypes.ErrUnsupported, "map[string]int: give its address"},
		{new(chan int), cptypes.ErrUnsupported, "*chan int"},
		{func() {}, cptypes.ErrUnsupported, "func()"},
		{new(func()), cptypes.ErrUnsupported, "*func()"},
		{new(any), cptypes.ErrUnsupported, "*interface {}"},
		{new(*any), cptypes.ErrUnsupported, "interface {}"},
		{new(map[string]any), cptypes.ErrUnsupported, "interface {}"},
		{new([3]func()), cptypes.ErrUnsupported, "func()"},
		{new(bytes.Buffer), cptypes.ErrUnsupported, "drain"},
		{new(bufio.ReadWriter), cptypes.ErrUnsupported, "drain"},
		{os.Stdin, cptypes.ErrUnsupported, "drain"},
	} {
		v, err := cptypes.Of(c.v)
		require.Nil(t, v, "%T", c.v)
		require.ErrorIs(t, err, c.is, "%T", c.v)
		require.ErrorContains(t, err, c.text)
	}
}

func TestRegisterErrors(t *testing.T) {
	require.NoError(t, registerForeign())
	require.ErrorIs(t, cptypes.Register(func(v *foreign) cptypes.Value { return foreignValue{v} }), cptypes.ErrRegistered)
	require.ErrorIs(t, cptypes.Register(func(v *itself) cptypes.Value { return v }), cptypes.ErrRegistered)
	require.ErrorIs(t, cptypes.Register[os.Process](nil), cptypes.ErrNil)

	type returnsNil struct{}
	cptypes.UnregisterAfter[returnsNil](t)
	require.NoError(t, cptypes.Register(func(*returnsNil) cptypes.Value { return nil }))
	_, err := cptypes.Of(&returnsNil{})
	require.ErrorIs(t, err, cptypes.ErrNil)
	type returnsInvalid struct{ v []int }
	cptypes.UnregisterAfter[returnsInvalid](t)
	require.NoError(t, cptypes.Register(func(v *returnsInvalid) cptypes.Value { return cptypes.Partitioned(&v.v, 3, 1, 2) }))
	_, err = cptypes.Of(&returnsInvalid{})
	require.ErrorIs(t, err, cptypes.ErrBox)
}

// Concurrent registration: exactly one wins, and everybody can use it.
func TestRegisterConcurrently(t *testing.T) {
	type local struct{ X int }
	cptypes.UnregisterAfter[local](t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			errs[i] = cptypes.Register(func(v *local) cptypes.Value { return foreignValue{} })
			_, err := cptypes.Of(&local{})
			if err != nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			require.ErrorIs(t, err, cptypes.ErrRegistered)
		}
	}
	require.Equal(t, 1, won)
}
