package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                "",
		"grüße 日本 \ufffd": "grüße 日本 \ufffd",
		"a\x9b31mb":       `a\x9b31mb`,
		"\x9b":            `\x9b`,
		"ä\xc3":           `ä\xc3`,
		"\x1b[31m\u009b":  `\x1b[31m\u009b`,
		"a\nb\rc\td\x00":  `a\nb\rc\td\x00`,
		"\u202e":          `\u202e`,
		"\xed\xa0\x80":    `\xed\xa0\x80`,
	} {
		require.Equal(t, want, printable(text))
	}
	require.Equal(t, "a\n       b\\x9b\n       ", printableLines("a\nb\x9b\n"))
}

// No name makes a command print a control character, or a line that looks like one of its
// own.
func TestNamesAreHarmless(t *testing.T) {
	base := filepath.Join(t.TempDir(), "x\x9b31m\nversion      7\ncraft: all is well")
	require.NoError(t, os.Mkdir(base, 0o700))
	write(t, base, "c", 1, 1)
	dir := filepath.Join(base, "c")
	damaged := filepath.Join(t.TempDir(), "d\x9b\ncraft: all is well")
	require.NoError(t, os.Mkdir(damaged, 0o700))
	write(t, damaged, "c", 1, 1)
	edit(t, parts(t, filepath.Join(damaged, "c"), 1)[0], func([]byte) []byte { return nil })
	for _, args := range [][]string{
		{"show", dir}, {"ls", base}, {"verify", base}, {"verify", damaged}, {"ls", damaged}, {"show", damaged},
		{"report", filepath.Join(base, "none")}, {"unlock", dir}, {"show", dir, "--version", "\x9b\ncraft: all is well"},
		{"ls", base, "--\x9b\ncraft: all is well"}, {"\x9b\ncraft: all is well"}, {"run", "-n", "1", "./\x9b\ncraft: all is well"},
	} {
		r := craft(t, args...)
		out := r.stdout + r.stderr
		require.NotEmpty(t, out)
		require.NotContains(t, out, "\x9b", "%q", args)
		for line := range strings.Lines(out) {
			require.False(t, strings.HasPrefix(line, "craft: all is well") || strings.HasPrefix(line, "version      7"), "%q: %s", args, out)
		}
	}
}
