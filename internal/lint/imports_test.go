package lint

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/craft-go/craft"

type rule struct {
	pkg     string
	imports []string
}

// allowed lists for each package the packages of this module that it may
// import, in the order of the layers. A pattern that ends in /... means a whole
// tree. Everything may import what is named in everywhere, suites and tests also what
// is for tests; tests may also import what is named in testOnly. A package that is not
// listed fails the test: a new one has to find its place here first.
var allowed = []rule{
	{"internal/env", nil},
	{"internal/step", []string{"internal/env"}},
	{"internal/deadline", []string{"internal/env"}},
	{"internal/chart", nil},
	{"internal/demand", nil},
	{"internal/vfs", nil},
	{"internal/logqueue", nil},
	{"internal/osstring", nil},
	{"internal/offheap", nil},
	{"internal/suspend", nil},
	{"internal/procid", nil},
	{"internal/testprocess", nil},
	{"internal/testseed", nil},
	{"internal/testsignal", nil},
	{"internal/testtime", nil},
	{"internal/timeline", nil},
	{"internal/lint", nil},

	{"storage/container", nil},
	{"storage", []string{"storage/container"}},
	{"storage/filestore", []string{"storage", "storage/container"}},
	{"storage/nodelocal", []string{"storage", "storage/filestore"}},
	{"storage/storagetest", []string{"storage", "storage/container"}},
	{"storage/internal/domain", nil},
	{"storage/internal/flush", []string{"storage"}},
	{"storage/internal/heal", []string{"storage"}},
	{"storage/internal/remove", []string{"storage"}},
	{"storage/erasure/striping", nil},
	{"storage/manifest", []string{"storage", "storage/container"}},
	{"storage/catalog", []string{"storage", "storage/container", "storage/erasure/striping"}},

	{"cptypes/internal/element", []string{"storage/container"}},
	{"cptypes/internal/codec", []string{"cptypes/internal/element", "storage/container"}},
	{"cptypes", []string{"cptypes/internal/codec", "cptypes/internal/element", "storage/container"}},
	{"cptypes/cptypestest", []string{"cptypes", "storage/container"}},

	{"async", []string{"internal/offheap"}},

	{"aft/comm/driver", []string{"internal/demand"}},
	{"aft/comm/single", []string{"aft/comm/driver"}},
	{"aft/internal/hooks", nil},
	{"aft/comm", []string{"aft/comm/driver", "aft/comm/single", "aft/internal/hooks", "internal/demand"}},
	{"aft/comm/commtest", []string{"aft/comm", "aft/comm/driver"}},
	{"storage/internal/exchange", []string{"aft/comm", "internal/offheap", "storage"}},
	{"storage/replica", []string{"aft/comm", "internal/offheap"}},
	{"storage/internal/memory", []string{"aft/comm", "internal/offheap", "storage", "storage/container", "storage/internal/exchange"}},
	{"storage/partner", []string{"aft/comm", "storage", "storage/internal/exchange", "storage/nodelocal"}},
	{"storage/erasure", []string{"aft/comm", "storage", "storage/catalog", "storage/container", "storage/erasure/striping", "storage/internal/exchange", "storage/nodelocal"}},
	{"aft/internal/control", []string{"aft/comm/driver", "internal/demand"}},
	{"aft/internal/proc", nil},
	{"aft/internal/nonblock", nil},
	{"aft/internal/guard", []string{"aft/internal/proc"}},
	{"aft/launch", []string{"aft/comm", "aft/comm/driver", "aft/internal/control", "aft/internal/guard", "aft/internal/nonblock", "aft/internal/proc", "internal/deadline", "internal/demand", "internal/offheap"}},
	{"aft/internal/scale", []string{"aft/comm/driver", "aft/internal/control", "internal/demand"}},
	{"aft/internal/pipe", []string{"aft/internal/nonblock"}},
	{"aft/internal/embedded", []string{"aft/comm/driver", "aft/internal/control", "aft/internal/nonblock", "aft/internal/pipe", "aft/internal/proc", "internal/demand"}},
	{"aft/internal/engine", []string{"aft/comm", "aft/comm/driver", "aft/comm/single", "aft/internal/embedded"}},
	{"aft", []string{"aft/comm", "aft/internal/engine", "aft/internal/hooks"}},
	{"aft/reinit", []string{"aft", "aft/comm"}},
	{"aft/afttest", []string{"aft/comm", "aft/comm/driver", "aft/internal/embedded", "internal/demand"}},

	{"storage/offline", []string{"storage", "storage/catalog", "storage/container", "storage/erasure", "storage/filestore", "storage/manifest", "storage/nodelocal"}},
	{"storage/placement", []string{"aft/comm", "storage", "storage/catalog", "storage/container", "storage/internal/domain", "storage/erasure", "storage/internal/exchange", "storage/filestore", "storage/internal/flush", "storage/internal/heal", "storage/internal/memory", "storage/manifest", "storage/nodelocal", "storage/partner", "storage/internal/remove", "storage/replica"}},

	{"checkpoint/internal/tempo", []string{"storage"}},
	{"checkpoint/internal/trigger", nil},
	{"checkpoint/archive", []string{"cptypes", "storage", "storage/container", "storage/offline"}},
	{"checkpoint", []string{"aft/comm", "async", "checkpoint/internal/tempo", "checkpoint/internal/trigger", "cptypes", "internal/deadline", "internal/demand", "storage", "storage/catalog", "storage/container", "storage/filestore", "storage/manifest", "storage/nodelocal", "storage/placement"}},

	{"internal/stepwise", []string{"aft"}},
	{"internal/testprogram", []string{"aft/launch", "internal/testprocess", "internal/testsignal"}},
	{"examples/...", []string{"aft/...", "checkpoint", "cptypes", "internal/stepwise", "internal/timeline", "storage", "storage/replica", "examples/..."}},
	{"internal/bench/machine", nil},
	{"internal/bench/measured", nil},
	{"internal/bench/program", []string{"aft/comm", "aft/launch"}},
	{"internal/bench/...", []string{"aft", "aft/comm", "aft/launch", "checkpoint", "examples/...", "internal/bench/machine", "internal/bench/measured", "internal/bench/program", "internal/chart", "internal/stepwise", "internal/timeline", "storage"}},
	{"cmd/craft", []string{"aft/comm", "aft/launch", "cptypes", "internal/chart", "internal/demand", "storage", "storage/catalog", "storage/container", "storage/erasure", "storage/filestore", "storage/manifest", "storage/nodelocal", "storage/offline", "storage/replica"}},
}

