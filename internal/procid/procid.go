// Package procid names processes, so that others on the same host can tell whether they run.
package procid

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// ID names a process so that another one on the same host can tell
// whether it still runs, also after its number was used again.
type ID struct {
	Host string `json:"host"`
	// Machine tells hosts of the same name apart; empty if it has none.
	Machine string `json:"machine,omitempty"`
	Boot    string `json:"boot,omitempty"`   // of the running kernel
	NS      string `json:"pid_ns,omitempty"` // PIDs only mean something within one
	// TimeNS: Start counts from the boot as a time namespace has it.
	TimeNS string `json:"time_ns,omitempty"`
	PID    int    `json:"pid"`
	// Start is when the process started, in clock ticks since boot.
	Start string `json:"start,omitempty"`
}

// State is what can be known of a process from here.
type State int

const (
	Unknown State = iota // on another host, or in another container
	Alive
	Dead
)

// This describes the running process.
var This = sync.OnceValue(func() ID {
	host, _ := os.Hostname()
	timeNS, _ := os.Readlink("/proc/self/ns/time")
	p := ID{
		Host: host, Machine: trimmed("/etc/machine-id"), Boot: trimmed("/proc/sys/kernel/random/boot_id"),
		NS: pidNamespace(), TimeNS: timeNS, PID: os.Getpid(),
	}
	p.Start, _, _ = stat(p.PID)
	return p
})

// Of describes another process that is seen from here.
func Of(pid int) ID {
	p := This()
	p.PID = pid
	p.Start, _, _ = stat(pid)
	return p
}

// State finds out whether the process runs.
func (p ID) State() State { return p.stateSeenBy(This()) }

// stateSeenBy is State for a process that is described as me.
func (p ID) stateSeenBy(me ID) State {
	// With another boot it was before a reboot, or is on a host of the same name, even
	// with the same machine id: both are from one image.
	if p.Host != me.Host || p.Boot != me.Boot || p.NS != me.NS || p.PID <= 0 {
		return Unknown
	}
	if runtime.GOOS == "linux" && (me.Boot == "" || me.NS == "") { // a container without /proc may be one of several
		return Unknown
	}
	if err := syscall.Kill(p.PID, 0); errors.Is(err, syscall.ESRCH) {
		return Dead
	}
	start, zombie, ok := stat(p.PID)
	if p.TimeNS != me.TimeNS && p.TimeNS != "" && me.TimeNS != "" {
		start = p.Start // they do not compare
	}
	if ok && (zombie || start != p.Start) {
		return Dead
	}
	return Alive
}

// String is the ID for people.
func (p ID) String() string { return fmt.Sprintf("process %d on host %s", p.PID, p.Host) }

// Encode is the ID as text that Parse reads, for whoever hands it on without knowing what it is.
func (p ID) Encode() string {
	text, _ := json.Marshal(p) // of strings and a number: never fails
	return string(text)
}

// Parse reads what Encode has written.
func Parse(text string) (p ID, err error) {
	err = json.Unmarshal([]byte(text), &p)
	return p, err
}

// trimmed is what a file of the system says; "" if it cannot be read.
func trimmed(path string) string {
	data, _ := os.ReadFile(path)
	return strings.TrimSpace(string(data))
}

// pidNamespace is "" also where /proc shows the numbers of another namespace.
func pidNamespace() string {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	ns, _ := os.Readlink("/proc/self/ns/pid")
	return ns
}

// stat reads the start time and whether the process only waits to be
// reaped; ok is false where /proc does not tell (not Linux).
func stat(pid int) (start string, zombie, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	end := bytes.LastIndexByte(data, ')') // the second field is the command in parentheses and may hold anything
	if err != nil || end < 0 {
		return "", false, false
	}
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < 20 {
		return "", false, false
	}
	return fields[19], fields[0] == "Z" || fields[0] == "X", true
}
