package checkpoint

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/demand"
)

// plans are those that a process was told of, by source.
type plans struct {
	mu   sync.Mutex
	list map[string]time.Duration
}

func (p *plans) ask(d demand.Demand) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list[d.Source] = d.Left; d.Left == demand.NoLimit {
		delete(p.list, d.Source)
	}
}

func (p *plans) sources() (list []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for source := range p.list {
		list = append(list, source)
	}
	return list
}

// A program with a checkpoint for each of its stages asks the batch system once in a while, not at each of them, and
// a deadline that is gone plans nothing any more.
func TestDeadlinesAreThoseOfTheProcess(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "squeue"), []byte("#!/bin/sh\necho 4102444800\necho x >>'"+asked+"'\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("SLURM_JOB_ID", "17")
	t.Setenv("SLURM_JOB_END_TIME", "1000000000") // it was made longer since
	told := plans{list: make(map[string]time.Duration)}
	d := deadlines{ask: told.ask}
	stage := func(ends func() bool) {
		require.NoError(t, d.configure())
		require.True(t, d.passed(t.Context()).None())
		release := d.use(slog.New(slog.DiscardHandler))
		defer release()
		require.Eventually(t, ends, time.Minute, time.Millisecond)
	}
	knows := func() bool { return len(told.sources()) == 1 }
	for range 5 {
		stage(knows)
		t.Setenv("CRAFT_CP_PATH", dir) // is not about deadlines
	}
	text, err := os.ReadFile(asked)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(text), "x"), "by the first one, whether it has passed, and by the watcher")
	require.Equal(t, []string{"Slurm (squeue)"}, told.sources())

	t.Setenv("SLURM_JOB_ID", "")
	t.Setenv("SLURM_JOB_END_TIME", "")
	stage(func() bool { return len(told.sources()) == 0 })
	t.Setenv("CRAFT_DEADLINE", "+1h")
	stage(func() bool { list := told.sources(); return len(list) == 1 && list[0] == "CRAFT_DEADLINE" })
}
