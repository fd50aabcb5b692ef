package nodelocal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

func TestEarlier(t *testing.T) {
	root := t.TempDir()
	for _, c := range []Config{
		{Name: "a", Home: "/scratch/a", ID: "1"}, {Name: "a", Home: "/scratch/a", ID: "2"},
		{Name: "a", Home: "/other/a", ID: "3"}, {Name: "a-b", Home: "/scratch/a-b", ID: "4"},
	} {
		c.Root = root
		put(t, newStore(t, c), someKey(1, storage.KindCopy, 0), "content")
	}
	empty := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", ID: "5"})
	require.NoError(t, empty.Prepare(t.Context(), nil))
	now := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", ID: "2"})
	earlier := newStore(t, Config{Root: root, Name: "a", Home: "/scratch/a", ID: "1"})
	require.Equal(t, []string{earlier.Dir()}, now.Earlier())
	require.Empty(t, newStore(t, Config{Root: root + "/none", Name: "a", Home: "/scratch/a"}).Earlier())
}
