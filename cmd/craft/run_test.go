package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/testsignal"
)

// commandVariable makes the test binary the command craft.
const commandVariable = "CRAFT_TEST_COMMAND"

func TestMain(m *testing.M) {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if os.Getenv(commandVariable) != "" {
		_ = os.Unsetenv(commandVariable)
		main()
	}
	if os.Getenv(savingVariable) != "" {
		os.Exit(savingProgram())
	}
	if base := os.Getenv(askedVariable); base != "" {
		os.Exit(askedProgram(base))
	}
	if os.Getenv(endingVariable) != "" {
		os.Exit(endingProgram())
	}
	testsignal.Restore()
	os.Exit(m.Run())
}

// craftProcess runs a command line in a process of its own, as daemons need it.
func craftProcess(t *testing.T, args ...string) result {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), commandVariable+"=1", "GORACE=atexit_sleep_ms=0")
	if err := cmd.Run(); err != nil {
		require.NotNil(t, cmd.ProcessState, "%v", err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

func TestRun(t *testing.T) {
	r := craftProcess(t, "run", "-n", "4", "--nodes", "2", "--tag-output", "--", "sh", "-c", "echo out; echo err >&2; exit $0", "0")
	require.Zero(t, r.code, r.stderr)
	for _, text := range []string{r.stdout, r.stderr} {
		for _, rank := range []string{"[0] ", "[1] ", "[2] ", "[3] "} {
			require.Equal(t, 1, strings.Count(text, rank), text)
		}
	}

	r = craftProcess(t, "run", "-n", "2", "sh", "-c", "exit 7") // flags after the program are its own
	require.Equal(t, 7, r.code)
	require.Contains(t, r.stderr, "exit status 7")
	require.NotContains(t, r.stderr, "--help")

	r = craftProcess(t, "run", "-v", "-n", "1", "--recovery", "shrinking", "--spawn", "reuse", "--node-path", t.TempDir(), "env")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "CRAFT_COMM_RECOVERY_POLICY=SHRINKING\n")
	require.Contains(t, r.stdout, "CRAFT_COMM_SPAWN_POLICY=REUSE\n")
}

// A policy in the environment that is none is found before anything is started, as one
// of a flag is; a flag wins.
func TestRunChecksPoliciesOfTheEnvironment(t *testing.T) {
	for variable, flag := range map[string][]string{
		"CRAFT_COMM_RECOVERY_POLICY": {"--recovery", "SHRINKING"}, "CRAFT_COMM_SPAWN_POLICY": {"--spawn", "REUSE"},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Setenv(variable, "SHRNKING")
			r := craftProcess(t, "run", "-n", "1", "echo", "started")
			require.Equal(t, 2, r.code, r.stderr)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, variable+`="SHRNKING"`)
			require.Contains(t, r.stderr, "allowed are")
			r = craftProcess(t, append(append([]string{"run", "-n", "1"}, flag...), "echo", "started")...)
			require.Zero(t, r.code, r.stderr)
		})
	}
}

// TestRunReportsUnknownVariables once, whatever its program knows of them.
func TestRunReportsUnknownVariables(t *testing.T) {
	t.Setenv("CRAFT_REPAIRTIMEOUT", "3s")
	r := craftProcess(t, "run", "-n", "2", "true")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "craft: unknown environment variable variable=CRAFT_REPAIRTIMEOUT nearest=CRAFT_REPAIR_TIMEOUT\n", r.stderr)
	t.Setenv("CRAFT_ROLE", "x")
	r = craftProcess(t, "run", "-n", "2", "echo", "started")
	require.Equal(t, 2, r.code, r.stderr)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, `CRAFT_ROLE="x"`)
	require.Contains(t, r.stderr, "allowed are guard, daemon, rank")
}

