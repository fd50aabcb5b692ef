package deadline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/env"
)

// Deadline is how much time is left, and who says so.
type Deadline struct {
	Left   time.Duration // when this is told; 0 or less: it has passed
	Source string        // for people: a variable, a command, a host; empty: there is no deadline
	Notice bool          // this machine goes away
	Unsaid bool          // a notice has come that does not say when: Left counts from then, as after a signal
}

// None reports whether there is no deadline, or none any more.
func (d Deadline) None() bool { return d.Source == "" }

func (d Deadline) String() string {
	if d.None() {
		return "no deadline"
	}
	return fmt.Sprintf("%v left (%s)", d.Left.Round(100*time.Millisecond), d.Source)
}

// Setting is the value of CRAFT_DEADLINE for a program that is started now and has so much time
// left.
func Setting(left time.Duration) string {
	return "+" + max(left, 0).Round(time.Millisecond).String()
}

// Scope is what a source says something about.
type Scope int

const (
	Job  Scope = iota // asked once in a job
	Node              // asked once on each of its nodes
)

// DefaultGrace is for CRAFT_GRACE: Kubernetes and Slurm give 30 seconds.
const DefaultGrace = 25 * time.Second

// Config says which sources there are. FromEnv makes one.
type Config struct {
	// Grace is how much time a signal leaves, or a notice that does not say when.
	Grace time.Duration
	// Host is this node in the names of its sources.
	Host string
	// Log gets a warning of each source that cannot be asked; nil: nobody does.
	Log *slog.Logger
	// AWS, GCP and Azure are the addresses of the metadata services, without a path; empty: the
	// ones that these clouds have on every machine.
	AWS, GCP, Azure string

	clock
	fixed  time.Time // of CRAFT_DEADLINE, with a monotonic reading; zero: not given
	notice notice
	slurm  *slurm
	pbs    *pbs
}

// started is about when this program was.
var started = time.Now()

// FromEnv reads CRAFT_DEADLINE, CRAFT_GRACE, CRAFT_NOTICE and what batch systems tell of the job
// with getenv (os.Getenv). An error is about one of the first three, and names it, its value and
// what is allowed. It is called early: times of day are converted here.
func FromEnv(getenv func(string) string) (Config, error) {
	return fromEnv(getenv, clock{time.Now}, started)
}

func fromEnv(getenv func(string) string, clock clock, started time.Time) (Config, error) {
	c := Config{Grace: DefaultGrace, clock: clock}
	c.Host, _ = os.Hostname() // without one its sources have names without
	if text := getenv(graceVariable); text != "" {
		grace, err := time.ParseDuration(text)
		if err != nil || grace <= 0 {
			return c, env.Invalid(graceVariable, text)
		}
		c.Grace = grace
	}
	if text := getenv(env.Deadline); text != "" {
		m, ok := parseMoment(text, clock.wall())
		switch {
		case !ok:
			return c, env.Invalid(env.Deadline, text)
		case m.time.IsZero():
			c.fixed = started.Add(m.left)
		default:
			c.fixed = clock.at(m.time)
		}
	}
	if text := getenv(noticeVariable); text != "" {
		var ok bool
		if c.notice, ok = parseNotice(text); !ok {
			return c, env.Invalid(noticeVariable, text)
		}
	}
	c.slurm, c.pbs = slurmFromEnv(getenv, clock), pbsFromEnv(getenv, clock)
	return c, nil
}

const (
	graceVariable  = env.Prefix + "_GRACE"
	noticeVariable = env.Prefix + "_NOTICE"
)

// notice is a value of CRAFT_NOTICE.
type notice struct {
	text     string
	kind     string // file, cmd, aws, gcp, azure; empty: not given
	argument string
}

func parseNotice(text string) (notice, bool) {
	kind, argument, with := strings.Cut(text, ":")
	switch {
	case kind == "file" && argument != "":
		if path, err := filepath.Abs(argument); err == nil { // a program may change its directory later
			argument = path
		}
	case kind == "cmd" && strings.TrimSpace(argument) != "":
	case !with && slices.Contains([]string{"aws", "gcp", "azure"}, kind):
	default:
		return notice{}, false
	}
	return notice{text: text, kind: kind, argument: argument}, true
}

// Passed is the deadline that has passed, as far as that can be known soon: that of CRAFT_DEADLINE, or the limit of a Slurm
// job whose variable says so. squeue is asked then, since the limit may have been made longer.
func (c Config) Passed(ctx context.Context) Deadline {
	if left := time.Until(c.fixed); !c.fixed.IsZero() && left <= 0 {
		return Deadline{Left: left, Source: env.Deadline}
	}
	if c.slurm == nil || !c.slurm.passed() {
		return Deadline{}
	}
	s := *c.slurm
	a, _ := source{timeout: passedTimeout, ask: s.ask}.once(ctx, func(error) {}) // the watcher warns
	if a == nil || a.at.IsZero() || time.Until(a.at) > 0 {
		return Deadline{}
	}
	return Deadline{Left: time.Until(a.at), Source: a.by}
}

// sources are those of the scopes.
func (c Config) sources(scopes []Scope) []source {
	var out []source
	if slices.Contains(scopes, Job) {
		out = c.ofJob()
	}
	if slices.Contains(scopes, Node) && c.notice.kind != "" {
		out = append(out, c.ofNode())
	}
	return out
}

func (c Config) ofJob() []source {
	var out []source
	if !c.fixed.IsZero() {
		out = append(out, constant(env.Deadline, c.fixed))
	}
	if c.slurm != nil {
		s := *c.slurm // each watcher has what it remembers for itself
		out = append(out, source{name: "Slurm", every: limitInterval, timeout: queueTimeout, ask: s.ask})
	}
	if c.pbs != nil {
		p := *c.pbs
		out = append(out, source{name: "PBS", every: limitInterval, timeout: queueTimeout, ask: p.ask})
	}
	return out
}

func (c Config) ofNode() source {
	s := source{name: noticeVariable + "=" + c.notice.text, every: time.Second, timeout: metadataTimeout}
	if c.Host != "" {
		s.name += " on " + c.Host
	}
	clock := noticeClock{clock: c.clock, grace: c.Grace, name: s.name}
	switch c.notice.kind {
	case "file":
		s.every = 2 * time.Second // the server of a shared directory has many nodes
		s.ask = (&noticeFile{noticeClock: clock, path: c.notice.argument}).ask
	case "cmd":
		s.every, s.timeout = 5*time.Second, commandTimeout
		s.ask = (&noticeCommand{noticeClock: clock, command: c.notice.argument}).ask
	case "aws":
		s.every = 5 * time.Second // what they recommend; they give two minutes
		s.ask = (&aws{noticeClock: clock, metadata: newMetadata(c.AWS)}).ask
	case "gcp":
		s.ask = (&gcp{noticeClock: clock, metadata: newMetadata(c.GCP)}).ask
	case "azure":
		s.timeout = azureFirstTimeout
		s.ask = (&azure{noticeClock: clock, metadata: newMetadata(c.Azure), patience: metadataTimeout}).ask
	}
	return s
}