var (
	everywhere = []string{"internal/env", "internal/step", "internal/vfs", "internal/logqueue", "internal/osstring", "internal/suspend", "internal/procid"}
	forTests   = []string{"internal/testprogram", "internal/testprocess", "internal/testseed", "internal/testsignal", "internal/testtime"}
	suites     = []string{"aft/comm/commtest", "cptypes/cptypestest", "storage/storagetest", "examples/internal/killtest"}
)

// testOnly may be imported by tests beside what the package itself may import: of the
// engines that is what users have. testInner may be, by tests below the folder.
var (
	testOnly  = []string{"aft", "aft/afttest", "aft/comm/...", "aft/launch", "internal/stepwise", "cptypes/...", "storage/...", "checkpoint/..."}
	testInner = []string{"aft"}
)

func TestImportsGoOneWay(t *testing.T) {
	root := moduleRoot(t)
	for dir, files := range goFiles(t, root) {
		for _, file := range files {
			for _, imported := range importsOf(t, file) {
				if problem := forbidden(dir, strings.HasSuffix(file, "_test.go"), imported); problem != "" {
					t.Errorf("%s: %s (internal/lint/imports_test.go)", file, problem)
				}
			}
		}
	}
}

// forbidden is what is wrong with an import of a file in dir, or "".
func forbidden(dir string, test bool, imported string) string {
	i := slices.IndexFunc(allowed, func(r rule) bool { return matches(r.pkg, dir) })
	if i < 0 {
		return fmt.Sprintf("package %s has no place in the import policy", dir)
	}
	may := slices.Concat([]string{dir}, allowed[i].imports)
	if !strings.HasPrefix(dir, "internal/") || test {
		may = append(may, everywhere...)
	}
	if test || slices.Contains(suites, dir) {
		may = append(may, forTests...)
	}
	if test {
		may = append(may, testOnly...)
		for _, inner := range testInner {
			if matches(inner+"/...", dir) {
				may = append(may, inner+"/...")
			}
		}
	}
	if slices.ContainsFunc(may, func(p string) bool { return matches(p, imported) }) {
		return ""
	}
	return fmt.Sprintf("package %s may not import %s", dir, imported)
}

