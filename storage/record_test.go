package storage_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// Which records say that only a nested checkpoint has a version.
func TestStoredInFirstStage(t *testing.T) {
	nested, named, empty, anew := storage.Record{NestedWritten: true}, storage.Record{Nested: []string{"inner"}}, storage.Record{}, storage.Record{Anew: "a"}
	for _, c := range []struct {
		runs []storage.Record
		want bool
	}{
		{nil, false},
		{[]storage.Record{empty}, false},
		{[]storage.Record{nested}, true},
		{[]storage.Record{named, empty}, true},
		{[]storage.Record{nested, anew}, false}, // and nothing of that is stored
		{[]storage.Record{empty, {Anew: "a", AnewStored: true}, anew}, false},
		{[]storage.Record{empty, {Anew: "a", AnewStored: true}}, true},
		{[]storage.Record{{LastWritten: 3, NestedWritten: true}}, false}, // it has, or has had, a version
		{[]storage.Record{nested, {LastWritten: 3}}, false},
	} {
		require.Equal(t, c.want, storage.StoredInFirstStage(c.runs), c.runs)
	}
}

// Which record, if any, says what goes on although no version of it is complete.
func TestBegunAnew(t *testing.T) {
	first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
	other, begun := storage.Record{LastWritten: 3}, storage.Record{Anew: second}
	stored := storage.Record{Anew: first, AnewStored: true}
	for _, c := range []struct {
		runs []storage.Record
		want bool
	}{
		{nil, false},
		{[]storage.Record{other, begun}, false}, // of an older program, or nothing is stored
		{[]storage.Record{other, stored}, true},
		{[]storage.Record{other, stored, begun}, true}, // the last one has stored nothing
		{[]storage.Record{stored, other}, false},       // a version is complete, or was restored
		{[]storage.Record{stored, other, begun}, false},
		{[]storage.Record{{Anew: first, AnewStored: true, LastWritten: 1}}, false},
		{[]storage.Record{{Anew: "?", AnewStored: true}}, false},
	} {
		r := storage.BegunAnew(c.runs)
		require.Equal(t, c.want, r != nil, c.runs)
		if r != nil {
			require.Equal(t, first, r.Anew)
		}
	}
}

// Starts of a job that were asked to end and have stored nothing new, in a row.
func TestFruitlessStarts(t *testing.T) {
	asked := func(recoveries int) storage.Record { return storage.Record{End: "end", Recoveries: recoveries} }
	stored, killed := storage.Record{End: "end", LastWritten: 3}, storage.Record{}
	for i, c := range []struct {
		runs     []storage.Record
		repaired bool
		n        int
	}{
		{nil, false, 0},
		{[]storage.Record{asked(0), asked(0)}, false, 2},
		{[]storage.Record{asked(0), stored, asked(0)}, false, 1},
		{[]storage.Record{asked(0), stored}, false, 0},
		{[]storage.Record{asked(0), killed, asked(0)}, false, 2},
		{[]storage.Record{asked(0), asked(1), asked(2)}, false, 1}, // one start, repaired twice
		{[]storage.Record{asked(0), asked(0), asked(1)}, true, 1},  // this is the second start
		{[]storage.Record{asked(0), asked(0)}, true, 1},
		{[]storage.Record{asked(0)}, true, 0},
		{[]storage.Record{{Recoveries: 0}, asked(1), asked(0)}, false, 2},
		{[]storage.Record{asked(0), {LastWritten: 3}, asked(1)}, false, 0}, // it has stored something before the repair
		{[]storage.Record{asked(0), {LastWritten: 3}, asked(1), asked(0)}, false, 1},
		{[]storage.Record{asked(0), asked(0), {End: "end", NestedWritten: true}, asked(0)}, false, 1},
		{[]storage.Record{asked(0), asked(0), {End: "end", StartWritten: true}, asked(0)}, false, 1},
		{[]storage.Record{asked(2), asked(0)}, false, 2}, // the oldest records are not kept
	} {
		require.Equal(t, c.n, storage.Fruitless(c.runs, storage.ID{}, c.repaired), i)
	}
}

// A version of which no record tells, because its run was killed before it knew, is told by what goes on from it.
func TestFruitlessStartsBehindAVersion(t *testing.T) {
	attempt := func(n byte) string { return hex.EncodeToString([]byte{0, 0, 0, 0, 0, 0, 0, n}) }
	asked := func(n, from byte) storage.Record {
		r := storage.Record{End: "end", Attempt: attempt(n)}
		if from > 0 {
			r.RestoredAttempt = attempt(from)
		}
		return r
	}
	runs := []storage.Record{asked(1, 0), asked(2, 0), asked(3, 2), asked(4, 0), asked(5, 2)}
	for origin, want := range map[byte]int{0: 3, 2: 3, 3: 2, 5: 0, 9: 3} {
		require.Equal(t, want, storage.Fruitless(runs, storage.ID{Version: 1, Attempt: [8]byte{7: origin}}, false), origin)
	}
	require.Equal(t, 3, storage.Fruitless(runs, storage.ID{}, false))
}
