package env

import (
	"os"
	"sync/atomic"
	"syscall"
)

// The launcher tells the processes of a job with these variables what they are.
const (
	Role       = Prefix + "_ROLE"
	RoleGuard  = "guard"
	RoleDaemon = "daemon"
	RoleRank   = "rank"

	// NodePath is the directory of the node's own storage.
	NodePath = Prefix + "_NODE_PATH"
	// Levels: what is on the nodes is to be found by the next job too.
	Levels = Prefix + "_LEVELS"
	// RecoveryPolicy and SpawnPolicy are set for the ranks when the launcher was
	// given policies.
	RecoveryPolicy = Prefix + "_COMM_RECOVERY_POLICY"
	SpawnPolicy    = Prefix + "_COMM_SPAWN_POLICY"
	// Restart is how often the job was deployed again.
	Restart = Prefix + "_RESTART"
	// Deadline is when the job has to have ended.
	Deadline = Prefix + "_DEADLINE"
	// Notice tells that a node goes away.
	Notice = Prefix + "_NOTICE"
	// Grace is how long after a request to end everything has to be over.
	Grace = Prefix + "_GRACE"
	// FallBack: the job has died again and again, and goes back one version.
	FallBack = Prefix + "_FALL_BACK"
	// RepairTimeout is for the launcher.
	RepairTimeout = Prefix + "_REPAIR_TIMEOUT"
)

var taken atomic.Value // a role

// TakeRole returns the role of this process, and sees to it that processes which it
// starts have none: neither the variable nor, of a rank, the connection.
func TakeRole() string {
	r := os.Getenv(Role)
	if r == "" {
		return CurrentRole()
	}
	taken.Store(r)
	if r == RoleRank {
		syscall.CloseOnExec(ControlUp)
		syscall.CloseOnExec(ControlDown)
	}
	_ = os.Unsetenv(Role) // last: who finds none need do nothing
	return r
}

// CurrentRole is the role of this process, whether it was taken or not.
func CurrentRole() string {
	if r := os.Getenv(Role); r != "" {
		return r
	}
	role, _ := taken.Load().(string)
	return role
}

// The descriptors of a rank's connection to its daemon: pipes, of which one leads to the daemon and one comes from it.
const (
	ControlUp   = 3
	ControlDown = 4
)
