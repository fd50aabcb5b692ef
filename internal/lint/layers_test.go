package lint

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLayersAreDrawn holds the map in docs/architecture.md to the import policy: each
// package in the lowest layer that is above all that it imports. It also shows that the
// policy has no cycle.
func TestLayersAreDrawn(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "architecture.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```layers\n")
	require.True(t, found, "docs/architecture.md has a block ```layers")
	drawn, _, _ := strings.Cut(rest, "```")
	if want := layers(t); want != drawn {
		t.Errorf("the block ```layers of docs/architecture.md differs from the imports; put in its place:\n\n%s", want)
	}
}

// TestPagesNameFiles: each Go file that the pages for contributors name is there.
func TestPagesNameFiles(t *testing.T) {
	root := moduleRoot(t)
	known := make(map[string]bool) // by their paths and, as where a package is given, by their names
	for dir, files := range goFiles(t, root) {
		for _, f := range files {
			known[path.Join(dir, filepath.Base(f))], known[filepath.Base(f)] = true, true
		}
	}
	for _, name := range []string{"CONTRIBUTING.md", "docs/architecture.md"} {
		page, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		named := regexp.MustCompile(`[\w/]+\.go\b`).FindAllString(string(page), -1)
		require.NotEmpty(t, named)
		for _, file := range named {
			require.True(t, known[strings.TrimPrefix(file, "/")], "%s names %s", name, file)
		}
	}
}

// TestTablesHaveRows: no page has a table without any.
func TestTablesHaveRows(t *testing.T) {
	root := moduleRoot(t)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	tables := 0
	for _, name := range append(pages, filepath.Join(root, "README.md")) {
		page, err := os.ReadFile(name)
		require.NoError(t, err)
		lines := strings.Split(string(page), "\n")
		for i, line := range lines[:len(lines)-1] {
			if strings.HasPrefix(line, "| --- |") {
				tables++
				require.True(t, strings.HasPrefix(lines[i+1], "| "), "%s:%d: a table without rows", name, i+1)
			}
		}
	}
	require.Greater(t, tables, 20)
}

func layers(t *testing.T) string {
	var lists [][]string
	for _, r := range allowed {
		if slices.Contains(forTests, r.pkg) || r.pkg == "internal/lint" {
			continue // they are in nobody's way
		}
		n := layerOf(t, r.pkg, nil)
		for len(lists) <= n {
			lists = append(lists, nil)
		}
		lists[n] = append(lists[n], r.pkg)
	}
	var out strings.Builder
	for n, list := range lists {
		slices.Sort(list)
		line := fmt.Sprintf("%2d ", n)
		for _, pkg := range list {
			if len(line)+1+len(pkg) > 88 {
				fmt.Fprintln(&out, line)
				line = "   "
			}
			line += " " + pkg
		}
		fmt.Fprintln(&out, line)
	}
	return out.String()
}

// layerOf is one more than the highest layer of what a package imports.
func layerOf(t *testing.T, pkg string, above []string) (n int) {
	require.NotContains(t, above, pkg, "the import policy goes round: %v", above)
	i := slices.IndexFunc(allowed, func(r rule) bool { return r.pkg == pkg })
	require.GreaterOrEqual(t, i, 0, "%s has no place in the import policy", pkg)
	for _, imported := range allowed[i].imports {
		for _, r := range allowed {
			if r.pkg != pkg && (r.pkg == imported || matches(imported, r.pkg)) {
				n = max(n, 1+layerOf(t, r.pkg, append(above, pkg)))
			}
		}
	}
	return n
}
