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
	levels  = "../docs/storage.md"
	command = "../docs/cli.md"
)

// guides are the documents that these tests read, and how much there is in each
// at least of what they look for.
var guides = map[string]struct{ listings, variables, commands, links int }{
	guide:  {20, 10, 4, 15},
	levels: {3, 10, 6, 10},
}

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

// Every Go listing of a guide stands in a test of the guide, word for word.
func TestGuideListings(t *testing.T) {
	files, err := filepath.Glob("guide*_test.go")
	require.NoError(t, err)
	tested := ""
	for _, file := range files {
		tested += unindent(readText(t, file))
	}
	for path, least := range guides {
		listings := blocks(readText(t, path), "go")
		require.Greater(t, len(listings), least.listings, path)
		for _, listing := range listings {
			if !strings.Contains(tested, unindent(listing)) { // without printing all files
				t.Errorf("%s: a listing is not, word for word, in guide*_test.go:\n%s", path, listing)
			}
		}
	}
}

// Every variable in a guide exists.
func TestGuideVariables(t *testing.T) {
	known := make(map[string]bool)
	for _, v := range env.Variables {
		known[v.Name] = true
	}
	for path, least := range guides {
		found := regexp.MustCompile(`CRAFT_[A-Z_]+`).FindAllString(readText(t, path), -1)
		require.Greater(t, len(found), least.variables, path)
		for _, name := range found {
			require.True(t, known[name], "%s: %s does not exist", path, name)
		}
	}
}

// Every command of a guide, with its flags, is in the reference of craft.
func TestGuideCommands(t *testing.T) {
	for path, least := range guides {
		lines := checkCommands(t, readText(t, path))
		require.GreaterOrEqual(t, lines, least.commands, path)
	}
}

// checkCommands counts the lines in which craft looks at something. Others are the
// shell's, or run a job.
func checkCommands(t *testing.T, text string) (lines int) {
	reference := readText(t, command)
	for _, block := range blocks(text, "sh") {
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "craft" || words[1] == "run" {
				continue
			}
			name := words[1]
			if name == "node" { // it has commands of its own
				name += " " + words[2]
			}
			// The rest of its row in the table of commands.
			row := regexp.MustCompile("\\| `craft " + name + "[ `].*").FindString(reference)
			require.NotEmpty(t, row, line)
			if strings.Contains(row, "[below]") { // its flags are there
				row = reference
			}
			for _, word := range words[2:] {
				if strings.HasPrefix(word, "-") {
					known := regexp.MustCompile("`[^`\n]*" + word).MatchString(row)
					require.True(t, known, "%s: %s is not in the reference", line, word)
				}
			}
			lines++
		}
	}
	return lines
}

// Every link of a guide leads to a file, or to one of its headings.
func TestGuideLinks(t *testing.T) {
	for path, least := range guides {
		text := withoutListings(readText(t, path))
		anchors := make(map[string]bool)
		for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
			plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
			anchors["#"+strings.ReplaceAll(plain, " ", "-")] = true
		}
		links := regexp.MustCompile(`\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1)
		require.Greater(t, len(links), least.links, path)
		for _, m := range links {
			if link := m[1]; strings.HasPrefix(link, "#") {
				require.True(t, anchors[link], "%s: no heading for %s", path, link)
			} else {
				link, _, _ = strings.Cut(link, "#")
				require.FileExists(t, filepath.Join(filepath.Dir(path), link))
			}
		}
	}
}

// withoutListings leaves out what only looks like a link.
func withoutListings(text string) string {
	return regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, "")
}
