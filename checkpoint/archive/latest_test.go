package archive_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/checkpoint/archive"
	"github.com/craft-go/craft/storage/manifest"
)

// What is older than a version that cannot be had here is not the latest, in silence.
func TestLatestIsNotQuietlyOlder(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(t *testing.T, j job, newest string)
		want string
		is   error
	}{
		"gone": {func(t *testing.T, _ job, newest string) { require.NoError(t, os.RemoveAll(newest)) }, "was complete, as LATEST.json tells", nil},
		"away": {func(t *testing.T, _ job, newest string) {
			require.NoError(t, os.RemoveAll(newest))
			require.NoError(t, os.Symlink(newest+"-not-mounted", newest))
		}, "is a link to something that is not there", nil},
		"without a header": {func(t *testing.T, _ job, newest string) {
			for rank := range ranks {
				parts, err := filepath.Glob(filepath.Join(newest, "rank-*"))
				require.NoError(t, err)
				require.NoError(t, os.Truncate(parts[rank], 10))
			}
		}, "truncated", nil},
		"on nodes elsewhere": {func(t *testing.T, j job, _ string) {
			j.run(t, "local", 1, nil)
			j.moveNodes(t, "far")
		}, "far (", archive.ErrElsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(t)
			j.run(t, "", 3, nil)
			dirs, err := filepath.Glob(filepath.Join(j.dir(), "v-*"))
			require.NoError(t, err)
			c.harm(t, j, dirs[len(dirs)-1])
			a, err := archive.Open(t.Context(), j.dir())
			require.NoError(t, err)
			_, err = a.Latest(t.Context())
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			versions, err := a.Versions(t.Context())
			require.NoError(t, err)
			for _, v := range versions {
				if c.is != nil && v.ID.Version == 4 {
					require.Equal(t, archive.Elsewhere, v.State)
					_, err := a.Snapshot(t.Context(), v.ID)
					require.ErrorIs(t, err, c.is)
					require.ErrorContains(t, err, c.want)
					require.NotErrorIs(t, err, archive.ErrDeleted)
				}
			}
			for _, v := range versions {
				if v.State == archive.Complete && v.ID.Version == 2 {
					s, err := a.Snapshot(t.Context(), v.ID)
					require.NoError(t, err)
					requireAll(t, s, 2)
					return
				}
			}
			t.Fatal("version 2 is not there")
		})
	}
}

// moveNodes makes the manifest name nodes of another host, and takes them away.
func (j job) moveNodes(t *testing.T, host string) {
	path := filepath.Join(j.dir(), manifest.Name)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	m, err := manifest.Parse(data)
	require.NoError(t, err)
	for i := range m.Nodes {
		m.Nodes[i].Host = host
	}
	data, err = m.Encode()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.NoError(t, os.RemoveAll(j.nodes))
}

// An archive that is kept open sees what a job does, on the nodes, too, from several
// goroutines.
func TestKeptOpen(t *testing.T) {
	j := newJob(t)
	j.run(t, "partner", 1, nil)
	a := j.open(t)
	for version := 2; version <= 4; version++ {
		j.run(t, "partner", 1, nil)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := a.Latest(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				assert.EqualValues(t, version, s.Version().ID.Version)
				_, _, err = archive.Array[float64](t.Context(), s, "v")
				assert.NoError(t, err)
				versions, err := a.Versions(t.Context())
				assert.NoError(t, err)
				assert.Len(t, versions, version)
			})
		}
		all.Wait()
	}
}
