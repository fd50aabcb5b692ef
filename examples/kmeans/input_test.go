package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/examples/internal/jobs"
	"github.com/craft-go/craft/examples/kmeans/dataset"
)

// TestFileOfARunningJob: a file that is gone is missed by nobody while copies of all points are left, and one that has
// been replaced is not mixed with what it was.
func TestFileOfARunningJob(t *testing.T) {
	const table = "1,2\n3,4\n5,6\n7,8\n"
	same := strings.Repeat(table, 600)
	other := strings.ReplaceAll(same, "7,8", "8,7")
	twoRanks := []int{0, 2} // have both copies of some
	for name, c := range map[string]struct {
		becomes string // nothing: it is removed
		dying   []int
		want    string // error
	}{
		"removed, copies are left":     {"", twoRanks[:1], ""},
		"removed, none is left":        {"", twoRanks, "no such file"},
		"replaced, copies are left":    {other, twoRanks[:1], ""},
		"replaced, none is left":       {other, twoRanks, dataset.ErrChanged.Error()},
		"by a shorter one":             {same[:len(same)/2], twoRanks, dataset.ErrChanged.Error()},
		"by one of more coordinates":   {strings.ReplaceAll(same, ",", ",1,"), twoRanks, dataset.ErrChanged.Error()},
		"by a shorter one, not needed": {same[:len(same)/2], twoRanks[:1], ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "points.csv")
			require.NoError(t, os.WriteFile(path, []byte(same), 0o666))
			cfg := parsed(t, "-in", path, "-centres", "3", "-iters", "8", "-copies", "2")
			want := inCluster(t, &afttest.Cluster{}, 1, comm.Shrinking, cfg)
			for _, rank := range c.dying {
				cfg.kills = append(cfg.kills, jobs.Kill{What: "rank", Number: rank, At: 3})
			}
			for _, recovery := range []comm.Recovery{comm.NonShrinking, comm.Shrinking} {
				require.NoError(t, os.WriteFile(path, []byte(same), 0o666))
				got, err := tryInCluster(t, &afttest.Cluster{Nodes: 4}, 4, recovery, cfg, func() {
					_ = os.Remove(path) // another one may have done it
					if c.becomes != "" {
						_ = os.WriteFile(path, []byte(c.becomes), 0o666)
					}
				})
				if c.want != "" {
					require.ErrorContains(t, err, c.want, recovery)
				} else {
					require.NoError(t, err, recovery)
					require.Equal(t, want.Digest, got.Digest, recovery)
				}
			}
		})
	}
}
