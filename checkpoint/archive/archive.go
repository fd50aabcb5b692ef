package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/offline"
)

var (
	// ErrElsewhere is matched by errors about what may be on nodes that cannot be read from
	// this machine.
	ErrElsewhere = offline.ErrElsewhere

	// ErrNoVersion is returned when there is no such version, or none that is complete.
	ErrNoVersion = errors.New("no such version")

	// ErrDeleted is returned when a version was deleted while it was read, as a job does
	// that keeps a few.
	ErrDeleted = errors.New("the version was deleted while it was read")

	// ErrKey is returned for a key that the version does not hold.
	ErrKey = errors.New("no such key")
)

// Archive is a checkpoint whose versions can be read. Its methods may be called concurrently,
// also while its snapshots are read; those with a context look at the files anew.
type Archive struct {
	dir   string
	files files // as Open has seen them
}

// files are those of a checkpoint.
type files struct{ *offline.Checkpoint }

// Open looks at a checkpoint's directory: <base directory>/<checkpoint>. One that does not
// exist is an error that matches fs.ErrNotExist. What files beside the versions cannot be
// read is in Problems.
func Open(ctx context.Context, dir string) (*Archive, error) {
	if _, err := vfs.OS().Stat(dir); err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	is, err := offline.Open(ctx, vfs.OS(), dir)
	if err != nil {
		return nil, fmt.Errorf("open archive %s: %w", dir, err)
	}
	return &Archive{dir, files{is}}, nil
}

// Name is the checkpoint's.
func (a *Archive) Name() string { return a.files.Name }

// Problems are what could not be read beside the versions; nil if all could be.
func (a *Archive) Problems() error { return errors.Join(a.files.Unread...) }

// State says what can be had of a version here.
type State string

// The states of a version.
const (
	// Complete: all of it can be read here, as far as the names of files say.
	Complete State = "complete"
	// Incomplete: parts of it are missing; it was interrupted, or has lost them.
	Incomplete State = "incomplete"
	// Elsewhere: the rest may be on nodes that cannot be read from here.
	Elsewhere State = "elsewhere"
	// Unreadable: what there is cannot be read now, or is damaged.
	Unreadable State = "unreadable"
)

// Version is a version of a checkpoint.
type Version struct {
	ID        storage.ID
	Iteration int64 // container.NoIteration (math.MinInt64): it was written without one
	Created   time.Time
	Ranks     int // that wrote it; 0: not known
	State     State
	Why       string // it is not complete; "": it is
	// Lineage is the computation that it belongs to; zero: not known. Continued: it is the one
	// that a restart would go on with.
	Lineage   container.LineageID
	Continued bool
	// Planned are the levels that it was to have; Reached those that it has on the nodes, if
	// all of them can be read from here.
	Planned, Reached storage.Levels
	// Places are the directories that have anything of it.
	Places []Place
}

// Place is a directory with parts of a version.
type Place struct {
	Host string // of a node; "": the parallel file system
	Dir  string
	// Parts are the ranks whose parts are there, Copies those of which there is a copy, and
	// Parity those that keep parity there.
	Parts, Copies, Parity []int
}

// Versions lists what there is, the oldest first.
func (a *Archive) Versions(ctx context.Context) ([]Version, error) {
	f, list, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Version, 0, len(list))
	for _, is := range list {
		out = append(out, f.describe(is))
	}
	return out, nil
}

func (a *Archive) look(ctx context.Context) (f files, list []offline.Version, err error) {
	if f.Checkpoint, err = offline.Open(ctx, vfs.OS(), a.dir); err == nil {
		list, err = f.Versions(ctx)
	}
	if err != nil {
		err = a.files.failed(err)
	}
	return f, list, err
}

func (f files) failed(err error) error {
	return fmt.Errorf("archive %s: %w", f.Store.Dir(), err)
}

func (f files) describe(is offline.Version) Version {
	v := Version{ID: is.ID, Iteration: container.NoIteration, Ranks: is.Size(), Continued: is.Newest}
	v.State, v.Why = f.state(is)
	if is.Header != nil {
		v.Iteration, v.Created, v.Ranks = is.Header.Iteration, is.Header.Created, is.Header.Size
	}
	if l := is.Lineage(); l != nil {
		v.Lineage = *l
	}
	if planned := is.Planned(); planned != nil {
		v.Planned = *planned
	}
	if is.Reached != nil {
		v.Reached = *is.Reached
	}
	for _, h := range f.Store.Holdings(is.Entry) {
		v.Places = append(v.Places, Place(h))
	}
	return v
}

func (f files) state(v offline.Version) (State, string) {
	switch {
	case v.Err != nil:
		return Unreadable, v.Err.Error()
	case v.Complete():
		return Complete, ""
	case len(v.Away) > 0:
		return Unreadable, strings.Join(v.Away, "; ")
	case v.Elsewhere:
		return Elsewhere, fmt.Sprintf("%s; the rest may be on %s", v.State(), f.elsewhere())
	}
	return Incomplete, v.State()
}

// elsewhere names the nodes that cannot be read from here.
func (f files) elsewhere() string {
	var names []string
	for _, n := range f.Store.Nodes {
		if n.State == offline.NodeElsewhere {
			names = append(names, fmt.Sprintf("%s (%s)", n.Host, n.Dir))
		}
	}
	return strings.Join(names, ", ")
}

// Latest is the newest complete version of the computation that a restart would go on with.
// That it is not damaged turns out when it is read. It is an error if there may be a newer
// one that cannot be had here: on nodes elsewhere (ErrElsewhere), behind a link that leads
// nowhere, or gone although it was complete. Snapshot reads older ones all the same.
func (a *Archive) Latest(ctx context.Context) (*Snapshot, error) {
	f, list, err := a.look(ctx)
	if err == nil && f.Gone(list) != nil { // a job may have replaced it meanwhile
		f, list, err = a.look(ctx)
	}
	if err != nil {
		return nil, err
	}
	taken := func(v offline.Version) bool { return v.Complete() && v.Newest && !v.Other }
	at := len(list) - 1
	for at >= 0 && !taken(list[at]) {
		at--
	}
	switch err := f.passedOver(list, at); {
	case err != nil && at >= 0:
		return nil, f.failed(fmt.Errorf("version %v is not the newest: %w (Snapshot opens it all the same)", list[at].ID, err))
	case err != nil:
		return nil, f.failed(fmt.Errorf("%w is complete: %w", ErrNoVersion, err))
	case at < 0:
		return nil, f.failed(fmt.Errorf("%w is complete", ErrNoVersion))
	}
	return f.snapshot(ctx, list[at])
}

// passedOver tells of versions newer than one of the list (-1: than none) that a restart would take, miss, or be
// refused because of.
func (f files) passedOver(list []offline.Version, at int) error {
	errs := []error{f.Gone(list)}
	for _, v := range list[at+1:] {
		state, why := f.state(v)
		switch {
		case v.Lineage() != nil && !v.Newest: // of another computation
		case state == Elsewhere:
			errs = append(errs, fmt.Errorf("version %v: %w: %s", v.ID, ErrElsewhere, why))
		case state == Unreadable:
			errs = append(errs, fmt.Errorf("version %v: %s", v.ID, why))
		}
	}
	return errors.Join(errs...)
}

// Snapshot opens a version, complete or not.
func (a *Archive) Snapshot(ctx context.Context, id storage.ID) (*Snapshot, error) {
	f, list, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(v offline.Version) bool { return v.ID == id })
	if i < 0 {
		return nil, f.failed(fmt.Errorf("%w: %v", ErrNoVersion, id))
	}
	return f.snapshot(ctx, list[i])
}
