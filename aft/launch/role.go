package launch

import (
	"errors"
	"fmt"

	"github.com/craft-go/craft/internal/env"
)

// Daemon makes this process a daemon, or the guard of one, if it was started as that:
// it returns when the daemon has ended, with the exit code for the process and true.
// Otherwise it does nothing. Call it first of all in main (and in TestMain of tests that
// start jobs), before anything is printed.
func Daemon() (code int, ok bool) {
	switch env.TakeRole() {
	case env.RoleGuard, env.RoleDaemon: // on Linux a guard does not get so far
		return runDaemon(), true
	}
	return 0, false
}

// IsRank reports whether this process was started as a rank of a job.
func IsRank() bool { return env.CurrentRole() == env.RoleRank }

// notInAJob refuses to start a job in a process that belongs to one: such
// processes would start each other without end.
func notInAJob() error {
	switch env.CurrentRole() {
	case env.RoleGuard, env.RoleDaemon:
		return errors.New("this process was started as a daemon of a job and would start another job: call launch.Daemon first of all in main")
	case env.RoleRank:
		return fmt.Errorf("this process is a rank of a job already (%s=%s) and would start another one: ask launch.IsRank before, or use launch.Self", env.Role, env.RoleRank)
	}
	return nil
}
