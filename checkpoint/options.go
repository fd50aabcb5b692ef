package checkpoint

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// options is what New works with.
type options struct {
	config

	fingerprint  any
	logger       *slog.Logger
	afterVersion func(Version)
	fs           vfs.FS
	nodeFS       vfs.FS
	late         time.Duration // placement.Config.Late
	// beforeMemory is placement.Config.BeforeMemory.
	beforeMemory func(operation string, key storage.ObjectKey) error
	lock         filestore.LockConfig
	point        *demand.Point // in place of that of the communicator
	milestones   *int          // WithMilestones; nil: all stay
	chunkSize    int
	modeErr      error
	// modeGiven: the program has chosen the mode, by WithAsync, and not the environment.
	modeGiven bool
	lookEvery time.Duration // for requests and marks; 0: lookEvery
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

// WithSync sets what a write waits for, as CRAFT_SYNC does.
func WithSync(s Sync) Option { return func(o *options) { o.Sync = s } }

// Sync is what a write waits for.
type Sync string

const (
	SyncFull Sync = "full" // until a crash of the machine cannot take the version back
	SyncNone Sync = "none" // until a crash of the program cannot
)

// WithCompression sets the compression, as CRAFT_COMPRESS does.
func WithCompression(c Compression) Option { return func(o *options) { o.Compress = c } }

// Compression says which chunks of a version are compressed.
type Compression string

const (
	CompressAuto   Compression = "auto" // where a quick test says that it pays
	CompressOff    Compression = "off"
	CompressAlways Compression = "always"
)

// WithReadOnRestart says whether RestartIfNeeded reads, as
// CRAFT_READ_CP_ON_RESTART does: at the start of the job. When a job that began without
// reading recovers, it reads what it has written itself.
func WithReadOnRestart(read bool) Option { return func(o *options) { o.ReadOnRestart = read } }

// WithStrict says at which starts of a job RestartIfNeeded returns ErrStrict, as
// CRAFT_STRICT does: NotStrict, Strict (the same as nothing), or for which reasons it is
// not to return it.
func WithStrict(policy ...Strictness) Option {
	return func(o *options) {
		if o.Strict = Strict; len(policy) > 0 {
			o.Strict = joined(policy)
		}
	}
}

// WithAsync sets who writes, as CRAFT_WRITE_ASYNC and CRAFT_WRITE_ASYNC_ZERO_COPY do.
func WithAsync(mode AsyncMode) Option {
	return func(o *options) {
		var m AsyncMode
		o.modeErr, o.modeGiven = m.UnmarshalText([]byte(mode)), true
		o.WriteAsync, o.WriteAsyncZeroCopy = m == AsyncCopy, m == AsyncZeroCopy
	}
}

// AsyncMode says who writes versions, and out of which memory.
type AsyncMode string

const (
	// AsyncOff: the call itself writes.
	AsyncOff AsyncMode = "off"
	// AsyncCopy: a background writer does, from a private copy.
	AsyncCopy AsyncMode = "copy"
	// AsyncZeroCopy: a background writer does, from the program's own memory, which must not
	// change before Wait has returned. With CRAFT_WRITE_ASYNC_ZERO_COPY=1, in place of
	// WithAsync, it is looked whether it changes, because the program may not know of that
	// rule.
	AsyncZeroCopy AsyncMode = "zero-copy"
)

// MarshalText and UnmarshalText are for flags (flag.TextVar) and files.
func (m AsyncMode) MarshalText() ([]byte, error) { return []byte(m), nil }

// UnmarshalText accepts the modes.
func (m *AsyncMode) UnmarshalText(text []byte) error {
	switch mode := AsyncMode(text); mode {
	case AsyncOff, AsyncCopy, AsyncZeroCopy:
		*m = mode
		return nil
	}
	return fmt.Errorf("%w: asynchronous mode %q: allowed are %s, %s and %s", ErrArgument, text, AsyncOff, AsyncCopy, AsyncZeroCopy)
}

// WithStaging bounds the memory of the private copy in bytes, as
// CRAFT_ASYNC_STAGING does; 0: as much as the values have.
func WithStaging(bytes int64) Option { return func(o *options) { o.AsyncStaging = env.Size(bytes) } }

// WithAsyncCheck looks whether values change while they are written, as
// CRAFT_ASYNC_CHECK does. It costs two passes over the values.
func WithAsyncCheck(check bool) Option { return func(o *options) { o.AsyncCheck = check } }

// WithDrainTimeout sets how long Close waits for an asynchronous write, as
// CRAFT_DRAIN_TIMEOUT does.
func WithDrainTimeout(d time.Duration) Option { return func(o *options) { o.DrainTimeout = d } }

// WithDelta does not write chunks again that have not changed since an earlier
// version, as CRAFT_DELTA does; every full-th version is written whole.
func WithDelta(full int) Option { return func(o *options) { o.Delta, o.DeltaFull = true, full } }

// WithLevels says which versions are kept where, as CRAFT_LEVELS does; with no level all
// are on the parallel file system. The levels are those of package storage:
//
//	WithLevels(storage.Local.Every(1), storage.Partner.Every(5), storage.PFS.Every(50))
func WithLevels(levels ...storage.Period) Option {
	return func(o *options) { o.Levels = storage.Policy(levels).String() }
}

// DisableSCR sends the versions past the storage of the nodes to the parallel file
// system, whatever WithLevels and CRAFT_LEVELS say, as CRAFT_USE_SCR=0 does for all
// checkpoints.
func DisableSCR() Option { return func(o *options) { o.UseSCR = false } }

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
	o := options{logger: slog.Default(), zeroCopyFrom: 64 << 10}
	if err := cmp.Or(env.Load(&o.config), env.Load(&o.levelConfig), env.Load(&o.triggerConfig), env.Load(&o.endConfig), o.config.validate()); err != nil {
		return options{}, err
	}
	for i, opt := range opts {
		if opt == nil {
			return options{}, fmt.Errorf("%w: option %d of %d is nil", ErrArgument, i+1, len(opts))
		}
		opt(&o)
	}
	if o.logger == nil {
		o.logger = slog.New(slog.DiscardHandler)
	}
	return o, cmp.Or(o.modeErr, o.config.validate(), o.validateMilestones())
}
