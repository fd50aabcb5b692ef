package checkpoint

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/container"
)

// What encoding/json leaves out of a fingerprint without a word is refused.
func TestFingerprintOfWhatIsNotEncoded(t *testing.T) {
	type hidden struct{ nx int }
	type embeds struct {
		hidden
		NY int
	}
	type twice struct {
		N int
		B int `json:"N"`
	}
	type chosen struct {
		N     int
		cache int `craft:"-"`
		Skip  int `json:"-"`
	}
	type exported struct{ N int }
	type promotes struct{ exported }
	type stamp struct{ time.Time }
	type dated struct {
		time.Time
		N int
	}
	type count int
	type flags struct{ count }
	type other struct{ N int }
	type shadows struct {
		exported
		N int
	}
	type clash struct {
		exported
		*other
	}
	type loop struct {
		*loop
		N int
	}
	type oddTag struct {
		//lint:ignore SA5008 it is what such a tag does that is tested
		N int `json:"a\\b"`
		B int `json:"N"`
	}
	var none *chosen
	for name, c := range map[string]struct {
		problem any
		text    string // of the error; "": none
	}{
		"unexported":            {hidden{4}, "fingerprint.nx"},
		"pointer":               {&hidden{4}, "fingerprint.nx"},
		"embedded":              {embeds{hidden: hidden{4}}, "fingerprint.hidden.nx"},
		"in a map":              {map[string]any{"grid": []hidden{{1}}}, "fingerprint[grid][0].nx"},
		"one name twice":        {twice{}, `"N"`},
		"nil":                   {none, "nil"},
		"of a pointer's method": {*big.NewInt(4), "fingerprint.neg"},
		"its pointer":           {big.NewInt(4), ""},
		"in its pointer":        {&struct{ N big.Int }{}, ""},
		"text":                  {struct{ When time.Time }{}, ""},
		"left out by tags":      {chosen{N: 1, cache: 2}, ""},
		"promoted":              {promotes{exported{3}}, ""},
		"nil inside":            {struct{ Next *hidden }{}, ""},
		"shadowed":              {shadows{}, `fingerprint.exported.N and fingerprint.N are both encoded as "N"`},
		"in two embedded ones":  {clash{}, `fingerprint.exported.N and fingerprint.other.N are both encoded as "N"`},
		"embedded number":       {flags{1}, "fingerprint.count is unexported"},
		"embedded in itself":    {loop{loop: &loop{}}, "fingerprint.loop is left out"},
		"nil of itself":         {loop{}, ""},
		"odd tag":               {oddTag{}, `fingerprint.N and fingerprint.B are both encoded as "N"`},
		"method of embedded":    {dated{}, "its other fields are left out"},
		"its pointer, embedded": {map[string]any{"when": &dated{}}, "fingerprint[when]: "},
		"only embedded":         {stamp{}, ""},
		"not UTF-8":             {struct{ Name string }{"\xff"}, `fingerprint.Name is "\xff"`},
		"key not UTF-8":         {map[string]int{"\xff": 1}, "not UTF-8"},
	} {
		_, err := New("test", nil, WithPath(t.TempDir()), WithFingerprint(c.problem))
		if c.text == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, ErrArgument, name)
		require.ErrorContains(t, err, c.text, name)
	}
}

// TestFingerprintThatIsTooLong is refused before the program has computed anything.
func TestFingerprintThatIsTooLong(t *testing.T) {
	ofData(t)
	_, err := New("test", nil, WithPath(t.TempDir()), WithFingerprint(strings.Repeat("x", container.MaxFingerprint)))
	require.ErrorIs(t, err, ErrArgument)
	require.ErrorContains(t, err, "allowed: up to 1048576")
	cp := withValue(t, "test", new(int), WithPath(t.TempDir()), WithFingerprint(strings.Repeat("x", container.MaxFingerprint-100)))
	require.NoError(t, cp.Write(t.Context()))
	require.NoError(t, cp.Close())
}
