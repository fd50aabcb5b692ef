// Package step recognises a process that a launcher of others (srun, mpirun, mpiexec)
// has started as one of several tasks. A program of this project that does not know of
// the others would be that many jobs of one process each.
//
// Only what such a launcher says of one step counts: an allocation of several tasks
// (SLURM_NTASKS) is where a job is started once.
package step

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/craft-go/craft/internal/env"
)

// Task is one of several tasks of a step.
type Task struct {
	Launcher string `json:"launcher"`
	Step     string `json:"step,omitempty"` // its name, the same for all tasks; empty: unknown
	Rank     int    `json:"rank"`
	Size     int    `json:"size,omitempty"` // 0: unknown
}

// launchers are what tells, the innermost first: mpirun starts its daemons by srun,
// whose variables the tasks inherit. The first that has set its rank is believed.
var launchers = []struct {
	name, rank, size string
	step             []string
}{
	{"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", []string{"PMIX_NAMESPACE"}},
	{"mpiexec", "PMI_RANK", "PMI_SIZE", []string{"PMI_JOBID", "PMI_PORT"}},
	{"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", []string{"SLURM_JOB_ID", "SLURM_STEP_ID"}},
	{"prun", "PMIX_RANK", "", []string{"PMIX_NAMESPACE"}},
}

// This describes this process if it is one of several tasks. A rank or daemon of a
// launcher of this project is not: that knows of the others.
func This() (t Task, several bool) {
	if env.CurrentRole() != "" {
		return t, false
	}
	for _, l := range launchers {
		size, rank := number(l.size), number(l.rank)
		if size < 0 && (rank < 0 || l.size != "") {
			continue // srun sets SLURM_PROCID in batch scripts too
		}
		t = Task{Launcher: l.name, Rank: max(rank, 0), Size: max(size, 0)}
		var names []string
		for _, name := range l.step {
			if v := os.Getenv(name); v != "" {
				names = append(names, v)
			}
		}
		t.Step = strings.Join(names, ".")
		return t, size > 1 || rank > 0
	}
	return t, false
}

// number is a variable's value; -1 if it has none.
func number(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return -1
	}
	return n
}

func (t Task) String() string {
	if t.Size == 0 {
		return fmt.Sprintf("task %d of several that %s has started", t.Rank, t.Launcher)
	}
	return fmt.Sprintf("task %d of %d that %s has started", t.Rank, t.Size, t.Launcher)
}

// Command is how to run this program as one job of as many ranks.
func (t Task) Command() string {
	n, args := "N", ""
	if t.Size > 0 {
		n = strconv.Itoa(t.Size)
	}
	if len(os.Args) > 1 {
		args = " ..."
	}
	return fmt.Sprintf("craft run -n %s %s%s", n, cleanPath(os.Args[0]), args)
}

// cleanPath is a program's path for people: srun makes /a/./b of ./b. One without a
// separator would be looked for in PATH.
func cleanPath(path string) string {
	if !strings.ContainsRune(path, filepath.Separator) {
		return path
	}
	clean := filepath.Clean(path)
	if !strings.ContainsRune(clean, filepath.Separator) {
		return "." + string(filepath.Separator) + clean
	}
	return clean
}

// SameStep reports whether both are tasks of one step.
func (t Task) SameStep(o Task) bool {
	return t.Launcher == o.Launcher && t.Step == o.Step && t.Size == o.Size
}

// Refuse returns an error if this process is one of several tasks, each of which
// would be, or start, a job of its own, unless CRAFT_ENGINE=single says that this is
// meant. launching: it would start one.
func Refuse(launching bool) error {
	var c struct {
		Engine string `envconfig:"ENGINE" default:"auto"`
	}
	if err := env.Load(&c); err != nil {
		return err
	}
	if c.Engine != "auto" && c.Engine != "single" {
		return env.Invalid("CRAFT_ENGINE", c.Engine)
	}
	t, several := This()
	if !several || c.Engine == "single" {
		return nil
	}
	how := "start it once: " + t.Command()
	if launching {
		how = "start it once, without " + t.Launcher
	}
	return fmt.Errorf("this process is %v, and each of them would be a job of its own, over the same checkpoints: %s (docs/cli.md); if that many jobs are meant: CRAFT_ENGINE=single; if it has only inherited %s from such a task, as a batch script does that was submitted from one: unset that", t, how, t.sign())
}

// sign is the variable that tells that there are several tasks.
func (t Task) sign() string {
	for _, l := range launchers {
		if l.name == t.Launcher && t.Size > 0 {
			return l.size
		}
		if l.name == t.Launcher {
			return l.rank
		}
	}
	return ""
}
