package launch

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/internal/deadline"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/osstring"
)

// plan is a Config that was checked and completed.
type plan struct {
	Config
	expected comm.Policy // of the ranks

	job        string
	executable string // of daemons
	hostname   string // of this machine
	nodes      []nodePlan

	deadline    deadline.Config
	requeueCode int // of ranks that want to go on in another job
}

// nodePlan is what the launcher needs to know of a node beside its NodeConfig.
type nodePlan struct {
	control.NodeConfig

	path  string   // of its storage; "": temporary
	agent []string // nil: a child
}

// localhost is always this machine.
const localhost = "localhost"

// isHere reports whether a host is this machine: its daemon needs no agent.
func (p *plan) isHere(host string) bool {
	short := func(name string) string { return name[:(strings.Index(name+".", "."))] }
	return host == localhost || host == p.hostname || host == short(p.hostname) || short(host) == p.hostname
}

func prepare(cfg Config) (*plan, error) {
	p := &plan{Config: cfg}
	if cfg.Ranks < 1 {
		return nil, fmt.Errorf("-n %d: at least 1 rank is needed", cfg.Ranks)
	}
	if cfg.SpareNodes < 0 {
		return nil, fmt.Errorf("--spare-nodes %d: it is a number of nodes, 0 or more", cfg.SpareNodes)
	}
	switch {
	case cfg.Restarts < 0:
		return nil, fmt.Errorf("--restarts %d: it is a number of times, 0 or more", cfg.Restarts)
	case cfg.RestartDelay < 0:
		return nil, fmt.Errorf("--restart-delay %v: it must not be negative", cfg.RestartDelay)
	case cfg.RestartDelay > 0 && cfg.Restarts == 0:
		return nil, fmt.Errorf("--restart-delay %v: it needs --restarts", cfg.RestartDelay)
	}
	if err := errors.Join(p.setDefaults(), p.setTiming(), p.setPolicy(), p.setEnding()); err != nil {
		return nil, err
	}
	if err := p.setNodes(); err != nil {
		return nil, err
	}
	return p, p.findProgram()
}

