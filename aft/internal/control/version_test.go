package control

import (
	"crypto/sha256"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionNamesTheMessages: a process that knows other messages would take new ones
// for damaged, and kill itself or another one, where it should say that its version differs.
func TestVersionNamesTheMessages(t *testing.T) {
	var text strings.Builder
	describe(&text, reflect.TypeFor[Message](), make(map[reflect.Type]bool))
	fmt.Fprintf(&text, "%q %q\n%x", kinds, ops, framed(t, full())) // what is written, and in which order
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(text.String())))[:16]
	require.Equal(t, "16 107dcf847548910c", fmt.Sprint(Version, " ", digest),
		"the messages have changed: raise Version, and put both here\n%s", text.String())
}

// describe writes what a type is made of.
func describe(text *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for f := range t.Fields() {
		fmt.Fprintln(text, t, f.Name, f.Type)
	}
	for f := range t.Fields() {
		describe(text, f.Type, seen)
	}
}
