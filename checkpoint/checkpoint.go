package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/async"
	"github.com/craft-go/craft/checkpoint/internal/tempo"
	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// Checkpoint is a registry of named values that are stored together. Its
// methods, and those of all checkpoints that are nested in one another, are
// called by one goroutine at a time (ErrState where a second one comes into a call of
// one; Version, Stats and Stored have no error to say so, and what they return then is
// undefined); Progress by any. It must not be copied (ErrState). Those of checkpoints with one communicator are collective
// calls on it: all ranks make them in the same order.
type Checkpoint struct {
	*core

	self  *Checkpoint // tells a copy
	line  *lineage
	reg   *registry
	acc   *accounts
	up    *upkeep
	start *starting
	out   *writing
	meet  *meetings
	req   *requests
	pace  *pacing

	committed bool
	forget    func() // takes back what closes it then

	calling sync.Mutex // held in a call of the program
}

// New makes a checkpoint of the given name for the ranks of c; nil means that
// the program is one process. It touches no file.
func New(name string, c *comm.Comm, opts ...Option) (*Checkpoint, error) {
	fail := func(err error) (*Checkpoint, error) {
		return nil, fmt.Errorf("checkpoint %q: %w", name, err)
	}
	o, err := newOptions(opts)
	if err != nil {
		return fail(err)
	}
	if c == nil {
		c = comm.Self()
	}
	log := o.logger.With("checkpoint", name, "rank", int(c.Rank()))
	cp := &Checkpoint{core: &core{name: name, comm: c, opt: o, log: log, rootLog: log}}
	if !cp.root() {
		cp.rootLog = slog.New(slog.DiscardHandler)
	}
	cp.line = &lineage{core: cp.core, redo: redo{reached: container.NoIteration, before: container.NoIteration}}
	cp.reg = &registry{core: cp.core, line: cp.line, index: make(map[string]int)}
	cp.acc = &accounts{core: cp.core, line: cp.line}
	cp.up = &upkeep{core: cp.core, line: cp.line, acc: cp.acc}
	cp.line.reg, cp.line.up = cp.reg, cp.up
	cp.pace = newPacing(cp.core, cp.line, cp.acc)
	cp.start = &starting{core: cp.core, line: cp.line, reg: cp.reg, acc: cp.acc, up: cp.up, pace: cp.pace}
	cp.out = &writing{core: cp.core, line: cp.line, reg: cp.reg, acc: cp.acc, up: cp.up, start: cp.start, pace: cp.pace}
	cp.meet = &meetings{core: cp.core, line: cp.line, reg: cp.reg, acc: cp.acc, up: cp.up, out: cp.out, tempo: tempo.New(), calling: &cp.calling}
	cp.start.meet, cp.out.meet, cp.line.out = cp.meet, cp.meet, cp.out
	cp.out.listener.f = o.afterVersion
	cp.self = cp
	if err := filestore.CheckName(name); err != nil {
		return fail(err)
	}
	if cp.fingerprint, err = canonical(o.fingerprint); err != nil {
		return fail(err)
	}
	if n := len(cp.fingerprint); n > container.MaxFingerprint {
		return fail(fmt.Errorf("%w: WithFingerprint: %d bytes (allowed: up to %d): of large data give a digest", ErrArgument, n, container.MaxFingerprint))
	}
	if err := errEnvironment(cp.core); err != nil {
		return fail(err)
	}
	if err := cp.build(); err != nil {
		return fail(err)
	}
	if cp.root() {
		o.reportEnvironment(c.Size())
	}
	cp.req = newRequests(cp.core)
	cp.start.req, cp.out.req = cp.req, cp.req
	cp.forget = c.Session().OnRepair(cp.onRelease)
	return cp, nil
}