func (p *plan) setDefaults() (err error) {
	p.Stdout, p.Stderr = cmp.Or[io.Writer](p.Stdout, os.Stdout), cmp.Or[io.Writer](p.Stderr, os.Stderr)
	unknown := p.Logger
	if p.Logger == nil {
		p.Logger, unknown = slog.New(slog.DiscardHandler), slog.Default()
	}
	env.ReportUnknown(unknown, p.environ())
	if p.Dir, err = filepath.Abs(p.Dir); err != nil {
		return err
	}
	if p.NodePath = cmp.Or(p.NodePath, lastingNodePath()); p.NodePath != "" {
		if p.NodePath, err = filepath.Abs(p.NodePath); err != nil {
			return err
		}
	}
	if p.executable, err = os.Executable(); err != nil {
		return err
	}
	if p.hostname, err = os.Hostname(); err != nil {
		return err
	}
	p.job = hex.EncodeToString(randomBytes(8))
	return nil
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// What a lease and the time between two signs of life may be: shorter ones would
// only keep the machine busy, longer ones are not meant.
const (
	minPeriod = time.Millisecond
	minLease  = 10 * minPeriod
	maxLease  = 1000 * time.Hour
)

func (p *plan) setTiming() error {
	t := &p.Timing
	if t.Lease != 0 && (t.Lease < minLease || t.Lease > maxLease) {
		return fmt.Errorf("--lease %v: it must be between %v and %v", t.Lease, minLease, maxLease)
	}
	if t.Period != 0 && (t.Period < minPeriod || t.Period > maxLease/3) {
		return fmt.Errorf("--heartbeat %v: it must be between %v and %v", t.Period, minPeriod, maxLease/3)
	}
	t.Lease = cmp.Or(t.Lease, max(DefaultLease, 3*t.Period))
	t.Period = cmp.Or(t.Period, t.Lease/10)
	t.Margin = cmp.Or(t.Margin, max(t.Period, t.Lease/10))
	t.Start = cmp.Or(max(t.Start, 0), DefaultStart)
	if text, set := os.LookupEnv(env.RepairTimeout); set && t.Repair == 0 {
		limit, err := time.ParseDuration(text)
		if err != nil || limit < 0 {
			return env.Invalid(env.RepairTimeout, text)
		}
		t.Repair = limit // 0: none
		return nil
	}
	t.Repair = max(cmp.Or(t.Repair, DefaultRepair), 0) // less than 0: no limit
	return nil
}

func (p *plan) setNodes() error {
	if len(p.Hosts) == 0 {
		return p.setVirtualNodes()
	}
	if p.Nodes != 0 || p.Slots != 0 {
		return errors.New("--nodes and --slots are for virtual nodes on this machine: with --hosts, slots are written such as a:2")
	}
	if err := checkHosts(p.Hosts); err != nil {
		return fmt.Errorf("--hosts: %w", err)
	}
	if p.SpareNodes >= len(p.Hosts) {
		return fmt.Errorf("--spare-nodes %d of %d hosts leaves none for the ranks", p.SpareNodes, len(p.Hosts))
	}
	if err := p.checkAgent(); err != nil {
		return err
	}
	for i, h := range p.Hosts {
		n := nodePlan{
			NodeConfig: control.NodeConfig{Name: h.Name, Host: p.hostOf(h.Name), Slots: h.Slots, Spare: i >= len(p.Hosts)-p.SpareNodes},
			path:       p.NodePath,
		}
		switch {
		case len(p.Agent) > 0:
			n.agent = p.Agent
		case !p.isHere(h.Name):
			n.agent = DefaultAgent
		default:
			n.Local = true
		}
		p.nodes = append(p.nodes, n)
	}
	return nil
}

// hostOf is a host as the others call it: a name in a list may be user@host, and
// localhost means something else to each of them.
func (p *plan) hostOf(name string) string {
	if name == localhost && len(p.Hosts) > 1 {
		return p.hostname
	}
	return name[strings.LastIndexByte(name, '@')+1:]
}

func (p *plan) setVirtualNodes() error {
	switch {
	case p.Nodes < 0:
		return fmt.Errorf("--nodes %d: at least 1 is needed", p.Nodes)
	case p.Slots < 0:
		return fmt.Errorf("--slots %d: at least 1 is needed", p.Slots)
	case len(p.Agent) > 0:
		return errors.New("--launch-agent is for the daemons on other hosts: it needs --hosts or --hostfile")
	}
	regular := max(p.Nodes, 1)
	if regular > control.MaxProcs || p.SpareNodes > control.MaxProcs-regular {
		return fmt.Errorf("--nodes %d, --spare-nodes %d: at most %d are possible", p.Nodes, p.SpareNodes, control.MaxProcs)
	}
	for i := range regular + p.SpareNodes {
		n := nodePlan{NodeConfig: control.NodeConfig{
			Name: strconv.Itoa(i), Host: localhost, Slots: p.Slots, Spare: i >= regular, Local: true,
		}}
		if p.NodePath != "" {
			n.path = filepath.Join(p.NodePath, fmt.Sprintf("node-%d", i))
		}
		p.nodes = append(p.nodes, n)
	}
	return nil
}

func (p *plan) checkAgent() error {
	agent, flag := p.Agent, "--launch-agent"
	if len(agent) == 0 {
		agent, flag = DefaultAgent, "the agent for other hosts"
		if !slices.ContainsFunc(p.Hosts, func(h Host) bool { return !p.isHere(h.Name) }) {
			return nil
		}
	}
	if _, err := exec.LookPath(agent[0]); err != nil {
		return fmt.Errorf("%s %q: %w", flag, strings.Join(agent, " "), err)
	}
	return nil
}

// findProgram makes the program's path absolute. Where no node is this machine,
// the program need not be here.
func (p *plan) findProgram() error {
	path, err := lookUp(p.Program, p.Dir)
	here := slices.ContainsFunc(p.nodes, func(n nodePlan) bool { return n.Local })
	switch {
	case err == nil:
		p.Program = path
	case here || p.Program == "":
		return err
	}
	return nil
}

// rootConfig is the job for the state machine.
func (p *plan) rootConfig(past *control.Past) control.RootConfig {
	environ := append(p.environ(), fmt.Sprintf("%s=%d", env.Restart, past.Deployments()))
	if past != nil && past.FellBack {
		environ = append(environ, env.FallBack+"=1")
	}
	cfg := control.RootConfig{
		Size: p.Ranks, SpareRanks: p.SpareRanks, Timing: control.Timing(p.Timing), Policy: p.expected, Repeats: p.Repeats, Past: past,
		Grace: p.Grace, RequeueCode: p.requeueCode,
		Setup: control.Setup{
			Job: p.job, Secret: randomBytes(32), Program: osstring.String(p.Program), Args: osstring.From(p.Args),
			Dir: osstring.String(p.Dir), Env: osstring.From(environ),
		},
	}
	for _, n := range p.nodes {
		cfg.Nodes = append(cfg.Nodes, n.NodeConfig)
	}
	return cfg
}

// setPolicy finds out what the ranks are expected to recover with.
func (p *plan) setPolicy() error {
	p.expected = p.Policy
	if err := fromEnvironment(&p.expected.Recovery, env.RecoveryPolicy, comm.Recoveries()); err != nil {
		return err
	}
	p.warnOfIdleSpares()
	return fromEnvironment(&p.expected.Spawn, env.SpawnPolicy, comm.SpawnPolicies())
}

// warnOfIdleSpares: the program may still choose another policy, so it is no error.
func (p *plan) warnOfIdleSpares() {
	idle := func(r driver.RecoveryPolicy) bool {
		return r.Name == p.expected.Recovery && len(r.Replaced(driver.Damage{Lost: []int{0}, Size: 1, Slots: 1})) == 0
	}
	if p.SpareRanks > 0 && slices.ContainsFunc(driver.Recoveries, idle) {
		p.Logger.Warn("spare ranks take nobody's place with this recovery policy, unless the program chooses another one",
			"flag", "--spare-ranks", "recovery", string(p.expected.Recovery))
	}
}

// fromEnvironment sets what was not given to what a variable says, if it says anything.
func fromEnvironment[T ~string](policy *T, name string, allowed []T) error {
	if *policy != "" {
		return nil
	}
	*policy = T(os.Getenv(name))
	if *policy != "" && !slices.Contains(allowed, *policy) {
		return env.Invalid(name, string(*policy))
	}
	return nil
}

// forwarded are variables that ranks on other hosts get too, beside CRAFT_*.
var forwarded = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG", "GOTRACEBACK"}

// environ is what the ranks have in addition to the environment of their daemon.
func (p *plan) environ() []string {
	var out []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if (strings.HasPrefix(name, env.Prefix+"_") && name != env.Role) || slices.Contains(forwarded, name) {
			out = append(out, kv)
		}
	}
	if p.Policy.Recovery != "" {
		out = append(out, env.RecoveryPolicy+"="+string(p.Policy.Recovery))
	}
	if p.Policy.Spawn != "" {
		out = append(out, env.SpawnPolicy+"="+string(p.Policy.Spawn))
	}
	out = append(out, env.Grace+"="+p.Grace.String())
	if notice := p.noticeFromHere(); notice != "" {
		out = append(out, notice)
	}
	return append(out, p.Env...)
}
