package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// scriptOfTheDocs is the job script below a heading of docs/ending.md.
func scriptOfTheDocs(t *testing.T, heading string) string {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "ending.md"))
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), "\n### "+heading+"\n")
	require.True(t, found, heading)
	_, script, found := strings.Cut(below, "```sh\n")
	require.True(t, found, heading)
	script, _, found = strings.Cut(script, "```\n")
	require.True(t, found, heading)
	return script
}

// batchJob is such a script between a program and a batch system that write what they are called for to a log.
type batchJob struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

func newBatchJob(t *testing.T, heading string, commands map[string]string) batchJob {
	j := batchJob{t: t, dir: t.TempDir()}
	commands["script"] = scriptOfTheDocs(t, heading)
	for name, script := range commands {
		require.NoError(t, os.WriteFile(filepath.Join(j.dir, name), []byte(script), 0o700))
	}
	j.cmd = exec.Command("bash", filepath.Join(j.dir, "script"))
	j.cmd.Dir = j.dir
	j.cmd.Env = append(os.Environ(), "PATH="+j.dir+":"+os.Getenv("PATH"), "LOG="+filepath.Join(j.dir, "log"), "SLURM_JOB_ID=17", "PBS_O_WORKDIR="+j.dir)
	require.NoError(t, j.cmd.Start())
	return j
}

func (j batchJob) log() string {
	text, _ := os.ReadFile(filepath.Join(j.dir, "log")) // there is none before the first line
	return strings.ReplaceAll(string(text), "\n", ";")
}

func (j batchJob) await(text string) {
	require.Eventually(j.t, func() bool { return strings.Contains(j.log(), text) }, time.Minute, time.Millisecond, j.log())
}

// catches waits until the shell has its trap.
func (j batchJob) catches(signal syscall.Signal) {
	require.Eventually(j.t, func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", j.cmd.Process.Pid))
		require.NoError(j.t, err)
		_, caught, _ := strings.Cut(string(status), "\nSigCgt:")
		mask, err := strconv.ParseUint(strings.Fields(caught)[0], 16, 64)
		return err == nil && mask&(1<<(signal-1)) != 0
	}, time.Minute, time.Millisecond)
}

func (j batchJob) ends() (code int) {
	_ = j.cmd.Wait()
	return j.cmd.ProcessState.ExitCode()
}

// TestJobScripts: the scripts of the documentation start the job again for 75, and for nothing else.
func TestJobScripts(t *testing.T) {
	for code, again := range map[string]bool{"75": true, "0": false, "76": false, "1": false} {
		program := "#!/bin/sh\necho ran >>$LOG\nexit " + code
		for heading, says := range map[string]string{"Slurm": "requeue 17;", "PBS": "script;"} {
			system := "#!/bin/sh\necho ${*##*/} >>$LOG"
			j := newBatchJob(t, heading, map[string]string{"craft": program, "scontrol": system, "qsub": system})
			end := j.ends()
			if again {
				require.Zero(t, end, heading)
				require.Equal(t, "ran;"+says, j.log(), heading)
				continue
			}
			require.Equal(t, code, strconv.Itoa(end), heading)
			require.Equal(t, "ran;", j.log(), heading)
		}
		if !again {
			loop := newBatchJob(t, "A loop (tried)", map[string]string{"heat": "#!/bin/sh\necho ran >>$LOG\n[ $(wc -l <$LOG) -ge 3 ] && exit " + code + "\nexit 75"})
			require.Equal(t, code, strconv.Itoa(loop.ends()))
			require.Equal(t, "ran;ran;ran;", loop.log())
		}
	}
}

// TestJobScriptThatGetsTheSignal: the shell passes it on, once or twice, and waits for the code of the job that saves.
func TestJobScriptThatGetsTheSignal(t *testing.T) {
	for _, signals := range []int{1, 2} {
		j := newBatchJob(t, "Slurm", map[string]string{
			"craft":    "#!/bin/sh\ntrap 'asked=yes; echo asked >>$LOG' USR2\necho ready >>$LOG\nuntil [ -e end ] && [ -n \"$asked\" ]; do sleep 0.02; done\necho saved >>$LOG\nexit 75",
			"scontrol": "#!/bin/sh\necho $* >>$LOG",
		})
		j.catches(syscall.SIGUSR2)
		j.await("ready;")
		want := "ready;"
		for range signals {
			require.NoError(t, j.cmd.Process.Signal(syscall.SIGUSR2))
			want += "asked;"
			j.await(want)
		}
		require.NoError(t, os.WriteFile(filepath.Join(j.dir, "end"), nil, 0o600))
		require.Zero(t, j.ends())
		require.Equal(t, want+"saved;requeue 17;", j.log())
	}
}
