package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// metadataLimit is the size in bytes of a file that is accepted: the nodes of a
// large machine fit.
const metadataLimit = 64 << 20

var _ storage.MetadataStore = (*Store)(nil)

func (s *Store) ReadMetadata(_ context.Context, name string) ([]byte, error) {
	return ReadMetadata(s.fs, s.dir, name)
}

// ReadMetadata reads a file beside the versions in a checkpoint's directory; nil: there is
// none. A link that leads nowhere is an error: its file may be there again later.
func ReadMetadata(fsys vfs.Reader, dir, name string) ([]byte, error) {
	return readBeside(fsys, filepath.Join(dir, name), metadataLimit)
}

// readBeside reads a file beside the versions. One that is there and cannot be read is
// an error that says what to do: it may tell of versions that are away.
func readBeside(fsys vfs.Reader, path string, limit int64) ([]byte, error) {
	data, err := vfs.ReadFile(fsys, path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		if err = vfs.Dangling(fsys, path); err != nil {
			err = fmt.Errorf("%w: put the file back, or delete the link if nothing that it tells of is needed", err)
		}
		return nil, err
	}
	remedy := "it is none that was written here: put the right one in its place, or move it away"
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "let this user read it, or move it away"
	case !isNoFile(err):
		return data, err // which may pass
	}
	return nil, fmt.Errorf("%w: %s (%s)", err, remedy, lostWith(filepath.Base(path)))
}

// notAFile are the errors of reading what is no file of ours, now and later.
var notAFile = []error{syscall.EISDIR, syscall.ELOOP, syscall.ENXIO, fs.ErrInvalid, vfs.ErrTooLarge}

// isNoFile reports that an error is of that kind.
func isNoFile(err error) bool {
	return slices.ContainsFunc(notAFile, func(is error) bool { return errors.Is(err, is) })
}

// lostWith says what a start does not know without a file beside the versions.
func lostWith(name string) string {
	switch name {
	case storage.ManifestName:
		return "without it what the nodes hold cannot be found, so do that only if nothing on them is needed"
	case storage.WayBackName:
		return "it says which version the computation was taken back to; without it a start goes on from the newest one"
	case LatestName:
		return "it names the newest version for people; without it a start may not notice that this version is missing"
	}
	return "it is for craft report; without it a start may not notice that versions of that run are missing"
}

// WriteMetadata implements storage.MetadataStore; the directory is made if it is missing.
// The names are in capitals and end in ".json". A file is synced whatever the policy is, so that no crash leaves one that nobody understands.
func (s *Store) WriteMetadata(_ context.Context, name string, data []byte) error {
	if err := storage.CheckName("note", name); err != nil {
		return err
	}
	if base, ok := strings.CutSuffix(name, ".json"); !ok || base != strings.ToUpper(base) || name == LatestName {
		return fmt.Errorf("note %q: %w", name, storage.ErrName)
	}
	if err := s.makeDir(); err != nil {
		return err
	}
	return vfs.WriteFile(s.fs, filepath.Join(s.dir, name), data, filePerm, true)
}

// Announce leaves a note for people and tools about the newest complete version. It is not
// synced: no restart believes that a version is good because of it, only that one has been.
func (s *Store) Announce(_ context.Context, latest storage.Latest) error {
	return writeJSON(s.fs, filepath.Join(s.dir, LatestName), latest, false)
}

// writeJSON writes a file beside the versions, for people and tools.
func writeJSON(fsys vfs.FS, path string, content any, sync bool) error {
	data, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(fsys, path, append(data, '\n'), filePerm, sync)
}

// Announced returns the note; nil if there is none. One that is not whole is none.
func (s *Store) Announced(ctx context.Context) (*storage.Latest, error) {
	data, err := s.ReadMetadata(ctx, LatestName)
	var latest storage.Latest
	if err != nil || json.Unmarshal(data, &latest) != nil {
		return nil, err
	}
	return &latest, nil
}

// WayBack reads the note about the last way back; nil: there is none.
func WayBack(fsys vfs.Reader, dir string) (*storage.WayBack, error) {
	data, err := ReadMetadata(fsys, dir, storage.WayBackName)
	if err != nil || data == nil {
		return nil, err
	}
	var w storage.WayBack
	err = json.Unmarshal(data, &w)
	if err == nil {
		err = w.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("%s is damaged (%w): %s; go back once more (craft restore %s --version N), or delete that file",
			filepath.Join(dir, storage.WayBackName), err, lostWith(storage.WayBackName), dir)
	}
	return &w, nil
}

// WayBackOf is that of a store's directory.
func WayBackOf(s *Store) (*storage.WayBack, error) { return WayBack(s.fs, s.dir) }

// SetWayBack writes it, durably.
func SetWayBack(ctx context.Context, s *Store, w *storage.WayBack) error {
	data, err := json.MarshalIndent(w, "", "  ")
	if err != nil {
		return err
	}
	return s.WriteMetadata(ctx, storage.WayBackName, append(data, '\n'))
}

// RecordPrefix starts the names of the records of runs, which sort by the time when they began.
const RecordPrefix = "RUN-"

// recordsKept is how many records of earlier runs stay.
const recordsKept = 9

var recordPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^RUN-[0-9]{8}T[0-9]{9}Z-[0-9a-f]{16}\.json$`)
})

// Record writes, or replaces, the record of an attempt, for people and tools. Like the note, a record is not synced, but for one
// that decides which computation the next run goes on with.
func (s *Store) Record(_ context.Context, r storage.Record) error {
	stamp := r.Started.UTC().Format("20060102T150405.000")
	name := fmt.Sprintf("%s%s%sZ-%s.json", RecordPrefix, stamp[:15], stamp[16:], r.Attempt)
	if !recordPattern().MatchString(name) {
		return fmt.Errorf("record of attempt %q, started %v, has no proper name", r.Attempt, r.Started)
	}
	return writeJSON(s.fs, filepath.Join(s.dir, name), r, s.sync && (r.AnewStored || r.NestedStored))
}

func (s *Store) Records(context.Context) ([]storage.Record, error) {
	records, err := Records(s.fs, s.dir)
	return records, vfs.IgnoreMissing(err)
}

// recordLimit is the size of a record in bytes that is read.
const recordLimit = 1 << 20

// Records reads the records in a checkpoint's directory, oldest first, as far as
// they are whole.
func Records(fsys vfs.Reader, dir string) ([]storage.Record, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []storage.Record
	for _, e := range entries {
		if !recordPattern().MatchString(e.Name()) {
			continue
		}
		data, err := readBeside(fsys, filepath.Join(dir, e.Name()), recordLimit)
		if data == nil && err == nil || errors.Is(err, vfs.ErrTooLarge) {
			continue // gone meanwhile, or not whole like one that a crash has cut off
		}
		if err != nil {
			return out, err
		}
		var r storage.Record
		if json.Unmarshal(data, &r) == nil {
			out = append(out, r)
		}
	}
	// The names are in the order of milliseconds, and short runs may share one.
	slices.SortStableFunc(out, func(a, b storage.Record) int { return a.Started.Compare(b.Started) })
	return out, nil
}

// cleanRecords removes the oldest of the records among names, which are in order.
func (s *Store) cleanRecords(names []string) {
	for _, name := range names[:max(0, len(names)-recordsKept)] {
		_ = s.fs.Remove(filepath.Join(s.dir, name)) // it does no harm
	}
}
