package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeSqueue has this process, and what it starts, be in a Slurm job of which squeue tells the end as what end prints, a shell
// command. asked are the lines of who has asked it: the process, and how.
func fakeSqueue(t *testing.T, end string) (asked func() []string) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("#!/bin/sh\necho $PPID \"$*\" >>%s\n%s\n", log, end)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "squeue"), []byte(script), 0o700))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("SLURM_JOB_ID", "4711")
	return func() []string {
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// TestSlurmsLimit: a job in an allocation of Slurm ends in time before the limit that squeue tells, which was made shorter
// since the job was started. One process of it has asked, once.
func TestSlurmsLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	asked := fakeSqueue(t, `echo $(($(date +%s) + 5))`)
	t.Setenv("SLURM_JOB_END_TIME", fmt.Sprint(time.Now().Add(time.Hour).Unix()))
	j := startEnding(t, "-v")
	require.Equal(t, 75, j.ends(), "%s", &j.errs)
	require.Contains(t, j.errs.String(), `the job has a deadline source=Slurm (squeue) left=`)
	require.Contains(t, j.errs.String(), `the job is asked to end source=Slurm (squeue)`, "%s", &j.errs)
	require.Equal(t, []string{fmt.Sprintf("%d -h -j 4711 -o %%e", j.launcher())}, asked())

	fakeSqueue(t, `echo $(($(date +%s) + 3600))`) // the next job has time
	j.goesOn()
}
