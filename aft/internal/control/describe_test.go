package control

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
)

// full is a message with something in every field of every type, no two numbers or texts alike.
func full() (m Message) {
	next := int64(100)
	fill(reflect.ValueOf(&m).Elem(), &next)
	return m
}

func fill(v reflect.Value, next *int64) {
	*next++
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), next)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), next)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), next)
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-*next)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(*next))
	case reflect.String:
		switch v.Type() {
		case reflect.TypeFor[Kind]():
			v.SetString(string(KindOutlived))
		case reflect.TypeFor[Op]():
			v.SetString(string(OpSplit))
		default:
			v.SetString(fmt.Sprintf("\xff%d\n", *next))
		}
	default:
		panic("a kind of field that no message has had: " + v.Type().String())
	}
}

// TestEveryFieldTravels: a field that describe.go leaves out does not arrive.
func TestEveryFieldTravels(t *testing.T) {
	frame := framed(t, full())
	m, err := decode(frame[lengthBytes:])
	require.NoError(t, err)
	require.Equal(t, full(), m)
}

// TestEmptyFieldsTravel: what a pointer points to is there, also if it is zero; an empty list is none.
func TestEmptyFieldsTravel(t *testing.T) {
	for _, m := range []Message{
		{Kind: KindMade, Made: &Made{New: &Group{}, Change: &driver.Change{}, Outcome: &driver.Outcome{}}},
		{Kind: KindJoin, Joins: []Join{{Policy: &driver.Policy{}, Verdict: &driver.Verdict{}}, {}}},
		{Kind: KindSetup, Setup: &Setup{}, Start: make([]Start, 1)},
		{Kind: KindPulse, Pulse: &Pulse{}},
		{Kind: KindPeers, Peers: make([]Peer, 1000)},
	} {
		got, err := decode(framed(t, m)[lengthBytes:])
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	m := Message{Kind: KindSetup, To: []Proc{}, Peers: []Peer{}, Setup: &Setup{Secret: []byte{}, Env: Setup{}.Env[:0]}}
	got, err := decode(framed(t, m)[lengthBytes:])
	require.NoError(t, err)
	require.Equal(t, Message{Kind: KindSetup, Setup: &Setup{}}, got)
}

// TestEveryKindHasANumber, and is checked.
func TestEveryKindHasANumber(t *testing.T) {
	require.Equal(t, slices.Sorted(maps.Keys(checks)), slices.Sorted(slices.Values(kinds)))
}
