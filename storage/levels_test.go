package storage_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/storagetest"
)

// twin survives what Volatile does, in the same place: nothing but the name tells them apart.
var twin = storage.Declare(storage.Level{Name: "twin", Tier: storage.TierNode, Redundancy: storage.Copies, Survives: storagetest.Volatile.Survives})

// TestDocumented: a level that users can ask for is in the pages that list them.
func TestDocumented(t *testing.T) {
	for page, form := range map[string]string{"storage.md": "| `%s` |", "cli.md": "`%s`", "environment.md": "%s:"} {
		text, err := os.ReadFile(filepath.Join("..", "docs", page))
		require.NoError(t, err)
		for _, l := range storage.Declared() {
			if l != twin && l != storagetest.Volatile {
				row := fmt.Sprintf(form, l.Name)
				require.True(t, strings.Contains(string(text), row), "docs/%s lists the levels, without %q", page, row)
			}
		}
	}
}

func TestCovers(t *testing.T) {
	covers := func(a, b storage.Level) bool { return a.Covers(b) }
	chain := []storage.Level{{}, storage.Local, storage.Partner, storage.XOR, storage.RS, storage.PFS}
	for i, a := range chain {
		for j, b := range chain {
			require.Equal(t, i >= j, covers(a, b), "%v covers %v", a, b)
		}
	}
	for i, l := range chain[1:] {
		require.Equal(t, i > 0, covers(l, storagetest.Volatile), l)
		require.False(t, covers(storagetest.Volatile, l), l)
	}
}

func TestLevels(t *testing.T) {
	of := storage.LevelsOf
	require.Equal(t, "captured", of().String())
	require.Equal(t, "captured", storage.Level{}.String())
	require.Equal(t, of(storage.RS), of(storage.Local, storage.RS, storage.XOR, storage.Level{}))
	require.Equal(t, "rs,pfs", of(storage.PFS, storage.RS).String(), "they are on two tiers")
	require.Equal(t, of(storage.RS), of(storage.RS, storage.PFS).BelowHome())
	require.True(t, of(storage.RS, storage.PFS).AtHome())
	require.Equal(t, "local,volatile", of(storagetest.Volatile, storage.Local).String())
	require.Equal(t, of(storage.Local), of(storage.XOR).And(of(storage.Local)))
	require.Zero(t, of(storage.Local).And(of(storagetest.Volatile)), "nothing is both")
	require.Zero(t, of(storage.RS).And(of(storage.PFS)), "of two places neither has all")
	require.Equal(t, "twin", of(twin).String(), "what makes the other one does not make it")
	require.Equal(t, "volatile,twin", of(twin, storagetest.Volatile).String())
	require.Equal(t, of(storage.Partner), of(twin, storagetest.Volatile, storage.Partner))
	require.Equal(t, of(twin).Promises(), of(storagetest.Volatile).Promises())
	require.True(t, of(storage.RS, storage.PFS).Include(of(storage.Partner)))
	require.False(t, of(storage.PFS).Include(of(storage.Local)))
	require.True(t, of(storage.PFS).Covers(storage.Local))
	require.True(t, of().Covers(storage.Level{}))
}

// And and With are a lattice: the ranks may be reduced in any order.
func TestLevelsAreALattice(t *testing.T) {
	rng := testseed.Rand(t)
	for range 2000 {
		a, b, c := someLevels(rng), someLevels(rng), someLevels(rng)
		require.Equal(t, a, a.And(a))
		require.Equal(t, a, a.With(a))
		require.Equal(t, a.And(b), b.And(a))
		require.Equal(t, a.And(b).And(c), a.And(b.And(c)))
		require.Equal(t, a.With(b).With(c), a.With(b.With(c)))
		require.Equal(t, a, a.And(a.With(b)))
		require.Equal(t, a, a.With(a.And(b)))
		require.True(t, a.Include(a.And(b)) && a.With(b).Include(a))
		require.Equal(t, a.Include(b), a.With(b) == a)
		require.Equal(t, a.And(b), storage.FromMissing(larger(a.Missing(), b.Missing())))
		for _, l := range storage.Declared() {
			require.Equal(t, a.With(b).Covers(l), a.Covers(l) || b.Covers(l))
		}
		// A version may refer to one whose promises are all of its own.
		require.Equal(t, a.Promises()&^b.Promises() == 0, !anyLevel(func(l storage.Level) bool { return a.Covers(l) && !b.Covers(l) }))
		text, err := a.MarshalText()
		require.NoError(t, err)
		var back storage.Levels
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, a, back)
	}
}

func someLevels(rng *rand.Rand) storage.Levels {
	var some []storage.Level
	for _, l := range storage.Declared() {
		if rng.IntN(3) == 0 {
			some = append(some, l)
		}
	}
	return storage.LevelsOf(some...)
}

func larger(a, b []int64) (out []int64) {
	for i := range a {
		out = append(out, max(a[i], b[i]))
	}
	return out
}

func anyLevel(is func(storage.Level) bool) bool {
	for _, l := range storage.Declared() {
		if is(l) {
			return true
		}
	}
	return false
}

// What a header says of its levels: to this program by their names, to older ones by the
// level byte, which means what it has always meant.
func TestPlanned(t *testing.T) {
	of := storage.LevelsOf
	for _, c := range []struct {
		plan  storage.Levels
		level uint8
		flush bool
		names string
	}{
		{of(storage.PFS), 0, false, ""},
		{of(storage.Local), 1, false, "local"},
		{of(storage.Partner, storage.PFS), 2, true, "partner"},
		{of(storage.XOR), 3, false, "xor"},
		{of(storage.RS, storage.PFS), 4, true, "rs"},
		{of(storagetest.Volatile), 1, false, "volatile"},
		{of(storage.Local, storagetest.Volatile, storage.PFS), 1, true, "local,volatile"},
	} {
		var h container.Header
		storage.SetPlanned(&h, c.plan)
		names, _ := h.Fields.Get(container.FieldLevels)
		require.Equal(t, []any{c.level, c.flush, c.names}, []any{h.Level, h.Flush, string(names)}, c.plan)
		require.Equal(t, c.plan, storage.Planned(h))

		h.Fields = nil // as an older program writes it
		if !strings.Contains(c.names, "volatile") {
			require.Equal(t, c.plan, storage.Planned(h))
		}
	}
	unknown := container.Header{Level: 1}
	unknown.Fields = unknown.Fields.With(container.FieldLevels, []byte("hologram,local"))
	require.Equal(t, of(storage.Local), storage.Planned(unknown), "a newer program knows more levels")
	require.Equal(t, of(storage.PFS), storage.Planned(container.Header{Level: 77}))
}

func TestDeclare(t *testing.T) {
	for _, name := range []string{"", "two,words", "a:b", "LOCAL", "captured"} {
		require.Panics(t, func() { storage.Declare(storage.Level{Name: name, Tier: storage.TierNode}) }, name)
	}
	require.Panics(t, func() { storage.Declare(storage.Level{Name: "nowhere"}) })
}
