// Package env reads the CRAFT_* environment variables: each package has a
// struct for its own ones and gives it to Load; this package turns errors into
// messages that name the variable, the value and what is allowed, knows all
// names (docs/environment.md is checked against them), and recognises
// misspelled ones.
package env

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/kelseyhightower/envconfig"
)

// Prefix starts the name of every variable.
const Prefix = "CRAFT"

// Variable documents one environment variable.
type Variable struct {
	Name    string
	Values  string // what is allowed
	Default string
	Meaning string
}

// Variables are all variables of the project, in the order of their names.
var Variables = []Variable{
	{Name: "CRAFT_ASYNC_CHECK", Values: "0, 1", Default: "0", Meaning: "1: look whether values change while they are written, and name them"},
	{Name: "CRAFT_ASYNC_STAGING", Values: "0, or a size such as 512MiB of at least 16MiB (1MiB with CRAFT_DELTA=1)", Default: "0", Meaning: "memory for the private copy, for each checkpoint of each rank; 0 = as much as its values have"},
	{Name: "CRAFT_ASYNC_THREAD_PIN_CPULIST", Values: "a list such as 0,2-3 of processors that this process may use", Default: "", Meaning: "processors that the writer threads are bound to, and what a rank does in the background for the levels; also how many of them encode at a time"},
	{Name: "CRAFT_COMM_RECOVERY_POLICY", Values: "SHRINKING, NON-SHRINKING, GLOBAL-RESTART, ABORT", Default: "NON-SHRINKING", Meaning: "what happens after a failure: go on with fewer ranks; replace those that were lost; roll all back at once and replace those for whom a slot is left; or end the job, which `craft run --restarts` deploys again ([recovery.md](recovery.md#5-policies))"},
	{Name: "CRAFT_COMM_SPAWN_POLICY", Values: "REUSE, NO-REUSE", Default: "NO-REUSE", Meaning: "where replacements run: REUSE = on the node where the process failed, if that is alive; NO-REUSE = on spare nodes as long as there are any"},
	{Name: "CRAFT_COMPRESS", Values: "auto, off, always", Default: "auto", Meaning: "LZ4 compression: auto = where a quick test says that it pays"},
	{Name: "CRAFT_CP_FREQ", Values: "a number of iterations such as 10, a duration such as 10m, or auto", Default: "", Meaning: "when UpdateAndWrite writes, in place of the program's own frequencies and triggers (`WithTriggers`): the one variable that wins over the code, as the log says; auto = as often as loses the least ([checkpointing.md](checkpointing.md#when-to-save))"},
	{Name: "CRAFT_CP_PATH", Values: "a directory", Default: "the working directory", Meaning: "base directory of all checkpoints; a program that gives one itself (`WithPath`) wins, and says so"},
	{Name: "CRAFT_DEADLINE", Values: "a time such as 2026-11-30T18:00:00Z, local time as 2026-11-30 18:00 or 18:00 (the next one), or a time left such as +90s or +1h", Default: "", Meaning: "when the job has to have ended; +1h counts from the start of the program. The limit of the batch system (Slurm, PBS) and what CRAFT_NOTICE tells count too: the earliest is the deadline"},
	{Name: "CRAFT_DEBUG", Values: "0 to 4", Default: "0", Meaning: "amount of messages: 1 = versions, 2 = phases, 3 = values, 4 = every call"},
	{Name: "CRAFT_DEBUG_PROC", Values: "a rank", Default: "0", Meaning: "the rank that gives the messages of CRAFT_DEBUG and CRAFT_TIMING"},
	{Name: "CRAFT_DELTA", Values: "0, 1", Default: "0", Meaning: "1: chunks that have not changed since an earlier version are not written again"},
	{Name: "CRAFT_DELTA_FULL", Values: "1, 2, ...", Default: "10", Meaning: "with CRAFT_DELTA=1: every how many versions one is written whole (and the first two, unless CRAFT_KEEP=1)"},
	{Name: "CRAFT_DRAIN_TIMEOUT", Values: "a duration such as 90s or 10m, more than 0", Default: "10m", Meaning: "how long Close waits for an asynchronous write before it cancels it"},
	{Name: "CRAFT_ENABLE", Values: "0, 1", Default: "1", Meaning: "0: every checkpoint call does nothing, but end the job when it is asked for"},
	{Name: "CRAFT_ENGINE", Values: "auto, single", Default: "auto", Meaning: "single: a process that srun or mpirun has started as one of several tasks is a job of its own; otherwise a program with a zone, or a launcher, stops there ([cli.md](cli.md#under-srun-and-mpirun))"},
	{Name: "CRAFT_FALL_BACK", Values: "0, 1", Default: "0", Meaning: "1: the job goes back one version, once; set by the launcher for the ranks (`craft run --fall-back`)"},
	{Name: "CRAFT_FILE_MODE", Values: "0600, 0640, 0660, 0644, 0664", Default: "0600", Meaning: "mode of the files in the checkpoint's directory, whatever the umask is; who may read or write files may do so to their directories. The storage of the nodes stays private"},
	{Name: "CRAFT_FLUSH_LIMIT", Values: "0, or a size such as 100MiB", Default: "0", Meaning: "bytes per second that each rank copies to the parallel file system in the background; 0 = no limit"},
	{Name: "CRAFT_GRACE", Values: "a duration such as 25s, more than 0", Default: "25s", Meaning: "how much time a signal, or a notice that names none, leaves to the job: less than the batch system does ([ending.md](ending.md))"},
	{Name: "CRAFT_GUARD", Values: "off, finite", Default: "off", Meaning: "finite: a version in which a number is infinite or not a number is refused, and the earlier ones stay; of all values that consist of floating-point or complex numbers ([checkpointing.md](checkpointing.md#guards))"},
	{Name: "CRAFT_KEEP", Values: "1, 2, ...", Default: "2", Meaning: "number of newest complete versions that are kept"},
	{Name: "CRAFT_LEVELS", Values: "a list such as mem:1,local:5,partner:10,xor:20,rs:50,pfs:100 of the levels process, mem, local, partner, xor, rs and pfs, each with its period", Default: "", Meaning: "which versions are kept where: in the memory of the ranks, with copies on others (process) or on other nodes (mem), on the node, with a copy on a partner node, with XOR or Reed-Solomon parity over sets of nodes, on the parallel file system; empty = all on the parallel file system ([storage.md](storage.md))"},
	{Name: "CRAFT_MAX_LOSS", Values: "a duration such as 30m, at least 1s", Default: "1h", Meaning: "how much work the trigger auto puts at risk at most as long as no failure of the job was seen"},
	{Name: "CRAFT_MEM_COPIES", Values: "2, 3, ...", Default: "2", Meaning: "with the levels mem and process: how many ranks have each part in memory, its own one included; at most as many as there are nodes (process: ranks)"},
	{Name: "CRAFT_MEM_LIMIT", Values: "0, or a size such as 4GiB", Default: "0", Meaning: "memory that each rank uses at most for versions at the levels mem and process, of all its checkpoints: a version for which that does not suffice is an error of the write; 0 = no limit. While a version is written two are there, and of each as many parts as CRAFT_MEM_COPIES. Pieces of 64 KiB or more count in steps of 256 KiB. Copies that are made again after shrinking give way to a next version"},
	{Name: "CRAFT_NODE_PATH", Values: "a directory", Default: "", Meaning: "the node's own storage; the launcher takes it as the base (as `craft run --node-path`) and sets it for each rank; not set: /dev/shm/craft-<uid>, or the system's directory for temporary files"},
	{Name: "CRAFT_NOTICE", Values: "file:PATH, cmd:COMMAND, aws, gcp or azure", Default: "", Meaning: "what tells that a node goes away, asked on each node: a file that appears; a command that ends with 0 (1: no notice), both with a time or a time left such as 2m in them or without; the metadata service of a cloud's spot machines"},
	{Name: "CRAFT_RACKS", Values: "a list such as n01=a,n02=a,n03=b of host names and labels", Default: "", Meaning: "what nodes fail together with (switch, power supply): partners and sets are spread over the labels"},
	{Name: "CRAFT_READ_CP_ON_RESTART", Values: "0, 1", Default: "1", Meaning: "0: the job starts again without reading a checkpoint; what it writes then is a new lineage, which replaces what is stored, and from which its recoveries go on"},
	{Name: "CRAFT_RECORD", Values: "0, 1", Default: "1", Meaning: "0: no record of the run (RUN-*.json) beside the versions"},
	{Name: "CRAFT_RECOVERY_DELAY", Values: "a duration such as 2s, or never", Default: "2s", Meaning: "recovery starts when a failure has been known for so long, although no operation has needed the process that failed; never: the program runs through failures, and a body that returns nil is not run again"},
	{Name: "CRAFT_RECOVERY_GRACE", Values: "a duration such as 1s or 0, or never", Default: "1s", Meaning: "with GLOBAL-RESTART: how long a body may go on when it is rolled back, then its process is replaced; never: no limit but CRAFT_REPAIR_TIMEOUT"},
	{Name: "CRAFT_REPAIR_TIMEOUT", Values: "a duration such as 90s or 15m; 0 = no limit", Default: "15m", Meaning: "how long a repair waits for ranks that are alive and do not come, then they are killed (as `craft run --repair-timeout`); they are named when half of it has passed"},
	{Name: "CRAFT_REQUEUE_CODE", Values: "2 to 255, but not 76 and 130", Default: "75", Meaning: "exit code of a program that is to be started again, as the site wants it ([ending.md](ending.md))"},
	{Name: "CRAFT_RESTART", Values: "0, 1, 2, ...", Default: "0", Meaning: "how often the job was deployed again as a whole (`craft run --restarts`); set by the launcher for the ranks"},
	{Name: "CRAFT_RESTART_FROM", Values: "the number of a version, iteration=K, milestone=LABEL, or the name of a version's directory", Default: "", Meaning: "the start of the job goes back to that version, once: later starts with the same value go on with what was done since ([checkpointing.md](checkpointing.md#going-back-and-what-is-kept))"},
	{Name: "CRAFT_ROLE", Values: "guard, daemon, rank", Default: "", Meaning: "what a process of a job is; set by the launcher"},
	{Name: "CRAFT_RS_PARITY", Values: "1, 2, ...", Default: "2", Meaning: "how many of a set the level rs can lose, fewer than CRAFT_SET_SIZE"},
	{Name: "CRAFT_SET_SIZE", Values: "2 to 256", Default: "4", Meaning: "ranks, on different nodes, that protect each other by parity (xor, rs)"},
	{Name: "CRAFT_SIGNALS", Values: "a list such as TERM=end,USR1=save of TERM, INT, HUP, USR1, USR2 and XCPU, each with end, save or default", Default: "TERM=end,INT=end,USR2=end,USR1=save", Meaning: "what signals mean to a program that calls OnSignal: the end of the job, a version, or what they do without this ([ending.md](ending.md))"},
	{Name: "CRAFT_STRICT", Values: "0, 1, or a list of allow-absent, allow-unclear, allow-unseen, allow-branch, allow-lineage, allow-damaged", Default: "0", Meaning: "1: the start of a job ends with an error where it would only warn that a newer version is absent, damaged, perhaps elsewhere, or of another branch; a list: but for these reasons ([checkpointing.md](checkpointing.md#unattended-runs))"},
	{Name: "CRAFT_SYNC", Values: "full, none", Default: "full", Meaning: "what a write waits for: full = a crash of the machine cannot take the version back, none = a crash of the program cannot"},
	{Name: "CRAFT_TIMING", Values: "0, 1", Default: "0", Meaning: "1: report the times of every phase of every version"},
	{Name: "CRAFT_USE_SCR", Values: "0, 1", Default: "1", Meaning: "0: the storage of the nodes is not used, whatever CRAFT_LEVELS says"},
	{Name: "CRAFT_WRITE_ASYNC", Values: "0, 1", Default: "0", Meaning: "1: asynchronous writes through a private copy"},
	{Name: "CRAFT_WRITE_ASYNC_ZERO_COPY", Values: "0, 1", Default: "0", Meaning: "1: asynchronous writes straight from the program's data, which calls Wait before it changes them (wins over CRAFT_WRITE_ASYNC); a program that does not gets an error once, and its values are copied from then on"},
}

