package launch

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/internal/proc"
)

// TestFindStarted: what is out of the group of its rank and has code for a signal, from above to
// below, as the system tells.
func TestFindStarted(t *testing.T) {
	name := func(pid int) string {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		return strings.TrimSpace(string(b))
	}
	for script, want := range map[string]struct{ term, usr1 []string }{
		`setsid -w sh -c 'sleep 1000 & wait' & wait`:                                                      {nil, nil},
		`timeout 1000 sh -c 'sleep 1000 & wait' & wait`:                                                   {[]string{"timeout"}, nil},
		`timeout 1000 sh -c 'trap : USR1; sleep 1000 & wait' & wait`:                                      {[]string{"timeout"}, []string{"sh"}},
		`timeout 1000 setsid sh -c 'trap : TERM USR1; sleep 1000 & wait' & wait`:                          {[]string{"timeout", "sleep"}, []string{"sh"}},
		`timeout 1000 sh -c 'setsid sh -c "trap : TERM; sleep 1000 & wait"; echo' & wait`:                 {[]string{"timeout", "sh", "sleep"}, nil},
		`timeout 1000 timeout 2000 sleep 1000 & wait`:                                                     {[]string{"timeout"}, nil},
		`sh -c 'trap "echo" TERM; setsid sleep 1000 & wait; wait' & wait`:                                 {nil, nil},
		`setsid sh -c 'trap "" USR1; (trap "" TERM; setsid sleep 1000) & trap : TERM; wait; wait' & wait`: {[]string{"sh"}, nil},
		`sh -c 'sleep 1000 & wait' & wait`:                                                                {nil, nil},
	} {
		t.Run(script, func(t *testing.T) {
			cmd := exec.Command("sh", "-c", script)
			cmd.SysProcAttr = rankAttributes()
			require.NoError(t, cmd.Start())
			r := &rank{cmd: cmd}
			find := func(s syscall.Signal) (names []string) {
				found, _ := findStarted(map[int]*rank{cmd.Process.Pid: r}, 0)
				pids, _ := found[r].outsiders(s, cmd.Process.Pid, 0)
				for _, pid := range pids {
					names = append(names, found[r][pid].name)
				}
				return names
			}
			all := func() (pids []int) {
				below := make(map[int]bool)
				for range 5 {
					pids = proc.Running(func(pid int, s proc.Stat) bool { return s.Parent == cmd.Process.Pid || below[s.Parent] })
					for _, pid := range pids {
						below[pid] = true
					}
				}
				return pids
			}
			defer func() {
				for _, pid := range append(all(), cmd.Process.Pid) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				_ = cmd.Wait()
			}()
			require.Eventually(t, func() bool {
				return slices.ContainsFunc(all(), func(pid int) bool { return name(pid) == "sleep" })
			}, limit, time.Millisecond)
			withoutSetsid := func(all []string) []string { // which forks only where it leads a group
				return slices.DeleteFunc(all, func(s string) bool { return s == "setsid" })
			}
			require.Equal(t, withoutSetsid(want.term), withoutSetsid(find(syscall.SIGTERM)))
			require.Equal(t, withoutSetsid(want.usr1), withoutSetsid(find(syscall.SIGUSR1)))
		})
	}
}
