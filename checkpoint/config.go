package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage/container"
)

// config holds the settings of a checkpoint. It is read from the environment
// (docs/environment.md); options of New win over it.
type config struct {
	Enable        bool        `envconfig:"ENABLE" default:"true"`
	Path          string      `envconfig:"CP_PATH" default:"."`
	ReadOnRestart bool        `envconfig:"READ_CP_ON_RESTART" default:"true"`
	FallBack      bool        `envconfig:"FALL_BACK"`
	RestartFrom   string      `envconfig:"RESTART_FROM"`
	Strict        Strictness  `envconfig:"STRICT" default:"0"`
	Keep          int         `envconfig:"KEEP" default:"2"`
	Sync          Sync        `envconfig:"SYNC" default:"full"`
	Compress      Compression `envconfig:"COMPRESS" default:"auto"`
	FileMode      string      `envconfig:"FILE_MODE" default:"0600"`

	WriteAsync         bool          `envconfig:"WRITE_ASYNC"`
	WriteAsyncZeroCopy bool          `envconfig:"WRITE_ASYNC_ZERO_COPY"` // wins over WriteAsync
	AsyncCPUs          string        `envconfig:"ASYNC_THREAD_PIN_CPULIST"`
	AsyncStaging       env.Size      `envconfig:"ASYNC_STAGING" default:"0"`
	AsyncCheck         bool          `envconfig:"ASYNC_CHECK"`
	DrainTimeout       time.Duration `envconfig:"DRAIN_TIMEOUT" default:"10m"`

	Guard string `envconfig:"GUARD" default:"off"`

	Delta     bool `envconfig:"DELTA"`
	DeltaFull int  `envconfig:"DELTA_FULL" default:"10"`

	levelConfig
	endConfig
	triggerConfig

	UseSCR    bool `envconfig:"USE_SCR" default:"true"`
	Debug     int  `envconfig:"DEBUG"`
	DebugProc int  `envconfig:"DEBUG_PROC"`
	Timing    bool `envconfig:"TIMING"`
	Record    bool `envconfig:"RECORD" default:"true"`
}

// validate reports the first setting that is not allowed, by the name of its
// environment variable.
func (c config) validate() error {
	_, strict := c.strictness()
	_, compress := c.compression()
	_, fileMode := c.fileMode()
	_, cpus := async.ParseCPUList(c.AsyncCPUs)
	if cpus != nil {
		cpus = invalidCPUs(c.AsyncCPUs, cpus)
	}
	return cmp.Or(
		allowIf(c.Keep >= 1, "CRAFT_KEEP", c.Keep),
		allowIf(c.Sync == SyncFull || c.Sync == SyncNone, "CRAFT_SYNC", c.Sync),
		strict, c.validateWayBack(), compress, fileMode,
		allowIf(c.DrainTimeout > 0, "CRAFT_DRAIN_TIMEOUT", c.DrainTimeout),
		allowIf(c.Debug >= 0 && c.Debug <= 4, "CRAFT_DEBUG", c.Debug),
		allowIf(c.DebugProc >= 0, "CRAFT_DEBUG_PROC", c.DebugProc),
		cpus, allowIf(c.AsyncStaging >= 0, "CRAFT_ASYNC_STAGING", c.AsyncStaging),
		allowIf(c.Guard == guardOff || c.Guard == guardFinite, "CRAFT_GUARD", c.Guard),
		allowIf(c.DeltaFull >= 1, "CRAFT_DELTA_FULL", c.DeltaFull),
		c.levelConfig.validate(), c.triggerConfig.validate(), c.endConfig.validate(),
	)
}

// allowIf returns an error about a variable if its value is not allowed.
func allowIf(allowed bool, variable string, value any) error {
	if allowed {
		return nil
	}
	return env.Invalid(variable, fmt.Sprint(value))
}

// invalidCPUs says why the list of processors cannot be used.
func invalidCPUs(list string, why error) error {
	return fmt.Errorf("%w: %w", env.Invalid("CRAFT_ASYNC_THREAD_PIN_CPULIST", list), why)
}

func (c config) mode() AsyncMode {
	switch {
	case c.WriteAsyncZeroCopy:
		return AsyncZeroCopy
	case c.WriteAsync:
		return AsyncCopy
	}
	return AsyncOff
}

