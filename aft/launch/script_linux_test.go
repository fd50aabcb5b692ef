package launch

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/proc"
	"github.com/craft-go/craft/internal/testprocess"
	"github.com/craft-go/craft/internal/testtime"
)

// shellJob is a job whose ranks are scripts. $0 is the program.
func shellJob(t *testing.T, ranks int, script string) Config {
	cfg := job(t, ranks, 1, "")
	cfg.Program, cfg.Args = "sh", []string{"-c", script, cfg.Program}
	return cfg
}

// startScript starts a job of one rank, and waits until that is ready.
func startScript(t *testing.T, script string, env ...string) (root *exec.Cmd, out *watched) {
	cfg := shellJob(t, 1, script)
	cfg.NoSignals = false
	root, out = startRoot(t, cfg, env...)
	out.await(t, `ready`)
	return root, out
}

// TestSignalToScripts: the shell of a rank dies of the signal, and the program, which has got
// it too, is to have its time, and so is what the script runs behind it.
func TestSignalToScripts(t *testing.T) {
	t.Parallel()
	// It is deaf while it saves.
	const saves = `sh -c 'trap "trap \"\" TERM USR1; sleep 0.3; echo saved 0; exit 0" TERM USR1; echo ready; sleep 1000 & wait'`
	for _, script := range []string{
		`"$0" scripted joined; exit $?`,
		`"$0" scripted alone; exit $?`,
		`setsid "$0" scripted joined; exit $?`, // out of the group of its rank
		`"$0" join leave; "$0" scripted alone; exit $?`,
		saves + `; exit $?`,
		`timeout 1000 ` + saves + `; exit $?`,                         // which makes a group of its own
		`"$0" join leave; setsid "$0" scripted alone & wait; exit $?`, // and a session
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
			t.Run(fmt.Sprint(script, signal), func(t *testing.T) {
				t.Parallel() // most of the time they wait
				mark := testprocess.NewMark()
				cfg := shellJob(t, 2, script)
				cfg.NoSignals = false
				root, out := startRoot(t, cfg, string(mark))
				out.await(t, `(?s)(ready.*){2}`)
				require.NoError(t, root.Process.Signal(signal))
				require.Error(t, root.Wait())
				require.Equal(t, 128+int(signal), root.ProcessState.ExitCode(), out.String())
				require.Equal(t, 2, strings.Count(out.String(), "saved 0\n"), out.String())
				mark.NoneLeft(t)
			})
		}
	}
}

// TestSignalToWhatShellsStart out of the group of their rank: a shell that catches a signal does so
// for its own ends, and has it before what it waits for, which gets it as well, and once. (timeout
// sends it twice itself.)
func TestSignalToWhatShellsStart(t *testing.T) {
	t.Parallel()
	const saved, savedUnderTimeout = `saved 0\n`, `saved \d\n`
	for script, want := range map[string]string{
		`bash -c 'trap "echo cleanup" EXIT; timeout 1000 "$0" scripted joined counts; exit $?' "$0"; exit $?`:             savedUnderTimeout,
		`bash -c 'trap "echo cleanup" EXIT; timeout 1000 setsid -w "$0" scripted alone counts; exit $?' "$0"; exit $?`:    savedUnderTimeout,
		`bash -c 'trap "echo cleanup" EXIT; setsid -w "$0" scripted alone counts; exit $?' "$0"; exit $?`:                 saved,
		`setsid -w bash -c 'trap "exit 1" TERM INT; "$0" scripted joined counts & wait; echo cleanup' "$0"; exit $?`:      saved,
		`setsid -w bash -c 'trap "wait; echo cleanup; exit 0" TERM INT; "$0" scripted alone counts & wait' "$0"; exit $?`: saved,
		`exec bash -c 'trap : TERM INT; setsid -w "$0" scripted alone counts & wait; wait; echo cleanup' "$0"`:            saved,
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			t.Run(fmt.Sprint(script, signal), func(t *testing.T) {
				t.Parallel() // most of the time they wait
				mark := testprocess.NewMark()
				testtime.Within(t, control.StopPatience/2, func() {
					root, out := startScript(t, script, string(mark))
					require.NoError(t, root.Process.Signal(signal))
					_ = root.Wait() // its code is the shell's
					require.Regexp(t, want, out.String())
					require.Equal(t, 1, strings.Count(out.String(), "saved"), out.String())
					require.Contains(t, out.String(), "cleanup")
				})
				mark.NoneLeft(t)
			})
		}
	}
}

