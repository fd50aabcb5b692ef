package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/osstring"
)

// pathsOf are the paths of a JSON document, wherever in it they are.
func pathsOf(t *testing.T, document any) (paths []string) {
	switch d := document.(type) {
	case []any:
		for _, one := range d {
			paths = append(paths, pathsOf(t, one)...)
		}
	case map[string]any:
		for key, one := range d {
			switch key {
			case "path", "directory", "home", "file":
				var s osstring.String
				text, err := json.Marshal(one)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(text, &s))
				paths = append(paths, string(s))
			default:
				paths = append(paths, pathsOf(t, one)...)
			}
		}
	}
	return paths
}

// Paths are bytes, and lead to what they are of also where these are not UTF-8.
func TestPathsInDocuments(t *testing.T) {
	root := filepath.Join(t.TempDir(), "gr\xfc\xdfe & <") // Latin-1
	l := levelled{base: filepath.Join(root, "cp"), dir: filepath.Join(root, "cp", "c"), nodes: filepath.Join(root, "nodes")}
	l.run(t, "local,pfs:2", 2, nil)
	for _, damaged := range []bool{false, true} {
		for _, c := range []struct {
			least int // paths
			args  []string
		}{
			{1 + 1 + 4 + 2, []string{"ls", l.base}}, {1 + 1, []string{"show", l.dir}}, {1 + 2, []string{"verify", l.dir}}, {1, []string{"report", l.base}},
			{1 + 2*4, []string{"node", "ls", "--node-path", l.nodes}}, {1 + 4, []string{"node", "verify", "--node-path", l.nodes}},
			{1 + 2*4, []string{"node", "clean", "--dry-run", "--node-path", l.nodes}},
		} {
			r := craft(t, append(c.args, "--json")...)
			require.NotContains(t, r.stdout, "\ufffd", "%v", c.args)
			var document any
			require.NoError(t, json.Unmarshal([]byte(r.stdout), &document))
			paths := pathsOf(t, document)
			require.GreaterOrEqual(t, len(paths), c.least, "%v", c.args)
			for _, path := range paths {
				_, err := os.Stat(path)
				require.NoError(t, err, "%v", c.args)
			}
		}
		if !damaged { // findings, too: they name files
			files, err := filepath.Glob(filepath.Join(l.node(1), "*", "*", "rank-*"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			for _, file := range files {
				edit(t, file, func(b []byte) []byte { return append(b, strings.Repeat("x", 10)...) })
			}
		}
	}
}