func TestForbiddenImportsAreFound(t *testing.T) {
	for _, c := range []struct {
		dir      string
		test     bool
		imported string
		ok       bool
	}{
		{"checkpoint", false, "aft/comm", true},
		{"checkpoint", false, "aft", false},
		{"checkpoint", true, "aft", true},
		{"checkpoint", true, "aft/afttest", true},
		{"checkpoint", true, "aft/internal/embedded", false},
		{"storage/internal/exchange", true, "aft/internal/control", false},
		{"aft/comm", false, "aft/internal/embedded", false},
		{"aft/internal/embedded", true, "aft/launch", true},
		{"storage/catalog", false, "storage/filestore", false},
		{"storage/new", false, "storage", false},
		{"async", false, "async", true},
		{"async", false, "internal/vfs", true},
		{"async", false, "internal/testtime", false},
		{"async", true, "internal/testtime", true},
		{"internal/vfs", false, "internal/env", false},
		{"examples/lanczos", false, "internal/lint", false},
	} {
		require.Equal(t, c.ok, forbidden(c.dir, c.test, c.imported) == "", "%+v", c)
	}
}

func matches(pattern, dir string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return dir == tree || strings.HasPrefix(dir, tree+"/")
	}
	return pattern == dir
}

// goFiles returns the Go files of each package, by its folder below the root.
func goFiles(t *testing.T, root string) map[string][]string {
	out := make(map[string][]string)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() && name != root && (strings.HasPrefix(base, ".") || base == "testdata") {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(base, ".go") {
			rel, err := filepath.Rel(root, filepath.Dir(name))
			if err != nil {
				return err
			}
			out[filepath.ToSlash(rel)] = append(out[filepath.ToSlash(rel)], name)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, out)
	return out
}

func importsOf(t *testing.T, file string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	require.NoError(t, err)
	var out []string
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if rest, ok := strings.CutPrefix(name, module+"/"); ok {
			out = append(out, rest)
		}
	}
	return out
}

func TestEveryPackageExplainsItself(t *testing.T) {
	root := moduleRoot(t)
	for dir, files := range goFiles(t, root) {
		explained := false
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			require.NoError(t, err)
			explained = explained || f.Doc != nil
		}
		if !explained {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

func TestNoVagueNames(t *testing.T) {
	for dir, files := range goFiles(t, moduleRoot(t)) {
		for _, name := range append(files, dir) {
			stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(filepath.ToSlash(name)), ".go"), "_test")
			if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, stem) {
				t.Errorf("%s: name it after what lives there", name)
			}
		}
	}
}

// TestTopLevel keeps the top level as the project's user wants it.
func TestTopLevel(t *testing.T) {
	want := []string{"go.mod", "go.sum", "checkpoint", "cptypes", "async", "aft", "storage", "examples", "docs", "README.md"}
	also := []string{"cmd", "internal", "LICENSE", "CONTRIBUTING.md"}
	entries, err := os.ReadDir(moduleRoot(t))
	require.NoError(t, err)
	ignored, err := os.ReadFile(filepath.Join(moduleRoot(t), ".gitignore"))
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	sort.Strings(names)
	for _, w := range want {
		require.Contains(t, names, w)
	}
	for _, line := range strings.Fields(string(ignored)) { // what users build and run here
		also = append(also, strings.Trim(line, "/"))
	}
	for _, n := range names {
		require.Contains(t, slices.Concat(want, also), n, "the top level is fixed")
	}
}

func moduleRoot(t *testing.T) string {
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		require.NotEqual(t, parent, dir, "no go.mod above the test")
		dir = parent
	}
}
