package checkpoint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/env"
)

const (
	guide   = "../docs/checkpointing.md"
	command = "../docs/cli.md"
)

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// blocks are the listings of a language.
func blocks(text, language string) []string {
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// unindent removes what the lines begin with, so that a listing may be shown
// without the indentation that it has in its function.
func unindent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// Every Go listing of the guide stands in a test of the guide, word for word.
func TestGuideListings(t *testing.T) {
	files, err := filepath.Glob("guide*_test.go")
	require.NoError(t, err)
	tested := ""
	for _, file := range files {
		tested += unindent(readText(t, file))
	}
	listings := blocks(readText(t, guide), "go")
	require.Greater(t, len(listings), 20)
	for _, listing := range listings {
		if !strings.Contains(tested, unindent(listing)) { // without printing all files
			t.Errorf("a listing is not, word for word, in guide*_test.go:\n%s", listing)
		}
	}
}

// Every variable in the guide exists.
func TestGuideVariables(t *testing.T) {
	known := make(map[string]bool)
	for _, v := range env.Variables {
		known[v.Name] = true
	}
	found := regexp.MustCompile(`CRAFT_[A-Z_]+`).FindAllString(readText(t, guide), -1)
	require.Greater(t, len(found), 10)
	for _, name := range found {
		require.True(t, known[name], "%s does not exist", name)
	}
}

// Every command of the guide, with its flags, is in the reference of craft.
func TestGuideCommands(t *testing.T) {
	reference := readText(t, command)
	lines := 0
	for _, block := range blocks(readText(t, guide), "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			require.Greater(t, len(words), 1, line)
			require.Equal(t, "craft", words[0])
			// The rest of its row in the table of commands.
			row := regexp.MustCompile("\\| `craft " + words[1] + " .*").FindString(reference)
			require.NotEmpty(t, row, line)
			for _, word := range words[2:] {
				if strings.HasPrefix(word, "-") {
					require.Contains(t, row, "`"+word, line)
				}
			}
			lines++
		}
	}
	require.GreaterOrEqual(t, lines, 4)
}

// Every link of the guide leads to a file, or to one of its headings.
func TestGuideLinks(t *testing.T) {
	text := readText(t, guide)
	anchors := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		anchors["#"+strings.ReplaceAll(plain, " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1)
	require.Greater(t, len(links), 15)
	for _, m := range links {
		if link := m[1]; strings.HasPrefix(link, "#") {
			require.True(t, anchors[link], "no heading for %s", link)
		} else {
			require.FileExists(t, filepath.Join(filepath.Dir(guide), link))
		}
	}
}
