package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

type fake struct{ script, failures string }

// What is wrong with a job ends the measurement, and is told. Here craft is a script: the first job is the one
// without failures that all are compared with.
func TestWhatEndsTheMeasurement(t *testing.T) {
	const (
		first = `: >> "$CRAFT_TEST_TIMELINE"; if mkdir "$0.first" 2>/dev/null; then echo '{"iterations":5,"ranks":4,"digest":"a"}'; exit; fi; `
		good  = `echo '{"iterations":5,"ranks":4,"digest":"a"}'`
	)
	for want, c := range map[string]fake{
		"5 iterations on 4 ranks with digest b, and without failures 5 on 4 with a": {first + `echo '{"iterations":5,"ranks":4,"digest":"b"}'`, "none"},
		"4 iterations on 4 ranks with digest a":                                     {first + `echo '{"iterations":4,"ranks":4,"digest":"a"}'`, "none"},
		"5 iterations on 3 ranks with digest a":                                     {first + `echo '{"iterations":5,"ranks":3,"digest":"a"}'`, "none"},
		"the failure has not happened":                                              {first + good, "process"},
		"exit status 3\nwhy it has failed":                                          {first + `echo why it has failed >&2; exit 3`, "none"},
		"cg without failures: ":                                                     {"exit 1", "none"},
		"there must be 3 or more":                                                   {`: >> "$CRAFT_TEST_TIMELINE"; echo '{"iterations":2,"ranks":4,"digest":"a"}'`, "none"},
		"timeline: no such file or directory":                                       {good, "none"},
		`without the failure of one`:                                                {first + `echo '{"epoch":1}' >> "$CRAFT_TEST_TIMELINE"; ` + good, "none"},
	} {
		t.Run(want, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "craft"), []byte("#!/bin/sh\n"+c.script+"\n"), 0o700))
			err := run(t.Context(), []string{"-quick", "-timeout", "30s", "-bin", dir, "-programs", "cg", "-failures", c.failures, "-dir", t.TempDir()}, io.Discard, io.Discard)
			require.ErrorContains(t, err, want)
		})
	}
}
