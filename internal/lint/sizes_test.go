package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// A type that knows and does everything grows by one method at a time. These are the bounds in
// the packages where that has happened.
const (
	mostMethods = 40 // promoted ones count
	mostFields  = 20 // of a struct that is no configuration
)

var bounded = []string{"aft/internal/control", "checkpoint", "storage", "storage/catalog", "storage/internal/flush", "storage/internal/heal", "storage/manifest", "storage/offline", "storage/placement", "storage/internal/remove"}

// unbounded are structs of what is read, sent or configured: their fields are those of a file, of
// a protocol (Message has one for each kind) or of variables.
func unbounded(name string) bool {
	return name == "Message" || strings.HasSuffix(strings.ToLower(name), "config") || strings.HasSuffix(name, "ptions") || name == "Record"
}

func TestTypesStaySmall(t *testing.T) {
	root := moduleRoot(t)
	files := goFiles(t, root)
	for _, dir := range bounded {
		types, methods := make(map[string]*ast.StructType), make(map[string]int)
		for _, file := range files[dir] {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				count(d, types, methods)
			}
		}
		for name, is := range types {
			fields := 0
			for _, f := range is.Fields.List {
				fields += max(1, len(f.Names))
			}
			if fields > mostFields && !unbounded(name) {
				t.Errorf("%s: struct %s has %d fields (allowed: %d): those that are used together are a type of their own", dir, name, fields, mostFields)
			}
			if n := withPromoted(name, types, methods); n > mostMethods {
				t.Errorf("%s: type %s has %d methods with promoted ones (allowed: %d): what they do that needs only some of its fields is a type of its own", dir, name, n, mostMethods)
			}
		}
	}
}

// count notes the structs and methods of a declaration.
func count(d ast.Decl, types map[string]*ast.StructType, methods map[string]int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			methods[named(d.Recv.List[0].Type)]++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if s, ok := s.(*ast.TypeSpec); ok {
				if is, ok := s.Type.(*ast.StructType); ok {
					types[s.Name.Name] = is
				}
			}
		}
	}
}

// named is the name of a type of the package; "" if it is of another one.
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return named(e.X)
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func withPromoted(name string, types map[string]*ast.StructType, methods map[string]int) int {
	n := methods[name]
	if is := types[name]; is != nil {
		for _, f := range is.Fields.List {
			if len(f.Names) == 0 {
				n += withPromoted(named(f.Type), types, methods)
			}
		}
	}
	return n
}
