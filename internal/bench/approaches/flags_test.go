package main

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	c, err := parse(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, shape{8, 4}, c.shape)
	require.Equal(t, 10, c.runs)
	require.Len(t, c.programs, 3)
	require.Equal(t, []string{"-size", "12", "-iters", "40"}, c.programs[2].args)
	require.Equal(t, approaches, c.approaches)

	c, err = parse([]string{"-quick", "-np", "6", "-programs", "cg,md", "-approaches", "GLOBAL-RESTART,CR", "-failures", "node", "-pairings", "file", "-cg", "-iters 5", "-csv", "x"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, shape{6, quickNodes}, c.shape)
	require.Equal(t, quickRuns, c.runs)
	require.Less(t, c.quiet, time.Second/10)
	require.Equal(t, []string{"md", "cg"}, []string{c.programs[0].name, c.programs[1].name}, "in the order of the paper's list")
	require.Equal(t, "-nx", c.programs[0].args[0])
	require.Equal(t, []string{"-iters", "5"}, c.programs[1].args)
	require.Equal(t, []string{redeploy, globalRestart}, []string{c.approaches[0].name, c.approaches[1].name})
	require.Equal(t, []failure{node}, c.failures)
	require.Equal(t, []pairing{onFile}, c.pairings)
	require.Equal(t, "x", c.csv)
	require.Nil(t, known[1].args, "what one command line says is not kept")
}

func TestMistakes(t *testing.T) {
	for want, args := range map[string][]string{
		`-programs: there is no "hpl"; known are md, cg, hydro`: {"-programs", "hpl"},
		`-approaches: there is no "cr"; known are CR, ULFM`:     {"-approaches", "CR,cr"},
		`-failures: there is no ""`:                             {"-failures", ""},
		`-pairings: there is no "x"`:                            {"-pairings", "x"},
		"-np 1: it must be at least 2":                          {"-np", "1"},
		"-nodes 5: it must be 2 to 4":                           {"-np", "4", "-nodes", "5"},
		"-nodes 1: it must be 2 to 8":                           {"-nodes", "1"},
		"-runs 0: it must be at least 1":                        {"-runs", "0"},
		"-timeout 0s: it must be more than 0":                   {"-timeout", "0"},
		`unexpected argument "cg"`:                              {"cg"},
		"not defined: -x":                                       {"-x"},
	} {
		_, err := parse(args, io.Discard)
		require.ErrorContains(t, err, want)
	}
}

func TestReadResult(t *testing.T) {
	r, err := readResult(bytes.NewBufferString("warning\n{\"iterations\":5,\"ranks\":2,\"recoveries\":1,\"digest\":\"ab\"}\n"))
	require.NoError(t, err)
	require.Equal(t, result{5, 2, 1, "ab"}, r)
	for want, text := range map[string]string{`its result ""`: "", "its result \"x\"": "{}\nx", "no digest": "{}"} {
		_, err := readResult(bytes.NewBufferString(text))
		require.ErrorContains(t, err, want)
	}
}