// build makes the parts that write.
func (cp *Checkpoint) build() (err error) {
	o := &cp.opt
	compression, _ := o.compression() // validated, as all that is read here
	mode, _ := o.fileMode()
	cpus, _ := async.ParseCPUList(o.AsyncCPUs)
	limit := int64(o.AsyncStaging)
	encode := container.Options{Compression: compression, ChunkSize: o.chunkSize}
	if o.Delta && o.chunkSize == 0 {
		encode.ChunkSize = deltaChunk
	}
	if o.mode() != AsyncOff || cp.leveled() {
		if cp.threads, err = async.NewThreads(cpus, cp.log); err != nil {
			return invalidCPUs(o.AsyncCPUs, err)
		}
	}
	if o.mode() != AsyncOff {
		cp.writer = async.NewWriter(cp.threads)
		// Two are enough for a fast disk; more would disturb the program.
		encode.Workers, encode.Around = min(2, runtime.GOMAXPROCS(0)), cp.threads.Do
		if cpus := cp.threads.Bound(); cpus > 0 {
			encode.Workers = cpus
		}
	}
	o.lock.Logger = o.logger
	if o.lock.Job == "" {
		if o.lock.Job = cp.comm.Session().JobName(); o.lock.Job != "" { // else there may be several in this process
			o.lock.Epoch, _ = cp.comm.Session().Recovered()
			o.lock.Daemon = daemonOf(cp.core)
		}
	}
	fsys := o.fs // not to be changed: see realDir
	if fsys == nil && mode != 0o600 {
		fsys = vfs.OSWithMode(mode)
	}
	cp.home, err = filestore.New(filestore.Config{
		Path: o.Path, Name: cp.name, Sync: filestore.Sync(o.Sync), FS: fsys, Lock: o.lock,
	})
	if err != nil {
		return err
	}
	trust(cp.core)
	if cp.store, err = storage.NewStore(cp.home, encode); err != nil {
		return err
	}
	if limit != 0 && limit < async.MinStaging(cp.store.ChunkSize()) {
		return env.Invalid("CRAFT_ASYNC_STAGING", o.AsyncStaging.String())
	}
	if o.Delta {
		cp.store.UseDelta()
	}
	cp.out.staging, err = async.NewStaging(limit, cp.store.ChunkSize())
	return err
}

