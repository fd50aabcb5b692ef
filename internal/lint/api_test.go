package lint

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/api.txt")

// forPrograms are the packages that programs, engines and tools outside of this module use:
// docs/api.txt lists what they export. The others that can be imported (the drivers of
// storage, placement, the suites) are parts of this module, and change with it.
var forPrograms = []string{
	"aft", "aft/afttest", "aft/comm", "aft/comm/driver", "aft/launch", "async",
	"checkpoint", "checkpoint/archive", "cptypes", "storage", "storage/container", "storage/replica",
}

// TestAPIListing: what programs see changes on purpose.
func TestAPIListing(t *testing.T) {
	page := filepath.Join(moduleRoot(t), "docs", "api.txt")
	var now []string
	for _, p := range exportsOf(t, forPrograms) {
		now = append(now, listing(p)...)
	}
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(strings.Join(now, "\n")+"\n"), 0o644))
		return
	}
	listed, err := os.ReadFile(page)
	require.NoError(t, err)
	then := strings.Split(strings.TrimSuffix(string(listed), "\n"), "\n")
	var diff []string
	for _, line := range then {
		if !slices.Contains(now, line) {
			diff = append(diff, "- "+line)
		}
	}
	for _, line := range now {
		if !slices.Contains(then, line) {
			diff = append(diff, "+ "+line)
		}
	}
	slices.SortStableFunc(diff, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	if diff != nil || !slices.Equal(now, then) {
		t.Errorf("docs/api.txt is not what the packages export; if it is to be so:\n\tgo test ./internal/lint -run TestAPIListing -update\n%s", strings.Join(diff, "\n"))
	}
}

// forThisModule is what packages of this module need of each other: how ranks meet is for package checkpoint to use, and
// for the engines of this module to offer.
var forThisModule = []string{
	"aft/afttest: func (*Cluster).Ask(d internal/demand.Demand)",
	"aft/comm/driver: type Meeter interface{Point() *internal/demand.Point}",
	"aft/comm: func (*Comm).Lane(key string) (point *internal/demand.Point, lane string)",
	"aft/comm: func (*Session).Point() *internal/demand.Point",
}

// TestNoInternalTypesInTheAPI: nobody else could write their names.
func TestNoInternalTypesInTheAPI(t *testing.T) {
	for _, p := range exportsOf(t, forPrograms) {
		for _, line := range listing(p) {
			if regexp.MustCompile(`\binternal/`).MatchString(line) && !slices.Contains(forThisModule, line) {
				t.Errorf("%s: a type that only this module can name", line)
			}
		}
	}
}

// exportsOf gives the exported part of some packages of this module, as the compiler
// has written it.
func exportsOf(t *testing.T, dirs []string) (packages []*types.Package) {
	goFiles(t, moduleRoot(t)) // results of tests are kept until what they have looked at changes
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export")
	for _, dir := range dirs {
		list.Args = append(list.Args, module+"/"+dir)
	}
	list.Stderr = os.Stderr
	out, err := list.Output()
	require.NoError(t, err)
	exports := make(map[string]string) // files, by import path
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		exports[p.ImportPath] = p.Export
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, dir := range dirs {
		p, err := from.Import(module + "/" + dir)
		require.NoError(t, err)
		packages = append(packages, p)
	}
	return packages
}

// listing is a line for each exported name of a package, and for each exported field and
// method of its types. Types of other packages of this module have their paths in it.
func listing(p *types.Package) (lines []string) {
	path := strings.TrimPrefix(p.Path(), module+"/")
	add := func(format string, args ...any) { lines = append(lines, path+": "+fmt.Sprintf(format, args...)) }
	in := func(other *types.Package) string {
		if other == p {
			return ""
		}
		return strings.TrimPrefix(other.Path(), module+"/")
	}
	for _, name := range p.Scope().Names() {
		object := p.Scope().Lookup(name)
		if !object.Exported() {
			continue
		}
		switch object := object.(type) {
		case *types.Const:
			add("const %s %s = %s", name, types.TypeString(object.Type(), in), object.Val())
		case *types.TypeName:
			listType(object, in, add)
		default:
			add("%s", types.ObjectString(object, in))
		}
	}
	return lines
}

// listType lists a type: of a struct its fields, and of all their methods, one by one.
func listType(object *types.TypeName, in types.Qualifier, add func(format string, args ...any)) {
	text := types.ObjectString(object, in)
	named, ok := object.Type().(*types.Named)
	if !ok || object.IsAlias() {
		add("%s", text)
		return
	}
	is, ok := named.Underlying().(*types.Struct)
	if ok {
		text, _, _ = strings.Cut(text, "{")
	}
	add("%s", text)
	if ok {
		listFields(object.Name(), is, in, add)
	}
	if types.IsInterface(named) {
		return
	}
	set := types.NewMethodSet(types.NewPointer(named))
	for method := range set.Methods() {
		if m := method.Obj(); m.Exported() && (len(method.Index()) == 1 || !is.Field(method.Index()[0]).Exported()) {
			add("%s", types.ObjectString(m, in))
		}
	}
}

// listFields lists the exported fields of a struct, and those of structs that are embedded
// without being exported.
func listFields(name string, is *types.Struct, in types.Qualifier, add func(format string, args ...any)) {
	for f := range is.Fields() {
		inner, ok := f.Type().Underlying().(*types.Struct)
		switch {
		case f.Exported() && f.Embedded():
			add("field %s embeds %s", name, types.TypeString(f.Type(), in))
		case f.Exported():
			add("field %s.%s %s", name, f.Name(), types.TypeString(f.Type(), in))
		case f.Embedded() && ok:
			listFields(name, inner, in, add)
		}
	}
}
