package codec

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/storage/container"
)

// text describes a type for messages, as Go would write it, to a small depth.
func (s schema) text(i, depth int) string {
	n := &s[i]
	if depth > 3 {
		return "..."
	}
	elem := func() string { return s.text(n.elem, depth+1) }
	switch n.kind {
	case kindTime:
		return "time.Time"
	case kindCustom:
		return fmt.Sprintf("what the %s wrote", strings.Replace(n.name, " ", " code of ", 1))
	case kindPointer:
		return "*" + elem()
	case kindSlice:
		return "[]" + elem()
	case kindArray:
		return fmt.Sprintf("[%d]%s", n.length, elem())
	case kindMap:
		return "map[" + s.text(n.key, depth+1) + "]" + elem()
	case kindStruct:
		return s.describe(n)
	}
	return container.Elem(n.kind).String()
}

// describe lists some fields of a struct.
func (s schema) describe(n *node) string {
	var names []string
	for i, f := range n.fields {
		if i == 8 {
			names = append(names, "...")
			break
		}
		names = append(names, f.name)
	}
	return "a struct with the fields {" + strings.Join(names, ", ") + "}"
}
