package storage

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without levels, versions are at home, or incomplete.
func TestRetention(t *testing.T) {
	v := func(n uint64) ID { return ID{Version: n} }
	whole := func(n uint64) Entry { return Entry{ID: v(n), Parts: []Part{{0, 1}}} }
	half := func(n uint64) Entry { return Entry{ID: v(n), Parts: []Part{{0, 2}}} }
	for _, c := range []struct {
		name    string
		policy  Retention
		entries []Entry
		want    []ID
	}{
		{"nothing", Retention{Keep: 2}, nil, nil},
		{"fewer than kept", Retention{Keep: 2}, []Entry{whole(1)}, nil},
		{"as many as kept", Retention{Keep: 2}, []Entry{whole(1), whole(2)}, nil},
		{"more than kept", Retention{Keep: 2}, []Entry{whole(1), whole(2), whole(3)}, []ID{v(1)}},
		{"incomplete ones do not count", Retention{Keep: 2}, []Entry{whole(1), half(2), whole(3), half(4)}, nil},
		{"old incomplete ones go", Retention{Keep: 1}, []Entry{half(1), half(2), whole(3), half(4)}, []ID{v(1), v(2)}},
		{"damaged ones do not count", Retention{Keep: 2, Damaged: []ID{v(3)}}, []Entry{whole(1), whole(2), whole(3)}, nil},
		{"nor do they go before others are kept", Retention{Keep: 2, Damaged: []ID{v(2)}}, []Entry{whole(1), whole(2), whole(3)}, nil},
		{"old damaged ones go", Retention{Keep: 1, Damaged: []ID{v(1)}}, []Entry{whole(1), whole(2)}, []ID{v(1)}},
		{"the newest verified one stays", Retention{Keep: 1, Verified: v(1)}, []Entry{whole(1), whole(2), whole(3)}, []ID{v(2)}},
		{"keep 0 keeps one", Retention{}, []Entry{whole(1), whole(2)}, []ID{v(1)}},
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

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "lanczos", "v2.0", "α-β", "my matrix", "x_1"} {
		require.NoError(t, CheckName("key", good))
	}
	for _, bad := range []string{"", ".", "..", ".hidden", "a/b", `a\b`, "a\x00", "a\n", " a", "a ", "-rf", "a:b", "\xff", string(make([]byte, 300))} {
		require.ErrorIs(t, CheckName("key", bad), ErrName, "%q", bad)
	}
}
