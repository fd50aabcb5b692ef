package cptypes_test

import (
	"bufio"
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// Itself is a Value that others embed.
type (
	Itself struct{ itself }
	// CellOf stores the text of its number.
	CellOf[T ~int32] struct{ N T }
	// Shown is a Value that also shows its memory.
	Shown struct{ itself }
)

func (v *Itself) WriteTo(w io.Writer) (int64, error)    { return v.itself.WriteTo(w) }
func (v *Itself) ReadFrom(r io.Reader) (int64, error)   { return v.itself.ReadFrom(r) }
func (v *CellOf[T]) WriteTo(w io.Writer) (int64, error) { return (&itself{string(v.N)}).WriteTo(w) }
func (v *Shown) WriteTo(w io.Writer) (int64, error)     { return v.itself.WriteTo(w) }
func (v *Shown) ReadFrom(r io.Reader) (int64, error)    { return v.itself.ReadFrom(r) }
func (v *Shown) Spans() (spans [][]byte, ok bool)       { return [][]byte{[]byte(v.text)}, true }
func (v *Shown) Size() int64                            { return int64(len(v.text)) }
func (v *CellOf[T]) ReadFrom(r io.Reader) (int64, error) {
	var x itself
	n, err := x.ReadFrom(r)
	v.N = T([]rune(x.text)[0])
	return n, err
}

type (
	// state lacks both methods, beyond is one deeper, half declares one of them.
	state struct {
		Itself
		Energy float64
	}
	beyond struct {
		state
		M int
	}
	half struct {
		Itself
		N int32
	}
	byPointer struct {
		*Itself
		Energy float64
	}
	byValue struct {
		CellOf[int32]
		Energy float64
	}
	halfMarshals struct {
		Marshals
		N int
	}
	Marshals struct{ B []byte }
	halfGob  struct {
		Gobs
		N int
	}
	Gobs struct{ B []byte }
)

func (v *half) WriteTo(w io.Writer) (int64, error)     { return (&itself{v.text + "!"}).WriteTo(w) }
func (v *Marshals) MarshalBinary() ([]byte, error)     { return v.B, nil }
func (v *Marshals) UnmarshalBinary(b []byte) error     { v.B = bytes.Clone(b); return nil }
func (v *halfMarshals) MarshalBinary() ([]byte, error) { return append(v.B, byte(v.N)), nil }
func (v *Gobs) GobEncode() ([]byte, error)             { return v.B, nil }
func (v *Gobs) GobDecode(b []byte) error               { v.B = bytes.Clone(b); return nil }
func (v *halfGob) GobEncode() ([]byte, error)          { return append(v.B, byte(v.N)), nil }

var _ gob.GobDecoder = (*halfGob)(nil)

// copies stores a variable and reads it into a new one.
func copies[T any](t *testing.T, in T) {
	t.Helper()
	var out T
	load(t, bytesOf(t, &in), &out)
	require.Equal(t, in, out)
	within, back := []T{in}, []T(nil)
	load(t, bytesOf(t, &within), &back)
	require.Equal(t, within, back)
}

// What is embedded in a struct is not all of it, whether it stores itself or not.
func TestEmbeddedValueDoesNotSwallowTheRest(t *testing.T) {
	lattice := Itself{itself{"+--+"}}
	copies(t, state{lattice, 42})
	copies(t, beyond{state{lattice, 42}, 7})
	copies(t, half{lattice, 7})
	copies(t, byPointer{&lattice, 42})
	copies(t, byPointer{Energy: 42})
	copies(t, byValue{CellOf[int32]{'x'}, 42})
	copies(t, halfMarshals{Marshals{[]byte("abc")}, 3})
	copies(t, halfGob{Gobs{[]byte("abc")}, 3})
	copies(t, CellOf[int32]{'x'}) // a Value by itself

	stored := cptypes.Desc{Elem: container.Opaque, Type: "cptypes_test.state"} // its embedded part alone
	require.ErrorIs(t, of(t, &state{}).(cptypes.Resizer).Resize(stored), cptypes.ErrMismatch)
	require.Equal(t, "\xe2\x82\xac", string(bytesOf(t, &CellOf[int32]{'€'})))
}

func TestWhatIsEmbeddedIsNotDrained(t *testing.T) {
	var b struct {
		bytes.Buffer
		Lines int
	}
	b.WriteString("line\n")
	for _, v := range []any{
		&b,
		&struct {
			*bytes.Buffer
			Lines int
		}{&b.Buffer, 1},
		&struct{ *bufio.ReadWriter }{},
		&struct{ *os.File }{},
		&struct{ cptypes.Value }{&b.Buffer},
		struct{ cptypes.Value }{struct{ cptypes.Value }{&b.Buffer}},
	} {
		_, err := cptypes.Of(v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported)
		require.ErrorContains(t, err, "drain")
	}
	require.Equal(t, "line\n", b.String())
}

// decorator adds a method to any Value; over is around one.
type (
	decorator struct {
		cptypes.Value
		updates int
	}
	over  struct{ *decorator }
	reads struct {
		cptypes.Value
		prefix string
	}
)

func (d *decorator) Update() error { d.updates++; return nil }
func (v *reads) WriteTo(w io.Writer) (int64, error) {
	return (&itself{v.prefix + "-"}).WriteTo(w)
}

func TestDecoratedValueIsTaken(t *testing.T) {
	inner := &itself{"x"}
	for _, v := range []any{
		&decorator{Value: inner}, decorator{Value: inner}, over{&decorator{Value: inner}}, &over{&decorator{Value: inner}},
		&reads{Value: inner}, struct{ cptypes.Value }{struct{ cptypes.Value }{inner}}, &struct{ cptypes.Value }{of(t, &state{})},
	} {
		got, err := cptypes.Of(v)
		require.NoError(t, err)
		require.Equal(t, v, got)
	}
	for _, c := range []struct {
		v    any
		is   error
		text string
	}{
		{&decorator{}, cptypes.ErrNil, "*cptypes_test.decorator has WriteTo from the embedded cptypes.Value, which is nil"},
		{&decorator{Value: (*itself)(nil)}, cptypes.ErrNil, "which is nil"},
		{over{}, cptypes.ErrNil, "cptypes_test.over has WriteTo from the embedded cptypes.Value, which is nil"},
		{&reads{}, cptypes.ErrNil, "*cptypes_test.reads has ReadFrom from the embedded cptypes.Value, which is nil"},
		{&decorator{Value: &state{}}, cptypes.ErrUnsupported, "*cptypes_test.state within another value: it has WriteTo from the embedded cptypes_test.Itself"},
		{&decorator{Value: &half{}}, cptypes.ErrUnsupported, "*cptypes_test.half within another value: it has ReadFrom from"},
	} {
		got, err := cptypes.Of(c.v)
		require.Nil(t, got)
		require.ErrorIs(t, err, c.is, "%T", c.v)
		require.ErrorContains(t, err, c.text)
	}
}

// A struct that cannot be stored field by field either says what its methods lack.
func TestEmbeddedValueBesideWhatCannotBeStored(t *testing.T) {
	for _, c := range []struct {
		v    any
		text string
	}{
		{&struct {
			Itself
			hidden int
		}{}, "hidden is unexported"},
		{&struct{ *itself }{}, "itself is unexported"},
	} {
		_, err := cptypes.Of(c.v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported)
		require.ErrorContains(t, err, c.text)
		require.ErrorContains(t, err, "a type that declares both is stored by them")
	}
	_, err := cptypes.Of(byPointer{&Itself{}, 1})
	require.ErrorContains(t, err, "byPointer: give its address")

	type registered struct {
		Itself
		hidden int
	}
	cptypes.UnregisterAfter[registered](t)
	require.NoError(t, cptypes.Register(func(v *registered) cptypes.Value { return &itself{"all"} }))
	require.Equal(t, "all", string(bytesOf(t, &registered{hidden: 1})))
}

// more stores what its embedded Value does not, tells says so.
type (
	more struct {
		Shown
		N byte
	}
	tells struct{ more }
)

func (v *more) WriteTo(w io.Writer) (int64, error) {
	return (&itself{v.text + string(rune(v.N))}).WriteTo(w)
}
func (v *more) ReadFrom(r io.Reader) (int64, error)  { return 0, errors.New("not read here") }
func (v *tells) WriteTo(w io.Writer) (int64, error)  { return v.more.WriteTo(w) }
func (v *tells) ReadFrom(r io.Reader) (int64, error) { return v.more.ReadFrom(r) }
func (v *tells) Spans() ([][]byte, bool)             { return nil, false }
func (v *tells) Size() int64                         { return v.Shown.Size() + 1 }

// The Spans of an embedded Value would be written in place of all of it.
func TestAbilitiesOfWhatIsEmbedded(t *testing.T) {
	for _, v := range []any{&more{}, &[]more{}, &map[int]more{}} {
		_, err := cptypes.Of(v)
		require.ErrorIs(t, err, cptypes.ErrUnsupported)
		require.ErrorContains(t, err, "*cptypes_test.more: it has Size from the embedded cptypes_test.Shown, which tells of that alone: declare Size too")
	}
	_, err := cptypes.Of(&tells{})
	require.NoError(t, err)
}

// Fetched fetches, without code to store itself; FetchedValue has that.
type (
	Fetched      struct{ Calls int }
	FetchedValue struct {
		itself
		Calls *int
	}
)

func (f *Fetched) Update() error                            { f.Calls++; return nil }
func (f *FetchedValue) Update() error                       { *f.Calls++; return nil }
func (f *FetchedValue) WriteTo(w io.Writer) (int64, error)  { return f.itself.WriteTo(w) }
func (f *FetchedValue) ReadFrom(r io.Reader) (int64, error) { return f.itself.ReadFrom(r) }

func write(t *testing.T, v any) {
	value := of(t, v)
	if u, ok := value.(cptypes.Updater); ok {
		require.NoError(t, u.Update())
	}
	_, err := value.WriteTo(new(bytes.Buffer))
	require.NoError(t, err)
}

// Whatever is stored field by field is updated once by what is embedded in it.
func TestUpdateOfWhatIsEmbedded(t *testing.T) {
	var own struct {
		Fetched
		N int
	}
	write(t, &own)
	require.Equal(t, 1, own.Calls)

	byPointer := struct {
		*Fetched
		N int
	}{}
	write(t, &byPointer)
	byPointer.Fetched = new(Fetched)
	write(t, &byPointer)
	require.Equal(t, 1, byPointer.Calls)

	calls := 0
	inside := struct {
		*FetchedValue
		N int
	}{}
	write(t, &inside)
	inside.FetchedValue = &FetchedValue{Calls: &calls}
	write(t, &inside)
	require.Equal(t, 1, calls)

	left := struct {
		*FetchedValue `craft:"-"`
		N             int
	}{FetchedValue: inside.FetchedValue}
	write(t, &left)
	require.Equal(t, 2, calls)
	left.FetchedValue = nil
	write(t, &left)
}