// TestHelperThatIgnoresTheSignal: nobody waits for what runs in the background of a script and
// has been told to ignore the signal.
func TestHelperThatIgnoresTheSignal(t *testing.T) {
	mark := testprocess.Mark(t)
	testtime.Within(t, control.StopPatience*2/3, func() {
		cfg := shellJob(t, 2, `(trap "" TERM; exec sleep 1000) > /dev/null 2>&1 & "$0" scripted joined; exit $?`)
		cfg.NoSignals = false
		root, out := startRoot(t, cfg)
		out.await(t, `(?s)(ready.*){2}`)
		require.NoError(t, root.Process.Signal(syscall.SIGTERM))
		require.Error(t, root.Wait())
		require.Equal(t, 2, strings.Count(out.String(), "saved 0\n"), out.String())
		mark.NoneLeft(t)
	})
}

// TestScriptOutlivesItsProgram in the first world: nobody waits until the lease is over, and
// it is the program's own failure.
func TestScriptOutlivesItsProgram(t *testing.T) {
	mark := testprocess.Mark(t)
	for name, script := range map[string]string{
		"killed":    `"$0" join die; echo the script goes on; exec sleep 1000`,
		"by itself": `"$0" join die; exit 3`,
	} {
		cfg := shellJob(t, 1, script)
		cfg.Timing = Timing{Lease: 10 * limit, Period: 200 * time.Millisecond}
		r := run(t, cfg)
		require.ErrorIs(t, r.err, ErrJob, name)
		if name == "killed" {
			require.ErrorContains(t, r.err, "rank 0 has failed 9 times in the same way (signal 9)")
			require.ErrorContains(t, r.err, "its program has ended")
			require.Contains(t, r.stdout, "the script goes on")
		} else {
			require.ErrorContains(t, r.err, "rank 0 has failed 9 times")
			require.ErrorContains(t, r.err, "exit status 3")
		}
	}
	mark.NoneLeft(t)
}

