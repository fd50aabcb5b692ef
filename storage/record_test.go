package storage_test

import (
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
