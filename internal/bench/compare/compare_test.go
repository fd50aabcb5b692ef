package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, lines ...string) string {
	file := filepath.Join(t.TempDir(), "plan")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	return file
}

// Each round has all measurements, and a ratio is taken within a round: the machine may be
// another one in the next.
func TestCompare(t *testing.T) {
	slow := filepath.Join(t.TempDir(), "round")
	next := "echo x >> " + slow + "; n=$(wc -l < " + slow + "); "
	plan := write(t, "# what", "",
		"a\ta=([0-9.]+)\t"+next+"echo a=$((10 * n)).0",
		"b\tb=([0-9]+)\techo b=$((5 * $(wc -l < "+slow+"))) b=1000 b=0",
		"peer\tx=(.*)\texit 77",
		"ratio\ta to b\ta / b",
		"ratio\tpeer\tpeer / b",
	)
	var out, log bytes.Buffer
	require.NoError(t, compare(t.Context(), []string{"-rounds", "5", "-quiet", "1ms", plan}, &out, &log), log.String())
	require.Contains(t, out.String(), "| a | 30 (10 to 50) | 5 |\n")
	require.Contains(t, out.String(), "| b | 15 (5 to 25) | 5 |\n", "of several figures the median")
	require.Contains(t, out.String(), "| a to b | 2.00 (2.00 to 2.00) | a / b |\n")
	require.NotContains(t, out.String(), "peer")
	require.Contains(t, log.String(), "round 5 of 5: b: 25.0 ms")

}

func TestMistakes(t *testing.T) {
	for want, lines := range map[string][]string{
		"line 2: 2 fields":                     {"# x", "a\tb"},
		"has 2 groups":                         {"a\t(.)(.)\ttrue"},
		"line 1: error parsing regexp":         {"a\t(\ttrue"},
		"it must be of two measurements above": {"a\t(.)\ttrue", "ratio\tr\ta / b"},
		"\"a\" is measured twice":              {"a\t(.)\ttrue", "a\t(.)\ttrue"},
		"nothing that it has printed matches":  {"a\tms=(.)\techo x"},
		"\"x\" is no time":                     {"a\tms=(.)\techo ms=x"},
		"\"NaN\" is no time":                   {"a\tms=(.*)\techo ms=NaN"},
		"\"-Inf\" is no time":                  {"a\tms=(.*)\techo ms=-Inf"},
		"\"-3\" is no time":                    {"a\tms=(.*)\techo ms=-3"},
		"it has no measurement":                {"# nothing"},
		"round 1: a: exit status 3":            {"a\t(.)\texit 3"},
	} {
		err := compare(t.Context(), []string{"-quiet", "1ms", write(t, lines...)}, &bytes.Buffer{}, &bytes.Buffer{})
		require.ErrorContains(t, err, want)
	}
	require.ErrorContains(t, compare(t.Context(), nil, &bytes.Buffer{}, &bytes.Buffer{}), "one plan is needed")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	require.Error(t, compare(ended, []string{"-quiet", "1h", write(t, "a\t(.)\tsleep 60; echo 1")}, &bytes.Buffer{}, &bytes.Buffer{}))
	require.Less(t, time.Since(began), 30*time.Second)
}

// A command that hangs ends, with what it has started, and is named.
func TestCommandThatHangs(t *testing.T) {
	began := time.Now()
	err := compare(t.Context(), []string{"-quiet", "1ms", "-timeout", "200ms", write(t, "slow\t(.)\tsleep 60 & sleep 60; echo 1")}, &bytes.Buffer{}, &bytes.Buffer{})
	require.ErrorContains(t, err, "round 1: slow: it has not ended after 200ms (-timeout)")
	require.Less(t, time.Since(began), 9*time.Second, "what it has started in the background holds the output")
}

func TestPlansOfTheRepository(t *testing.T) {
	plans, err := filepath.Glob("*.plan")
	require.NoError(t, err)
	require.NotEmpty(t, plans)
	for _, file := range plans {
		f, err := os.Open(file)
		require.NoError(t, err)
		p, err := parsePlan(f)
		require.NoError(t, err, file)
		require.NotEmpty(t, p.ratios)
		require.NoError(t, f.Close())
	}
}

// What is read from the output of one command is left out together.
func TestAbsentTogether(t *testing.T) {
	plan := write(t, "a\ta=(.)\texit 77", "b\tb=(.)\texit 77", "c\tc=(.)\techo c=3", "ratio\tr\tc / b")
	var out bytes.Buffer
	require.NoError(t, compare(t.Context(), []string{"-rounds", "2", "-quiet", "1ms", plan}, &out, &bytes.Buffer{}))
	require.Contains(t, out.String(), "| c | 3 (3 to 3) | 2 |\n")
	require.NotContains(t, out.String(), "| b |")
}