func TestRunAllSlots(t *testing.T) {
	for _, args := range [][]string{{"--nodes", "3", "--slots", "2"}, {"--hosts", "localhost:6"}} {
		r := craftProcess(t, append(append([]string{"run"}, args...), "echo", "x")...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, strings.Repeat("x\n", 6), r.stdout)
	}
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("localhost slots=3\n"), 0o600))
	r := craftProcess(t, "run", "--hostfile", file, "echo", "x")
	require.Equal(t, result{0, "x\nx\nx\n", ""}, r)

	t.Setenv("SLURM_JOB_NODELIST", "localhost")
	t.Setenv("SLURM_TASKS_PER_NODE", "2")
	r = craftProcess(t, "run", "echo", "x")
	require.Equal(t, result{0, "x\nx\n", ""}, r)
	r = craftProcess(t, "run", "-n", "3", "--nodes", "1", "echo", "x") // what is said wins
	require.Equal(t, result{0, "x\nx\nx\n", ""}, r)
	t.Setenv("SLURM_TASKS_PER_NODE", "many")
	r = craftProcess(t, "run", "echo", "x")
	require.Equal(t, exitUsage, r.code)
	require.Contains(t, r.stderr, "SLURM_TASKS_PER_NODE")
}

func TestRunUsage(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"", "which program"},
		{"echo x", "-n N"},
		{"-n 0 echo", "-n 0"},
		{"-n x echo", "invalid argument"},
		{"-np 4 echo", "-n N"},
		{"--np 4 echo", "-n N"},
		{"-n 2 --nodes 0 echo", "--nodes 0"},
		{"-n 2 --nodes 2 --slots 0 echo", "--slots 0"},
		{"-n 5 --nodes 2 --slots 2 echo", "slots"},
		{"-n 2 --spare-nodes -1 echo", "--spare-nodes -1"},
		{"--hosts a:1,b:1 --spare-nodes -1 echo", "--spare-nodes -1"},
		{"--hosts a:1,b:1 --spare-nodes 2 echo", "-n N"},
		{"-n 2 --spare-nodes 9223372036854775807 echo", "at most 65536 are possible"},
		{"--nodes 3 --slots 6148914691236517206 echo", "at most 65536 ranks"}, // the product is 2 of 64 bits
		{"--hosts a:9223372036854775807,b:9223372036854775807,c:4 echo", "at most 65536 ranks"},
		{"-n 2 --recovery maybe echo", "NON-SHRINKING"},
		{"-n 2 --spawn here echo", "NO-REUSE"},
		{"-n 2 --lease -1s echo", "--lease -1s"},
		{"-n 2 --lease 1s --heartbeat 1s echo", "--heartbeat"},
		{"-n 2 --repair-timeout -1s echo", "--repair-timeout"},
		{"-n 2 --max-repeats 0 echo", "--max-repeats 0"},
		{"-n 2 --hosts a,a echo", "twice"},
		{"-n 2 --hosts a --hostfile b echo", "exclude"},
		{"-n 2 --hostfile /nowhere/hosts echo", "/nowhere/hosts"},
		{"-n 2 --hosts a --nodes 2 echo", "--nodes"},
		{"-n 2 --hosts a --launch-agent /no/agent echo", "/no/agent"},
		{"-n 2 --hosts a --launch-agent 'x echo", "'x"},
		{"-n 2 --unknown echo", "--unknown"},
		{"-n 2 no-such-program", "no-such-program"},
		{"-n 2 ./no-such-program", "no-such-program"},
	} {
		r := craft(t, append([]string{"run"}, strings.Fields(c.args)...)...)
		require.Equal(t, exitUsage, r.code, c.args)
		require.Contains(t, r.stderr, c.says, c.args)
		require.Empty(t, r.stdout)
	}
}

// TestRunBytesThatAreNotText: arguments, variables and the working directory need
// not be UTF-8.
func TestRunBytesThatAreNotText(t *testing.T) {
	const odd = "a\xff\xc3("
	dir := filepath.Join(t.TempDir(), odd)
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
	t.Setenv("CRAFT_CP_PATH", odd)
	r := craftProcess(t, "run", "-n", "1", "sh", "-c", `printf '%s %s %s' "$1" "$CRAFT_CP_PATH" "$(pwd)"`, "sh", odd)
	require.Equal(t, result{0, odd + " " + odd + " " + dir + "\n", ""}, r)
}
