package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A type that knows and does everything grows by one method at a time.
const (
	mostMethods = 40 // promoted ones count
	mostFields  = 20 // of a struct that is no configuration and no message; those of files, which have tags, do not count
)

func TestTypesStaySmall(t *testing.T) {
	for dir, files := range goFiles(t, moduleRoot(t)) {
		types := typesOf(t, files)
		for name, is := range types {
			if is.fields > mostFields && !isConfig(name) && name != "Message" {
				t.Errorf("%s: struct %s has %d fields (allowed: %d): those that are used together are a type of their own", dir, name, is.fields, mostFields)
			}
			if n := types.methods(name); n > mostMethods {
				t.Errorf("%s: type %s has %d methods with promoted ones (allowed: %d): what they do that needs only some of its fields is a type of its own", dir, name, n, mostMethods)
			}
		}
	}
}

// isConfig reports whether the fields of a struct are for users to fill.
func isConfig(name string) bool {
	return strings.HasSuffix(strings.ToLower(name), "config") || strings.HasSuffix(name, "ptions")
}

// sizes is how large the types of a package are, by name.
type sizes map[string]*size

type size struct {
	fields, methods int
	embedded        []string
}

func typesOf(t *testing.T, files []string) sizes {
	types := make(sizes)
	of := func(name string) *size {
		if types[name] == nil {
			types[name] = new(size)
		}
		return types[name]
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					of(named(n.Recv.List[0].Type)).methods++
				}
			case *ast.TypeSpec:
				if is, ok := n.Type.(*ast.StructType); ok {
					of(n.Name.Name).add(is)
				}
			}
			return true
		})
	}
	return types
}

func (s *size) add(is *ast.StructType) {
	for _, f := range is.Fields.List {
		if f.Tag == nil {
			s.fields += max(1, len(f.Names))
		}
		if len(f.Names) == 0 {
			s.embedded = append(s.embedded, named(f.Type))
		}
	}
}

// methods is how many a type has, promoted ones included.
func (s sizes) methods(name string) int {
	is := s[name]
	if is == nil { // of another package
		return 0
	}
	n := is.methods
	for _, e := range is.embedded {
		n += s.methods(e)
	}
	return n
}

// named is the name of a type of the package; "" if it is of another one.
func named(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return named(e.X)
	case *ast.IndexExpr:
		return named(e.X)
	case *ast.IndexListExpr:
		return named(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