// testPrefix starts names that belong to the project's own tests.
const testPrefix = Prefix + "_TEST_"

// Error says that a variable has a value that is not allowed.
type Error struct {
	Name, Value, Allowed string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s=%q (environment variable, or the option in its place) is not valid: allowed are %s", e.Name, e.Value, e.Allowed)
}

// Invalid returns the error for a value of the variable name.
func Invalid(name, value string) error {
	for _, v := range Variables {
		if v.Name == name {
			return &Error{Name: name, Value: value, Allowed: v.Values}
		}
	}
	return &Error{Name: name, Value: value, Allowed: "nothing: the variable is not known"}
}

// Load fills spec, a pointer to a struct with envconfig's tags, from the
// environment. A process with a role that there is not is refused too.
func Load(spec any) error {
	switch role := CurrentRole(); role {
	case "", RoleGuard, RoleDaemon, RoleRank:
	default:
		return Invalid(Role, role)
	}
	if name, value := octal(spec); name != "" {
		return Invalid(name, value)
	}
	err := envconfig.Process(Prefix, spec)
	var parse *envconfig.ParseError
	if errors.As(err, &parse) {
		return Invalid(parse.KeyName, parse.Value)
	}
	return err
}

// octal is a variable of a number that begins with 0: 010 would be read as 8.
func octal(spec any) (name, value string) {
	for _, field := range reflect.VisibleFields(reflect.TypeOf(spec).Elem()) {
		name := Prefix + "_" + strings.ToUpper(field.Tag.Get("envconfig"))
		value := os.Getenv(name)
		digits := strings.TrimLeft(value, "+-")
		if field.Type.Kind() == reflect.Int && len(digits) > 1 && digits[0] == '0' {
			return name, value
		}
	}
	return "", ""
}