// TestSignalsOneByOne: what has no code for a signal does not die of it out of the group of its
// rank, a later signal reaches what was started since, and who saves because of the first is not
// taken for a helper that ignores the second.
func TestSignalsOneByOne(t *testing.T) {
	t.Parallel()
	const keeps = `sh -c 'trap "echo asked" USR1; trap "sleep 0.3; echo saved 0; exit 0" TERM; echo ready; while :; do sleep 0.05; done'`
	type step struct {
		signal syscall.Signal
		answer string
	}
	for script, steps := range map[string][]step{
		`trap : USR1; timeout 1000 ` + keeps + `; echo behind; exit 3`: {{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved`}},
		`trap : USR1; setsid -w ` + keeps + `; echo behind; exit 3`:    {{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved`}},
		`trap : USR1; setsid -w "$0" scripted alone counts; setsid -w "$0" scripted alone counts; exit 3`: {
			{syscall.SIGUSR1, `saved(?s:.*)ready`}, {syscall.SIGUSR1, `saved(?s:.*)saved`}},
		`trap 'trap "" INT TERM; echo asked; sleep 1; echo saved 0; exit 4' INT; echo ready; while :; do sleep 0.05; done`: {
			{syscall.SIGINT, `asked`}, {syscall.SIGTERM, `saved`}},
		`sh -c 'trap "trap \"\" INT TERM; echo asked; sleep 1; echo saved 0; exit 0" INT; echo ready; while :; do sleep 0.05; done'; exit 3`: {
			{syscall.SIGINT, `asked`}, {syscall.SIGTERM, `saved`}},
		`trap : USR1; setsid -w bash -c 'trap "echo bye" EXIT; "$0" scripted joined keeps; exit $?' "$0"; echo behind; exit 3`: {
			{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved`}},
		`setsid -w bash -c 'trap "echo cleanup" EXIT; "$0" scripted joined keeps; exit $?' "$0"; exit $?`: {
			{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved(?s:.*)cleanup`}},
		// The shell exits because of the first; if the second comes too late for that one, a replacement saves.
		`trap "echo gone; exit 3" USR1; "$0" scripted joined keeps & wait $!`: {{syscall.SIGUSR1, `gone`}, {syscall.SIGTERM, `saved`}},
		// Of helpers, one had code for the first signal alone, and one ignores the second.
		`trap : USR1; setsid sh -c 'trap : USR1; while :; do sleep 0.1; done' & ` + keeps + `; exit 3`: {{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved`}},
		`trap : USR1; setsid -w "$0" scripted alone counts; (trap "" TERM; exec sleep 1000) & ` + keeps + `; exit 3`: {
			{syscall.SIGUSR1, `saved(?s:.*)ready`}, {syscall.SIGTERM, `saved(?s:.*)saved`}},
		`setsid -w timeout --foreground 1000 sh -c '"$0" scripted joined counts; exit $?' "$0"; exit $?`: {{syscall.SIGTERM, `saved`}},
		// One is left behind, and one hears of the second.
		`trap : TERM; "$0" scripted joined counts; sleep 1000 > /dev/null & exit 0`:                                           {{syscall.SIGTERM, `saved`}},
		`setsid -w ` + keeps + `; exit 3`:                                                                                     {{syscall.SIGUSR1, `asked`}, {syscall.SIGTERM, `saved`}},
		`(sleep 0.01; "$0" scripted alone counts; exit 3) & wait`:                                                             {{syscall.SIGINT, `saved`}},
		`bash -c 'trap : TERM; timeout 1000 sh -c "\"\$0\" scripted joined counts; exit \$?" "$0"; exit $?' "$0"; exit $?`:    {{syscall.SIGTERM, `saved`}},
		`bash -c 'trap : TERM; setsid -w sh -c "\"\$0\" scripted joined counts; exit \$?" "$0"; exit $?' "$0"; exit $?`:       {{syscall.SIGTERM, `saved`}},
		`bash -c 'timeout 1000 sh -c "\"\$0\" scripted alone counts; exit \$?" "$0"; exit $?' "$0"; exit $?`:                  {{syscall.SIGTERM, `saved`}},
		`sh -c 'trap "wait; exit 0" TERM; setsid sh -c "echo ready; sleep 1; echo saved 0" & wait; sleep 1000' "$0"; exit $?`: {{syscall.SIGTERM, `saved`}},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel() // most of the time they wait
			mark := testprocess.NewMark()
			testtime.Within(t, control.StopPatience/2, func() {
				root, out := startScript(t, script, string(mark))
				for i, s := range steps {
					require.NoError(t, root.Process.Signal(s.signal))
					if i < len(steps)-1 {
						out.await(t, s.answer)
					}
				}
				_ = root.Wait() // its code is the shell's
				require.Regexp(t, steps[len(steps)-1].answer, out.String())
				require.NotContains(t, out.String(), "behind")
			})
			mark.NoneLeft(t)
		})
	}
}

// TestSignalToAllProcesses of a job, as scancel sends it: who saves has its time, and nobody waits for
// a helper that ignores it.
func TestSignalToAllProcesses(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		`"$0" scripted alone counts; exit 3`,
		`(trap "" TERM; exec sleep 1000) > /dev/null 2>&1 & "$0" scripted alone counts; exit 3`,
		`timeout 1000 "$0" scripted alone counts; exit 3`,
		`setsid -w "$0" scripted alone counts; exit 3`,
		`trap "exit 3" TERM; "$0" scripted joined counts & wait $!`,
		`p=; trap 'kill $p; exit 143' TERM; "$0" scripted joined counts & p=$!; wait $p`,
		`trap "exit 143" TERM; timeout 1000 "$0" scripted joined counts & wait $!`,
	} {
		for order, in := range map[string]func([]int){"leaves first": func([]int) {}, "root first": slices.Reverse[[]int], "by number": slices.Sort[[]int]} {
			t.Run(script+", "+order, func(t *testing.T) {
				t.Parallel() // most of the time they wait
				mark := testprocess.NewMark()
				testtime.Within(t, control.StopPatience/2, func() {
					root, out := startScript(t, script, string(mark))
					all := append(below(root.Process.Pid), root.Process.Pid)
					in(all)
					for _, pid := range all {
						_ = syscall.Kill(pid, syscall.SIGTERM)
					}
					require.Error(t, root.Wait())
					require.Contains(t, out.String(), "saved")
				})
				mark.NoneLeft(t)
			})
		}
	}
}

// TestShellThatKillsItself: nobody waits for those that know nothing of the signal.
func TestShellThatKillsItself(t *testing.T) {
	for _, script := range []string{
		`f=$(mktemp -u); (trap "" TERM; : > $f; exec sleep 1000) > /dev/null 2>&1 & until [ -e $f ]; do sleep 0.01; done; rm $f; kill -TERM $$`,
		`sleep 1000 > /dev/null 2>&1 & kill -USR1 $$`,
		`export f=$(mktemp -u); (setsid sh -c 'trap : TERM; : > $f; while :; do sleep 1; done' &); until [ -e $f ]; do sleep 0.01; done; rm $f; kill -TERM $$`,
	} {
		mark := testprocess.Mark(t)
		testtime.Within(t, control.StopPatience/2, func() {
			require.ErrorContains(t, run(t, shellJob(t, 1, script)).err, "signal")
		})
		mark.NoneLeft(t)
	}
}

// below are all processes that one has started, and those have.
func below(pid int) (all []int) {
	for _, child := range proc.Running(func(_ int, s proc.Stat) bool { return s.Parent == pid }) {
		all = append(append(all, below(child)...), child)
	}
	return all
}
