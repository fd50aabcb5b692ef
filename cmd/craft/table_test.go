package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTable(t *testing.T) {
	tab := newTable(left("KEY"), right("SIZE"), left("NOTE").drop(2), left("LOCK").drop(1), left("WHY").drop(1))
	tab.add("世界", "7", "a\x1b\n", "", "because")
	tab.add("x", "1234", "", "", "")
	for width, want := range map[int][]string{
		0: {
			"KEY   SIZE  NOTE     LOCK  WHY",
			"世界     7  a\\x1b\\n  -     because",
			"x     1234  -        -     -",
		},
		28: {
			"KEY   SIZE  NOTE     WHY",
			"世界     7  a\\x1b\\n  because",
			"x     1234  -        -",
		},
		27: {
			"KEY   SIZE  NOTE",
			"世界     7  a\\x1b\\n",
			"x     1234  -",
		},
		8: {
			"KEY   S…",
			"世界   …",
			"x     1…",
		},
	} {
		require.Equal(t, strings.Join(want, "\n"), tab.text(width), width)
	}
}
