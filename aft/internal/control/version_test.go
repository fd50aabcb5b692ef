package control

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVersionNamesTheMessages: a process that knows other messages would take new ones
// for damaged, and kill itself or another one, where it should say that its version differs.
func TestVersionNamesTheMessages(t *testing.T) {
	var text strings.Builder
	describe(&text, reflect.TypeFor[Message](), make(map[reflect.Type]bool))
	fmt.Fprintln(&text, slices.Sorted(maps.Keys(checks)))
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(text.String())))[:16]
	require.Equal(t, "13 5b0826a667267cda", fmt.Sprint(Version, " ", digest),
		"the messages have changed: raise Version, and put both here\n%s", text.String())
}

// describe writes what a type looks like as JSON.
func describe(text *strings.Builder, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for f := range t.Fields() {
		fmt.Fprintln(text, t, f.Tag.Get("json"), f.Type)
	}
	for f := range t.Fields() {
		describe(text, f.Type, seen)
	}
}
