package checkpoint

import (
	"cmp"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// Config holds the settings of a checkpoint. It is read from the environment
// (docs/environment.md); options of New win over it.
type Config struct {
	Enable        bool   `envconfig:"ENABLE" default:"true"`
	Path          string `envconfig:"CP_PATH" default:"."`
	ReadOnRestart bool   `envconfig:"READ_CP_ON_RESTART" default:"true"`
	Strict        string `envconfig:"STRICT" default:"0"`
	Keep          int    `envconfig:"KEEP" default:"2"`
	Sync          string `envconfig:"SYNC" default:"full"`
	Compress      string `envconfig:"COMPRESS" default:"auto"`
	FileMode      string `envconfig:"FILE_MODE" default:"0600"`

	WriteAsync         bool          `envconfig:"WRITE_ASYNC"`
	WriteAsyncZeroCopy bool          `envconfig:"WRITE_ASYNC_ZERO_COPY"` // wins over WriteAsync
	AsyncCPUs          string        `envconfig:"ASYNC_THREAD_PIN_CPULIST"`
	AsyncStaging       string        `envconfig:"ASYNC_STAGING" default:"0"`
	AsyncCheck         bool          `envconfig:"ASYNC_CHECK"`
	DrainTimeout       time.Duration `envconfig:"DRAIN_TIMEOUT" default:"10m"`

	Delta     bool `envconfig:"DELTA"`
	DeltaFull int  `envconfig:"DELTA_FULL" default:"10"`

	LevelConfig

	UseSCR    bool `envconfig:"USE_SCR" default:"true"`
	Debug     int  `envconfig:"DEBUG"`
	DebugProc int  `envconfig:"DEBUG_PROC"`
	Timing    bool `envconfig:"TIMING"`
	Record    bool `envconfig:"RECORD" default:"true"`
}

// LoadConfig reads the settings from the environment.
func LoadConfig() (Config, error) {
	var c Config
	if err := env.Load(&c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// Validate reports the first setting that is not allowed, by the name of its
// environment variable.
func (c Config) Validate() error {
	_, strict := c.strictness()
	_, compress := c.compression()
	_, fileMode := c.fileMode()
	_, cpus := async.ParseCPUList(c.AsyncCPUs)
	if cpus != nil {
		cpus = invalidCPUs(c.AsyncCPUs, cpus)
	}
	_, staging := c.staging()
	return cmp.Or(
		allowIf(c.Keep >= 1, "CRAFT_KEEP", c.Keep),
		allowIf(c.Sync == string(filestore.SyncFull) || c.Sync == string(filestore.SyncNone), "CRAFT_SYNC", c.Sync),
		strict, compress, fileMode,
		allowIf(c.DrainTimeout > 0, "CRAFT_DRAIN_TIMEOUT", c.DrainTimeout),
		allowIf(c.Debug >= 0 && c.Debug <= 4, "CRAFT_DEBUG", c.Debug),
		allowIf(c.DebugProc >= 0, "CRAFT_DEBUG_PROC", c.DebugProc),
		cpus, staging,
		allowIf(c.DeltaFull >= 1, "CRAFT_DELTA_FULL", c.DeltaFull),
		c.LevelConfig.validate(),
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

// sizeOfSetting reads a number of bytes.
func sizeOfSetting(variable, value string) (int64, error) {
	var n env.Size
	err := allowIf(n.Decode(value) == nil, variable, value)
	return int64(n), err
}

// staging is the limit of the private copy in bytes; 0: none.
func (c Config) staging() (int64, error) {
	return sizeOfSetting("CRAFT_ASYNC_STAGING", c.AsyncStaging)
}

// mode says who writes and from what.
type mode int

const (
	synchronous mode = iota
	copied           // in the background, from a private copy
	zeroCopy         // in the background, from the program's own memory
)

func (m mode) String() string { return [...]string{"off", "copy", "zero-copy"}[m] }

func (c Config) mode() mode {
	switch {
	case c.WriteAsyncZeroCopy:
		return zeroCopy
	case c.WriteAsync:
		return copied
	}
	return synchronous
}

func (c Config) compression() (container.Compression, error) {
	switch c.Compress {
	case "auto":
		return container.Auto, nil
	case "off":
		return container.Off, nil
	case "always":
		return container.Always, nil
	}
	return container.Auto, env.Invalid("CRAFT_COMPRESS", c.Compress)
}

// fileMode is that of the files in the checkpoint's directory.
func (c Config) fileMode() (fs.FileMode, error) {
	switch c.FileMode {
	case "0600", "0640", "0660", "0644", "0664":
		mode, err := strconv.ParseUint(c.FileMode, 8, 32)
		return fs.FileMode(mode), err
	}
	return 0, env.Invalid("CRAFT_FILE_MODE", c.FileMode)
}

// options is what New works with.
type options struct {
	Config

	fingerprint any
	logger      *slog.Logger
	fs          vfs.FS
	nodeFS      vfs.FS
	late        time.Duration // placement.Config.Late
	lock        filestore.LockConfig
	chunkSize   int
	modeErr     error
	// modeGiven: the program has chosen the mode, by WithAsync, and not the environment.
	modeGiven bool
	// zeroCopyFrom is the size in bytes from which zero-copy writes a value from
	// its own memory. Smaller ones are copied all the same: it costs nothing, and
	// a counter that moves on too early does no harm.
	zeroCopyFrom int64
}

// Option changes one setting of a single checkpoint.
type Option func(*options)

// WithPath sets the base directory, as CRAFT_CP_PATH does, and wins over it.
func WithPath(dir string) Option { return func(o *options) { o.Path = dir } }

// WithKeep sets how many of the newest complete versions are kept, as
// CRAFT_KEEP does. Besides these, the newest version that was read back stays.
func WithKeep(n int) Option { return func(o *options) { o.Keep = n } }

// WithSync sets what a write waits for, as CRAFT_SYNC does: "full" or "none".
func WithSync(policy string) Option { return func(o *options) { o.Sync = policy } }

// WithCompression sets the compression, as CRAFT_COMPRESS does: "auto", "off"
// or "always".
func WithCompression(policy string) Option { return func(o *options) { o.Compress = policy } }

// WithReadOnRestart says whether RestartIfNeeded reads, as
// CRAFT_READ_CP_ON_RESTART does: at the start of the job. When a job that began without
// reading recovers, it reads what it has written itself.
func WithReadOnRestart(read bool) Option { return func(o *options) { o.ReadOnRestart = read } }

// WithStrict says at which starts of a job RestartIfNeeded returns ErrStrict, as
// CRAFT_STRICT does: "0" at none, "1" where it would warn of versions that are newer,
// absent or damaged, or a list of what it is not to return it for: "allow-absent".
func WithStrict(policy string) Option { return func(o *options) { o.Strict = policy } }

// WithAsync sets who writes: "off", the call itself; "copy", a background
// writer from a private copy, as with CRAFT_WRITE_ASYNC=1; "zero-copy", a
// background writer from the program's own memory, which must not change before
// Wait has returned. With CRAFT_WRITE_ASYNC_ZERO_COPY=1, in place of this option,
// it is looked whether they change, because the program may not know of that rule.
func WithAsync(mode string) Option {
	return func(o *options) {
		o.modeErr, o.modeGiven = nil, true
		switch mode {
		case "off", "copy", "zero-copy":
			o.WriteAsync, o.WriteAsyncZeroCopy = mode != "off", mode == "zero-copy"
		default:
			o.modeErr = fmt.Errorf("%w: asynchronous mode %q: allowed are off, copy and zero-copy", ErrArgument, mode)
		}
	}
}

// WithStaging bounds the memory of the private copy in bytes, as
// CRAFT_ASYNC_STAGING does; 0: as much as the values have.
func WithStaging(bytes int64) Option {
	return func(o *options) { o.AsyncStaging = strconv.FormatInt(bytes, 10) }
}

// WithAsyncCheck looks whether values change while they are written, as
// CRAFT_ASYNC_CHECK does. It costs two passes over the values.
func WithAsyncCheck(check bool) Option { return func(o *options) { o.AsyncCheck = check } }

// WithDrainTimeout sets how long Close waits for an asynchronous write, as
// CRAFT_DRAIN_TIMEOUT does.
func WithDrainTimeout(d time.Duration) Option { return func(o *options) { o.DrainTimeout = d } }

// WithDelta does not write chunks again that have not changed since an earlier
// version, as CRAFT_DELTA does; every full-th version is written whole.
func WithDelta(full int) Option { return func(o *options) { o.Delta, o.DeltaFull = true, full } }

// WithLevels says which versions are kept where, as CRAFT_LEVELS does:
// "local:1,partner:5,pfs:50", for example; "": all on the parallel file system.
func WithLevels(policy string) Option { return func(o *options) { o.Levels = policy } }

// WithNodePath sets the directory of this node, as CRAFT_NODE_PATH does: one for all ranks of
// a node, which no other node has.
func WithNodePath(dir string) Option { return func(o *options) { o.NodePath = dir } }

// WithFingerprint describes the problem that the checkpoint belongs to by
// anything that encoding/json can encode, best a struct or map of the
// parameters that must not change between runs. A field that encoding/json leaves
// out because it is unexported is an error of New, unless it has the tag `craft:"-"`.
func WithFingerprint(problem any) Option { return func(o *options) { o.fingerprint = problem } }

// WithLogger sets where the checkpoint reports what the caller need not act
// on; slog.Default() without it.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

func newOptions(opts []Option) (options, error) {
	config, err := LoadConfig()
	if err != nil {
		return options{}, err
	}
	o := options{Config: config, logger: slog.Default(), zeroCopyFrom: 64 << 10}
	for i, opt := range opts {
		if opt == nil {
			return options{}, fmt.Errorf("%w: option %d of %d is nil", ErrArgument, i+1, len(opts))
		}
		opt(&o)
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	return o, cmp.Or(o.modeErr, o.Validate())
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
