package checkpoint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/env"
)

const guide = "../docs/checkpointing.md"

// unindent removes what the lines begin with, so that a listing may be shown
// without the indentation that it has in its function.
func unindent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// Every Go listing of the guide stands in guide_test.go, word for word.
func TestGuideListings(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	code, err := os.ReadFile("guide_test.go")
	require.NoError(t, err)
	tested := unindent(string(code))
	listings := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(listings), 12)
	for _, l := range listings {
		require.Contains(t, tested, unindent(l[1]), "a listing is not, word for word, in guide_test.go:\n%s", l[1])
	}
}

// Every variable in the guide exists.
func TestGuideVariables(t *testing.T) {
	text, err := os.ReadFile(guide)
	require.NoError(t, err)
	known := make(map[string]bool)
	for _, v := range env.Variables {
		known[v.Name] = true
	}
	found := regexp.MustCompile(`CRAFT_[A-Z_]+`).FindAllString(string(text), -1)
	require.Greater(t, len(found), 10)
	for _, name := range found {
		require.True(t, known[name], "%s does not exist", name)
	}
}
