package codec

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/craft-go/craft/cptypes/internal/element"
)

// TagKey is the key of struct tags:
//
//	Mass  float64 `craft:"m"`              stored under the name m
//	Mass  float64 `craft:",was=weight"`    read also from what was stored as weight
//	cache []byte  `craft:"-"`              neither stored nor read
const TagKey = "craft"

// codedField is a field of a Go struct that is stored.
type codedField struct {
	name string   // under which it is stored
	was  []string // names under which it was stored in the past
	typ  reflect.Type
	off  uintptr
}

// fieldsOf returns the fields of a struct that are stored, in their order. path
// is for messages.
func fieldsOf(t reflect.Type, path string) ([]codedField, error) {
	var out []codedField
	taken := make(map[string]string)
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get(TagKey)
		if tag == "-" || f.Name == "_" {
			continue
		}
		at := path + "." + f.Name
		if !f.IsExported() && !(f.Anonymous && f.Type.Kind() == reflect.Struct) {
			return nil, fmt.Errorf("cptypes: %w: %s is unexported, and a checkpoint without it may be a wrong one: export it, leave it out with the tag `craft:\"-\"`, or let %v implement cptypes.Value",
				element.ErrUnsupported, at, t)
		}
		c, err := parseTag(tag, at)
		if err != nil {
			return nil, err
		}
		if c.name == "" {
			c.name = f.Name
		}
		for _, name := range append(c.was, c.name) {
			if other, ok := taken[name]; ok {
				return nil, fmt.Errorf("cptypes: %w: %s and %s are both stored as %q", element.ErrUnsupported, other, at, name)
			}
			taken[name] = at
		}
		c.typ, c.off = f.Type, f.Offset
		out = append(out, c)
	}
	return out, nil
}

func parseTag(tag, at string) (codedField, error) {
	name, options, more := strings.Cut(tag, ",")
	c := codedField{name: name}
	for more {
		var option string
		option, options, more = strings.Cut(options, ",")
		was, ok := strings.CutPrefix(option, "was=")
		if !ok || was == "" {
			return c, fmt.Errorf("cptypes: %w: %s has the tag %q: allowed are a name and was=NAME, separated by commas, or - alone",
				element.ErrUnsupported, at, tag)
		}
		c.was = append(c.was, was)
	}
	return c, nil
}
