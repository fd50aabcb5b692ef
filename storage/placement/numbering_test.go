package placement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/nodelocal"
)

// reportsOf makes reports of words such as "host:dir", "host:dir#inode", "host:dir<signer" and, if nobody has
// looked at the directory, "host:dir?".
func reportsOf(words string) (reports []nodeReport) {
	for word := range strings.FieldsSeq(words) {
		word, unseen := strings.CutSuffix(word, "?")
		host, dir, _ := strings.Cut(word, ":")
		dir, signer, signed := strings.Cut(dir, "<")
		dir, inode, known := strings.Cut(dir, "#")
		r := nodeReport{Self: nodelocal.Identity{Host: host, Boot: "boot of " + host}, Dir: osstring.String(dir), Unseen: unseen}
		if known {
			r.File = vfs.FileID{Device: 1, Inode: uint64(inode[0])}
		}
		if signed {
			r.Signer = nodelocal.Identity{Host: signer, Boot: "boot of " + signer}
		}
		reports = append(reports, r)
	}
	return reports
}

func TestNumberNodes(t *testing.T) {
	for name, c := range map[string]struct {
		engine  []int // by rank
		reports string
		of      []int
		wrong   []string // what the error names; then of does not count
	}{
		"the engine says":     {[]int{7, 7, 3, 7}, "a:/d a:/d b:/d a:/d", []int{0, 0, 1, 0}, nil},
		"virtual nodes":       {[]int{0, 0, 1, 1}, "a:/d/0 a:/d/0 a:/d/1 a:/d/1", []int{0, 0, 1, 1}, nil},
		"it does not say":     {nil, "a:/d a:/e b:/d a:/d", []int{0, 1, 2, 0}, nil},
		"a link":              {[]int{0, 0}, "a:/d#1 a:/link#1", []int{0, 0}, nil},
		"no room":             {[]int{0, 0, 0}, "a:/d#1 a:/d a:/d#1", []int{0, 0, 0}, nil},
		"containers":          {nil, "a:/d#1 a:/d#2", []int{0, 1}, nil},
		"unseen containers":   {[]int{0, 1}, "a:/d? a:/d?", []int{0, 1}, nil},
		"an unseen link":      {[]int{0, 0, 1}, "a:/d? a:/link? b:/d?", []int{0, 0, 1}, nil},
		"unseen, not said":    {nil, "a:/d? a:/e? a:/d?", []int{0, 1, 0}, nil},
		"signed before":       {[]int{0, 1}, "a:/d<a b:/d<b", []int{0, 1}, nil},
		"signed by strangers": {[]int{0, 1}, "a:/d<x b:/d", []int{0, 1}, nil}, // nodelocal has refused it
		"two directories": {
			[]int{0, 1, 1}, "a:/d b:/d b:/e", nil,
			[]string{"rank 1 and rank 2 are on one node", "node 1 of the job, host b", "/d and /e", "CRAFT_NODE_PATH", "--nodes"},
		},
		"two directories of containers": {[]int{0, 0}, "a:/d#1 a:/d#2", nil, []string{"rank 0 and rank 1 are on one node"}},
		"one directory": {
			[]int{4, 4, 6}, "a:/d a:/d a:/d", nil,
			[]string{"rank 0 (node 4 of the job, host a) and rank 2 (node 6 of the job, host a)", "in one directory, /d", "CRAFT_NODE_PATH", "--node-path"},
		},
		"one directory by a link": {[]int{0, 1}, "a:/d#1 a:/e#1", nil, []string{"rank 0 (", "rank 1 (", "in one directory, /e"}},
		"a network file system": {
			[]int{0, 1, 2}, "a:/d<c b:/d<c c:/d<c", nil,
			[]string{"rank 2 (node 2 of the job, host c) and rank 0 (node 0 of the job, host a)", "network file system"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := numberNodes(1, "cp", c.engine, reportsOf(c.reports))
			if c.wrong == nil {
				require.NoError(t, err)
				require.Equal(t, c.of, n.of)
				return
			}
			require.ErrorIs(t, err, ErrConfig)
			for _, want := range c.wrong {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
