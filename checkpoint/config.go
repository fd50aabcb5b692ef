package checkpoint

import (
	"log/slog"
	"os"
	"strconv"

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
	Keep          int    `envconfig:"KEEP" default:"2"`
	Sync          string `envconfig:"SYNC" default:"full"`
	Compress      string `envconfig:"COMPRESS" default:"auto"`

	// Reserved: accepted and checked, without effect in this release.
	WriteAsync         bool `envconfig:"WRITE_ASYNC"`
	WriteAsyncZeroCopy bool `envconfig:"WRITE_ASYNC_ZERO_COPY"`
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
	if c.Keep < 1 {
		return env.Invalid("CRAFT_KEEP", strconv.Itoa(c.Keep))
	}
	if c.Sync != string(filestore.SyncFull) && c.Sync != string(filestore.SyncNone) {
		return env.Invalid("CRAFT_SYNC", c.Sync)
	}
	if _, err := c.compression(); err != nil {
		return err
	}
	return nil
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

// options is what New works with.
type options struct {
	Config

	fingerprint any
	logger      *slog.Logger
	fs          vfs.FS
	lock        filestore.LockConfig
	chunkSize   int
}

// Option changes one setting of a single checkpoint.
type Option func(*options)

// WithPath sets the base directory, as CRAFT_CP_PATH does.
func WithPath(dir string) Option { return func(o *options) { o.Path = dir } }

// WithKeep sets how many of the newest complete versions are kept, as
// CRAFT_KEEP does.
func WithKeep(n int) Option { return func(o *options) { o.Keep = n } }

// WithSync sets what a write waits for, as CRAFT_SYNC does: "full" or "none".
func WithSync(policy string) Option { return func(o *options) { o.Sync = policy } }

// WithCompression sets the compression, as CRAFT_COMPRESS does: "auto", "off"
// or "always".
func WithCompression(policy string) Option { return func(o *options) { o.Compress = policy } }

// WithReadOnRestart says whether RestartIfNeeded reads, as
// CRAFT_READ_CP_ON_RESTART does.
func WithReadOnRestart(read bool) Option { return func(o *options) { o.ReadOnRestart = read } }

// WithFingerprint describes the problem that the checkpoint belongs to by
// anything that encoding/json can encode, best a struct or map of the
// parameters that must not change between runs.
func WithFingerprint(problem any) Option { return func(o *options) { o.fingerprint = problem } }

// WithLogger sets where the checkpoint reports what the caller need not act
// on; slog.Default() without it.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

func newOptions(opts []Option) (options, error) {
	config, err := LoadConfig()
	if err != nil {
		return options{}, err
	}
	o := options{Config: config, logger: slog.Default()}
	for _, opt := range opts {
		opt(&o)
	}
	if err := o.Validate(); err != nil {
		return o, err
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// reportEnvironment tells of variables that have no effect, so that nobody
// believes that a misspelled one had.
func (o options) reportEnvironment() {
	for _, u := range env.FindUnknown() {
		o.logger.Warn("unknown environment variable", "variable", u.Name, "nearest", u.Nearest)
	}
	for _, v := range env.Variables {
		if value := os.Getenv(v.Name); v.Reserved && value != "" && value != v.Default {
			o.logger.Warn("environment variable has no effect in this release", "variable", v.Name, "value", value)
		}
	}
}
