package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bin has craft and the program that is used here.
var bin = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "approaches-test-"); err != nil {
		return "", err
	}
	built.Store(true)
	return dir, build(context.Background(), dir, known[1:2], io.Discard)
})

var built atomic.Bool

func TestMain(m *testing.M) {
	code := m.Run()
	if built.Load() {
		dir, _ := bin()
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// quick are arguments for trials.
func quick(t *testing.T, more ...string) []string {
	dir, err := bin()
	require.NoError(t, err)
	return append([]string{"-quick", "-bin", dir, "-programs", "cg"}, more...)
}

// One run of one program under each approach with both failures: the results are those without failures, as measure
// checks, each job has recovered once, and its parts are what they must be.
func TestRun(t *testing.T) {
	csv, document := filepath.Join(t.TempDir(), "csv"), filepath.Join(t.TempDir(), "json")
	base := t.TempDir()
	var out, log bytes.Buffer
	err := run(t.Context(), quick(t, "-runs", "1", "-pairings", "paper", "-failures", "process,node", "-dir", base, "-csv", csv, "-json", document), &out, &log)
	require.NoError(t, err, "%s", &log)
	require.Contains(t, out.String(), "| cg | node | GLOBAL-RESTART | file |")
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Empty(t, left)
	require.FileExists(t, csv)

	text, err := os.ReadFile(document)
	require.NoError(t, err)
	var got struct {
		Jobs []struct {
			Approach, Failure string
			Victim            victim
			Total             float64
			Parts             map[string]float64
		}
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Len(t, got.Jobs, 8)
	for _, job := range got.Jobs {
		for name, v := range job.Parts {
			require.Positive(t, v, "%s of %+v", name, job)
			require.Less(t, v, job.Total)
		}
	}
	for i := range 3 {
		require.Equal(t, got.Jobs[i].Victim, got.Jobs[i+1].Victim)
	}
}

// Who interrupts it gets what was measured until then, and waits for nothing.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	base := t.TempDir()
	var out bytes.Buffer
	log := &trigger{text: "run 1: cg", pull: cancel}
	began := time.Now()
	err := run(ctx, quick(t, "-runs", "1000", "-failures", "none", "-dir", base), &out, log)
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, out.String(), "| cg | none | CR |")
	require.Less(t, time.Since(began), 2*time.Minute)
	left, err := os.ReadDir(base)
	require.NoError(t, err)
	require.Empty(t, left)
}

// trigger pulls when a text is written.
type trigger struct {
	text string
	pull func()
}

func (t *trigger) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(t.text)) {
		t.pull()
	}
	return len(b), nil
}
