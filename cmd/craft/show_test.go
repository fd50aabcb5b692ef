package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func keyNamed(t *testing.T, v shownVersion, key string) shownKey {
	for _, k := range v.Keys {
		if k.Key == key {
			return k
		}
	}
	require.Fail(t, "no key "+key)
	return shownKey{}
}

func TestShowAllRanks(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 4, 3)
	dir := filepath.Join(base, "c")
	s := decode[shownVersion](t, exitFine, "show", dir, "--ranks", "--values", "--limit", "2")
	require.EqualValues(t, 3, s.Version)
	require.EqualValues(t, 20, *s.Iteration)
	require.Equal(t, 4, s.Ranks)
	require.JSONEq(t, `{"nx": 4, "seed": "s"}`, string(s.Fingerprint))

	v := keyNamed(t, s, "v")
	require.Equal(t, "float64[1000] partitioned over 4 ranks", v.Description)
	require.EqualValues(t, 8*arrayLength, v.RawBytes)
	require.Nil(t, v.Digest)
	require.Equal(t, []string{"0.5", "1.5"}, v.Values)
	require.True(t, v.More)
	require.Len(t, v.ByRank, 4)
	require.Equal(t, []int64{750}, v.ByRank[3].Lo)
	require.Equal(t, []int64{1000}, v.ByRank[3].Hi)

	shared := keyNamed(t, s, "shared")
	require.EqualValues(t, 160_000, shared.RawBytes)
	require.NotNil(t, shared.Digest)
	require.Greater(t, *shared.Ratio, 1.0)
	require.Equal(t, []string{"-7"}, keyNamed(t, s, "steps").Values)
	require.EqualValues(t, 4*8, keyNamed(t, s, "steps").RawBytes)
	require.Equal(t, []string{`"a"`, `"bc"`}, keyNamed(t, s, "names").Values)
	require.Equal(t, []string{"true"}, keyNamed(t, s, "on").Values)
}

func TestShowOneRank(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 4, 2)
	dir := filepath.Join(base, "c")
	byRank := decode[shownVersion](t, exitFine, "show", dir, "--version", "1", "--rank", "2")
	require.Equal(t, 2, *byRank.Rank)
	require.Equal(t, "float64[250] partitioned [500:750] of 1000", keyNamed(t, byRank, "v").Description)
	file := parts(t, dir, 1)[2]
	require.Equal(t, keyNamed(t, byRank, "v"), keyNamed(t, decode[shownVersion](t, exitFine, "show", file), "v"))
	t.Chdir(filepath.Dir(file))
	require.Equal(t, 1, int(decode[shownVersion](t, exitFine, "show", ".").Version))
	require.Equal(t, 2, *decode[shownVersion](t, exitFine, "show", filepath.Base(file)).Rank)

	loose := filepath.Join(t.TempDir(), "copy")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(loose, data, 0o600))
	r := craft(t, "show", loose)
	require.Equal(t, exitFine, r.code)
	require.Contains(t, r.stderr, "no program will find it")
}

func TestShowText(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	r := craft(t, "show", filepath.Join(base, "c"), "--values")
	require.Equal(t, exitFine, r.code)
	require.Contains(t, r.stdout, "fingerprint  nx: 4\n             seed: \"s\"\n")
	require.Regexp(t, `(?m)^on +bool +2 +2 +1\.00 +2 +[0-9a-f]{16}$`, r.stdout)
	require.Contains(t, r.stdout, `"grüße\x1b[31m"`)
	require.NotContains(t, r.stdout, "\x1b")
}

func TestShowRefuses(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 2)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"holds checkpoints but is none itself; try: craft show " + base, []string{base}},
		{"has no version 9, there are: 1, 2", []string{filepath.Join(base, "c"), "--version", "9"}},
		{"there is no rank 2, it was written by ranks 0 to 1", []string{filepath.Join(base, "c"), "--rank", "2"}},
		{"damaged file", []string{filepath.Join(base, "c", "LATEST.json")}},
	} {
		r := craft(t, append([]string{"show"}, c.args...)...)
		require.Equal(t, exitFailed, r.code)
		require.Contains(t, r.stderr, c.says)
	}
}

func TestShowWithoutCompleteVersion(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	dir := filepath.Join(base, "c")
	require.NoError(t, os.Remove(parts(t, dir, 1)[0]))
	r := craft(t, "show", dir)
	require.Equal(t, exitFine, r.code)
	require.Contains(t, r.stderr, "no version is complete")
	require.Contains(t, r.stdout, "1 of 2 parts")
}

// Damage that is met on the way to values is a failure, and hides nothing else.
func TestShowDamagedValues(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 1)
	dir := filepath.Join(base, "c")
	file := parts(t, dir, 1)[0]
	edit(t, file, func(b []byte) []byte {
		b[200] ^= 1 // behind the header
		return b
	})
	found := decode[verification](t, exitFailed, "verify", dir).Versions[0].Findings
	require.Len(t, found, 1)
	require.Equal(t, "v", found[0].Key)

	require.Equal(t, exitFine, craft(t, "show", dir).code, "the index is whole")
	for _, at := range []string{dir, file} {
		r := craft(t, "show", at, "--values")
		require.Equal(t, exitFailed, r.code)
		require.Regexp(t, `(?m)^v +0 +<container: damaged file`, r.stdout)
		require.Regexp(t, `(?m)^steps +0 +-7$`, r.stdout)
		require.Contains(t, r.stderr, file+`: the values of key "v" cannot be read: container: damaged file`)
		require.Equal(t, 1, strings.Count(r.stderr, "\n"), r.stderr)
		s := decode[shownVersion](t, exitFailed, "show", at, "--values")
		require.Contains(t, keyNamed(t, s, "v").Values[0], "damaged file")
	}
	s := decode[shownVersion](t, exitFine, "show", dir, "--rank", "1", "--values")
	require.Equal(t, []string{"<in the file of another rank>"}, keyNamed(t, s, "shared").Values)
}

// A flag that names something else than DIR does is a mistake; one that says the same is
// none.
func TestFlagsThatContradictTheDirectory(t *testing.T) {
	base := t.TempDir()
	write(t, base, "c", 2, 2)
	file := parts(t, filepath.Join(base, "c"), 1)[0]
	version, loose := filepath.Dir(file), filepath.Join(t.TempDir(), "copy")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(loose, data, 0o600))
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "--version 2: " + version + " is of version 1", []string{"show", version, "--version", "2"}},
		{exitUsage, "--version latest: ", []string{"show", version, "--version", "latest"}},
		{exitUsage, "--version 2: ", []string{"show", file, "--version", "2"}},
		{exitUsage, "--rank 1: " + file + " is the file of rank 0", []string{"show", file, "--rank", "1"}},
		{exitUsage, "--rank 1: " + loose, []string{"show", loose, "--rank", "1"}},
		{exitUsage, "--version 2: " + loose, []string{"show", loose, "--version", "2"}},
		{exitUsage, "--latest: " + version, []string{"verify", version, "--latest"}},
		{exitUsage, "--latest: " + file, []string{"verify", "--latest", file}},
		{exitFine, "", []string{"show", version, "--version", "1", "--rank", "1"}},
		{exitFine, "", []string{"show", file, "--version", "01", "--rank", "0"}},
		{exitFine, "no program will find it", []string{"show", loose, "--version", "1", "--rank", "0"}},
		{exitFine, "", []string{"verify", version, "--all"}},
	} {
		r := craft(t, c.args...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.stderr)
		require.Contains(t, r.stderr, c.says)
		require.Equal(t, c.code == exitFine, r.stdout != "")
	}
}
