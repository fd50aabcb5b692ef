package checkpoint

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// canonical encodes a fingerprint so that equal problems give equal bytes:
// JSON with the keys of objects in order.
func canonical(problem any) ([]byte, error) {
	if problem == nil {
		return nil, nil
	}
	data, err := json.Marshal(problem)
	if err != nil {
		return nil, fmt.Errorf("%w: the fingerprint cannot be encoded as JSON: %w", ErrArgument, err)
	}
	if err := allEncoded(reflect.ValueOf(problem), "fingerprint"); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArgument, err)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%w: fingerprint: %w", ErrArgument, err)
	}
	return json.Marshal(tree)
}

// allEncoded returns an error if encoding/json leaves a part of v out without a word:
// problems that differ in it would be taken for one. at is the path, for messages.
func allEncoded(v reflect.Value, at string) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			if at == "fingerprint" {
				return fmt.Errorf("%s: a nil %v tells problems apart by nothing", at, v.Type())
			}
			return nil
		}
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.String:
	default:
		return nil
	}
	if encodesItself(v) {
		return promoted(v, at)
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return allEncoded(v.Elem(), at)
	case reflect.String:
		if !utf8.ValidString(v.String()) {
			return fmt.Errorf("%s is %q, which is not UTF-8, and would be taken for other such strings: use a []byte", at, v.String())
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			path := fmt.Sprintf("%s[%v]", at, key)
			if err := errors.Join(allEncoded(key, "the key of "+path), allEncoded(v.MapIndex(key), path)); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := allEncoded(v.Index(i), fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		return fieldsEncoded(v, at, make(map[string]string), nil)
	}
	return nil
}

// fieldsEncoded is allEncoded for a struct. taken are the names under which fields are
// encoded, those of embedded structs beside those of the struct around them: of two with
// one name encoding/json leaves out one or both. around are the types of those.
func fieldsEncoded(v reflect.Value, at string, taken map[string]string, around []reflect.Type) error {
	around = append(around, v.Type())
	for i := range v.NumField() {
		f := v.Type().Field(i)
		path := at + "." + f.Name
		if !counts(f) {
			continue
		}
		inner := f.Type
		if f.Anonymous && inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embedded := f.Anonymous && inner.Kind() == reflect.Struct
		if !f.IsExported() && !embedded {
			return fmt.Errorf("%s is unexported, so that problems that differ in it would be taken for one: export it, or leave it out with the tag `craft:\"-\"`", path)
		}
		name := nameInJSON(f)
		if embedded && name == "" {
			within := v.Field(i)
			again := slices.Contains(around, inner)
			switch {
			case within.Kind() == reflect.Struct:
			case !within.IsNil() && again:
				return fmt.Errorf("%s is left out, because it is embedded in a struct of its own type: give it a name", path)
			case !within.IsNil():
				within = within.Elem()
			case again:
				continue
			default:
				within = reflect.Zero(inner) // its names count all the same
			}
			if err := fieldsEncoded(within, path, taken, around); err != nil {
				return err
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		if other, ok := taken[name]; ok {
			return fmt.Errorf("%s and %s are both encoded as %q, so that one of them is left out", other, path, name)
		}
		taken[name] = path
		if err := allEncoded(v.Field(i), path); err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether problems that differ in a field are to be different ones.
func counts(f reflect.StructField) bool {
	return f.Tag.Get("json") != "-" && (f.IsExported() || f.Tag.Get("craft") != "-")
}

// nameInJSON is the name that the tag of a field gives, if encoding/json takes it.
func nameInJSON(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	strange := func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if strings.ContainsFunc(name, strange) {
		return ""
	}
	return name
}

// promoted returns an error if a struct of several fields is encoded by a method that it
// has from one that is embedded in it: nothing would be left of the others.
func promoted(v reflect.Value, at string) error {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct || declares(v.Type()) {
		return nil
	}
	fields := 0
	for i := range v.NumField() {
		if counts(v.Type().Field(i)) {
			fields++
		}
	}
	if fields < 2 {
		return nil
	}
	return fmt.Errorf("%s: encoding/json encodes all of %v by a method of a struct that is embedded in it, so that its other fields are left out: make that a field with a name", at, v.Type())
}

// declares tells a method that t declares from one that it has from an embedded field:
// for that the compiler makes a function that stands in no file.
func declares(t reflect.Type) bool {
	for _, t := range []reflect.Type{t, reflect.PointerTo(t)} {
		m, ok := t.MethodByName("MarshalJSON")
		if !ok {
			m, ok = t.MethodByName("MarshalText")
		}
		if !ok {
			continue
		}
		pc := m.Func.Pointer()
		if file, _ := runtime.FuncForPC(pc).FileLine(pc); file != "<autogenerated>" {
			return true
		}
	}
	return false
}

// encodesItself reports whether encoding/json asks v what it is encoded as.
func encodesItself(v reflect.Value) bool {
	for _, m := range []reflect.Type{reflect.TypeFor[json.Marshaler](), reflect.TypeFor[encoding.TextMarshaler]()} {
		if v.Type().Implements(m) || v.CanAddr() && reflect.PointerTo(v.Type()).Implements(m) {
			return true
		}
	}
	return false
}

func checkFingerprint(c *core, stored []byte) error {
	if bytes.Equal(stored, c.fingerprint) {
		return nil
	}
	return fmt.Errorf("%w: %s: %s; use another directory, run with the stored parameters, or delete this directory",
		ErrFingerprint, c.dir(), difference(stored, c.fingerprint))
}

// difference names the fields that differ, old and new.
func difference(stored, mine []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(stored, &a) != nil || json.Unmarshal(mine, &b) != nil {
		return fmt.Sprintf("stored %s, now %s", orNone(stored), orNone(mine))
	}
	all := make(map[string]json.RawMessage)
	maps.Copy(all, a)
	maps.Copy(all, b)
	var fields []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(a[k], b[k]) {
			fields = append(fields, fmt.Sprintf("%s: stored %s, now %s", k, orNone(a[k]), orNone(b[k])))
		}
	}
	return strings.Join(fields, "; ")
}

func orNone(data []byte) string {
	if len(data) == 0 {
		return "nothing"
	}
	return string(data)
}