// Add registers a value under a key: a pointer to one of the types that
// cptypes.Of accepts, or a cptypes.Value. The first error of any Add is also
// returned by Commit, so a program may leave checking to that.
func (cp *Checkpoint) Add(key string, value any, opts ...AddOption) (err error) {
	if err := cp.enter("Add"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	switch {
	case cp.closed:
		err = fmt.Errorf("%w: %s", ErrState, cp.afterClose("Add"))
	case cp.committed:
		err = fmt.Errorf("%w: Add after Commit", ErrState)
	default:
		err = cp.reg.add(key, value, opts)
	}
	if err != nil {
		err = fmt.Errorf("checkpoint %q: %w", cp.name, &KeyError{Key: key, Err: err})
		cp.reg.addErr = cmp.Or(cp.reg.addErr, err)
	}
	return err
}

// Commit closes the registry: no value can be added after it, and nothing else
// can be called before. It returns the first error of Add.
func (cp *Checkpoint) Commit() error {
	if err := cp.enter("Commit"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	switch {
	case cp.closed:
		return cp.outOfOrder(cp.afterClose("Commit"))
	case cp.committed:
		return cp.outOfOrder("Commit was called before")
	case cp.reg.addErr != nil:
		return cp.reg.addErr
	}
	cp.committed = true
	cp.reg.commit()
	cp.meet.join()
	return nil
}

// Close ends the use of the checkpoint: it waits for an asynchronous write, at
// most for CRAFT_DRAIN_TIMEOUT, and returns its error; then added values are not
// touched any more, memory and threads are given back, and the directory is free
// for another job. It is not collective: to know that the last version is
// complete on all ranks call Wait before. Further calls do nothing. While another
// goroutine is in a call of the checkpoint it is ErrState, and changes nothing. When the
// communicator is given up, because of a failure or at the end of a zone, the
// checkpoint is closed by that, whatever goes on: what a program has started beside the
// body of a zone, and calls the checkpoint, has to end before the body does.
func (cp *Checkpoint) Close() error {
	if err := cp.enter("Close"); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	return cp.close()
}

func (cp *Checkpoint) close() error {
	if cp.closed {
		return nil
	}
	cp.meet.stopWatching()
	cp.meet.leave()
	cp.closed = true
	cp.forget()
	settled := cp.line.flight.Load() == nil
	err := cp.out.drain()
	milestones{cp.out}.tellLost()
	carried := false
	if !errors.Is(err, async.ErrHangs) { // else they are still being used
		err = errors.Join(err, cp.out.staging.Free())
		carried = cp.endFiles()
	}
	if !cp.out.listener.wait(cp.opt.DrainTimeout) {
		err = errors.Join(err, fmt.Errorf("the function given to WithAfterVersion has not returned for CRAFT_DRAIN_TIMEOUT (%v)", cp.opt.DrainTimeout))
	}
	cp.req.close()
	closePlacement(cp.core, settled) // until then somebody may ask for the lock
	if cp.lock != nil && !carried {
		err = errors.Join(err, cp.lock.Unlock())
	}
	cp.reg.clear()
	cp.line.leaveParent()
	if err != nil {
		return fmt.Errorf("close checkpoint %q: %w", cp.name, err)
	}
	return nil
}

// endFiles leaves the files as the next run is to find them, and reports whether that, and giving
// the lock back, is left for later.
func (cp *Checkpoint) endFiles() (carried bool) {
	if cp.root() {
		cp.up.arrived() // since the last write
	}
	carried = cp.carryOver()
	switch {
	case carried:
	case cp.light:
		carryoverOf(cp.core).finish() // it has had the lock since
	default:
		cp.up.maintenance.tell(metadata{record: cp.up.dueRecord(true)})
		cp.up.announceNewest()
		cp.up.doMaintenance(context.Background())
		cp.up.dropSpares()
	}
	return carried
}

// onRelease closes the checkpoint because its communicator is given up: nothing of
// it may touch the program's values or the directory after that. It is called by the
// goroutine of a body that has ended, or is in Zone.Repair, and waits for no call: that
// could be one that has led to Repair (an Update), or one of a goroutine that the body has
// left behind, which waits for other ranks.
func (cp *Checkpoint) onRelease(context.Context) error {
	if cp.calling.TryLock() {
		defer cp.calling.Unlock()
	}
	if cp.closed {
		return nil
	}
	err := cp.close()
	cp.released = true
	if err != nil {
		cp.log.Warn("closed because its communicator is given up", "error", err)
	}
	return nil
}

// afterClose says why a call comes too late.
func (c *core) afterClose(call string) string {
	if c.released {
		return call + " after its communicator was given up (a failure was repaired, or the zone has ended): make a new checkpoint on the new communicator"
	}
	return call + " after Close"
}

// disabled reports whether calls do nothing, but for an end that the job was asked for.
func (cp *Checkpoint) disabled() bool { return cp.self == cp && !cp.opt.Enable }

// original returns an error for a copy: it would give out the numbers of versions again
// that the first one has given, in the same directory.
func (cp *Checkpoint) original(call string) error {
	if cp.self == cp {
		return nil
	}
	if cp.core == nil {
		return fmt.Errorf("checkpoint: %w: %s of a Checkpoint that New has not made: use the pointer that New has returned", ErrState, call)
	}
	return cp.outOfOrder(call + " of a copy of a Checkpoint: use the pointer that New has returned")
}

// enter begins a call that one goroutine makes at a time; it ends with calling.Unlock.
func (cp *Checkpoint) enter(call string) error {
	if err := cp.original(call); err != nil {
		return err
	}
	if !cp.calling.TryLock() {
		return cp.outOfOrder(call + " while another goroutine is in a call of it: one at a time, and all ranks in the same order")
	}
	return nil
}

// call makes a call that needs what was added.
func (cp *Checkpoint) call(name string, do func() error) error {
	if cp.disabled() {
		return nil
	}
	if err := cp.enter(name); err != nil {
		return err
	}
	defer cp.calling.Unlock()
	switch {
	case cp.closed:
		return cp.outOfOrder(cp.afterClose(name))
	case !cp.committed:
		return errors.Join(cp.outOfOrder(name+" before Commit"), cp.reg.addErr)
	}
	return do()
}