var compressions = map[Compression]container.Compression{
	CompressAuto: container.Auto, CompressOff: container.Off, CompressAlways: container.Always,
}

func (c config) compression() (container.Compression, error) {
	compression, ok := compressions[c.Compress]
	return compression, allowIf(ok, "CRAFT_COMPRESS", c.Compress)
}

func (c config) fileMode() (fs.FileMode, error) {
	switch c.FileMode {
	case "0600", "0640", "0660", "0644", "0664":
		mode, err := strconv.ParseUint(c.FileMode, 8, 32)
		return fs.FileMode(mode), err
	}
	return 0, env.Invalid("CRAFT_FILE_MODE", c.FileMode)
}

// toldPaths are pairs of paths of which it was said which one wins.
var toldPaths sync.Map

// reportEnvironment tells of variables that have no effect, or not the one that was
// meant, so that nobody believes in it. Of several with one cause it speaks once.
func (o options) reportEnvironment(ranks int) {
	if given := os.Getenv("CRAFT_CP_PATH"); given != "" && filepath.Clean(given) != filepath.Clean(o.Path) {
		if _, told := toldPaths.LoadOrStore(given+"\x00"+o.Path, true); !told {
			o.logger.Warn("CRAFT_CP_PATH is not used: the program says where its checkpoints are, with WithPath, and that wins", "value", given, "program", o.Path)
		}
	}
	if o.DebugProc >= ranks && (o.Debug > 0 || o.Timing) {
		o.logger.Warn("CRAFT_DEBUG_PROC names a rank that there is not: nobody gives the messages of CRAFT_DEBUG and CRAFT_TIMING",
			"value", o.DebugProc, "allowed", fmt.Sprintf("0 to %d", ranks-1))
	}
	env.ReportUnknown(o.logger, os.Environ())
}

type setting struct{ Variable, Value string }

// settingsOf are those that must be the same on all ranks: with others they would be
// in different collective calls and wait for each other for ever.
func settingsOf(c *core) []setting {
	o := c.opt
	out := []setting{
		{"CRAFT_READ_CP_ON_RESTART", fmt.Sprint(o.ReadOnRestart)},
		{"CRAFT_WRITE_ASYNC or CRAFT_WRITE_ASYNC_ZERO_COPY", string(o.mode())},
		{"CRAFT_RESTART_FROM", o.RestartFrom},
		{"CRAFT_FALL_BACK", fmt.Sprint(o.FallBack)},
		{"CRAFT_STRICT", string(o.Strict)},
		{"CRAFT_USE_SCR", fmt.Sprint(o.UseSCR)},
		{"CRAFT_GUARD", o.Guard},
	}
	levels, sets, delta := "", "", ""
	if c.leveled() {
		policy, _ := o.policy() // validated
		levels, sets = policy.String(), fmt.Sprintf("%d, %d, %d", o.SetSize, o.RSParity, o.MemCopies)
	}
	if o.Delta {
		delta = fmt.Sprintf("1, %d, %d", o.DeltaFull, min(o.Keep, 2)) // what is kept decides what is full
	}
	out = append(out, triggerSettings(c)...)
	return append(out, setting{"CRAFT_LEVELS", levels}, setting{"CRAFT_SET_SIZE, CRAFT_RS_PARITY, CRAFT_MEM_COPIES", sets}, setting{"CRAFT_DELTA, CRAFT_DELTA_FULL, CRAFT_KEEP", delta})
}

// sameSettings compares them on all ranks. It is collective, and the error is the
// same everywhere.
func (st *starting) sameSettings(ctx context.Context) error {
	if st.comm.Size() == 1 {
		return nil
	}
	mine := settingsOf(st.core)
	if differ, _, err := st.compare(ctx, []int64{condensed(fmt.Append(nil, mine))}); err != nil || !differ[0] {
		return err
	}
	all, err := fromAll(ctx, st.core, mine)
	if err != nil {
		return err
	}
	for rank, theirs := range all {
		for i, s := range theirs[:min(len(theirs), len(all[0]))] {
			if first := all[0][i]; first != s {
				return fmt.Errorf("%w: %s (from the environment, or the option in its place) is %q on rank 0 and %q on rank %d: give all ranks the same",
					ErrDisagree, s.Variable, first.Value, s.Value, rank)
			}
		}
	}
	return fmt.Errorf("%w about their settings: the ranks run different builds of the program", ErrDisagree)
}
