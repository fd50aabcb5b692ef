package catalog

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// Without levels, versions are at home, or incomplete.
func TestRetention(t *testing.T) {
	v := func(n uint64) storage.ID { return storage.ID{Version: n} }
	whole := func(n uint64) storage.Entry {
		return storage.Entry{ID: v(n), Parts: []storage.Part{{Rank: 0, Size: 1}}}
	}
	half := func(n uint64) storage.Entry {
		return storage.Entry{ID: v(n), Parts: []storage.Part{{Rank: 0, Size: 2}}}
	}
	for _, c := range []struct {
		name    string
		policy  Retention
		entries []storage.Entry
		want    []storage.ID
	}{
		{"nothing", Retention{Keep: 2}, nil, nil},
		{"fewer than kept", Retention{Keep: 2}, []storage.Entry{whole(1)}, nil},
		{"as many as kept", Retention{Keep: 2}, []storage.Entry{whole(1), whole(2)}, nil},
		{"more than kept", Retention{Keep: 2}, []storage.Entry{whole(1), whole(2), whole(3)}, []storage.ID{v(1)}},
		{"incomplete ones do not count", Retention{Keep: 2}, []storage.Entry{whole(1), half(2), whole(3), half(4)}, nil},
		{"old incomplete ones go", Retention{Keep: 1}, []storage.Entry{half(1), half(2), whole(3), half(4)}, []storage.ID{v(1), v(2)}},
		{"damaged ones do not count", Retention{Keep: 2, Damaged: []storage.ID{v(3)}}, []storage.Entry{whole(1), whole(2), whole(3)}, nil},
		{"nor do they go before others are kept", Retention{Keep: 2, Damaged: []storage.ID{v(2)}}, []storage.Entry{whole(1), whole(2), whole(3)}, nil},
		{"old damaged ones go", Retention{Keep: 1, Damaged: []storage.ID{v(1)}}, []storage.Entry{whole(1), whole(2)}, []storage.ID{v(1)}},
		{"the newest verified one stays", Retention{Keep: 1, Verified: v(1)}, []storage.Entry{whole(1), whole(2), whole(3)}, []storage.ID{v(2)}},
		{"keep 0 keeps one", Retention{}, []storage.Entry{whole(1), whole(2)}, []storage.ID{v(1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var versions []Kept
			for _, e := range c.entries {
				versions = append(versions, Kept{Entry: e, Home: e.Complete()})
			}
			require.Equal(t, Prunable{Everywhere: c.want}, c.policy.Prunable(nil, versions))
		})
	}
}