// unknown is a variable with our prefix that nothing reads.
type unknown struct {
	name, value string
	nearest     string // the known name that is most alike
}

// reported are the unknown variables that this process has warned of.
var reported sync.Map

// ReportUnknown warns of the variables of environ that nothing reads, once in a process.
// A rank says nothing: its launcher has.
func ReportUnknown(log *slog.Logger, environ []string) {
	if CurrentRole() == RoleRank {
		return
	}
	for _, u := range findUnknown(environ) {
		if _, told := reported.LoadOrStore(u, true); !told {
			log.Warn("unknown environment variable", "variable", u.name, "nearest", u.nearest)
		}
	}
}

func findUnknown(environ []string) []unknown {
	var out []unknown
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		known := slices.ContainsFunc(Variables, func(v Variable) bool { return v.Name == name })
		if strings.HasPrefix(name, Prefix+"_") && !strings.HasPrefix(name, testPrefix) && !known {
			out = append(out, unknown{name: name, value: value, nearest: nearest(name)})
		}
	}
	slices.SortFunc(out, func(a, b unknown) int { return cmp.Compare(a.name, b.name) })
	return out
}

func nearest(name string) string {
	return slices.MinFunc(Variables, func(a, b Variable) int {
		return cmp.Compare(distance(name, a.Name), distance(name, b.Name))
	}).Name
}

// distance is the distance of Levenshtein between the words of two names, in any order: the
// paper itself swaps words (CRAFT_CP_READ_ON_RESTART). Words that a lacks, and b has, count as
// two letters: who writes CRAFT_RECOVERY_POLICY has forgotten COMM.
func distance(a, b string) int {
	d := min(levenshtein(a, b), levenshtein(sortWords(a), sortWords(b))+1)
	has := strings.Split(b, "_")
	words := strings.Split(a, "_")
	if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(has, w) }) {
		d = min(d, 2*(len(has)-len(words)))
	}
	return d
}

func sortWords(name string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(name, "_")), "_")
}

func levenshtein(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
