package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// RecordPrefix starts the names of the records of runs, which sort by the time
// when they began.
const RecordPrefix = "RUN-"

// recordsKept is how many records of earlier runs stay.
const recordsKept = 9

var recordPattern = regexp.MustCompile(`^RUN-[0-9]{8}T[0-9]{9}Z-[0-9a-f]{16}\.json$`)

// Record writes, or replaces, the record of an attempt, for people and tools. Like the note, a record is not synced, but for one
// that decides which computation the next run goes on with.
func (s *Store) Record(_ context.Context, r storage.Record) error {
	stamp := r.Started.UTC().Format("20060102T150405.000")
	name := fmt.Sprintf("%s%s%sZ-%s.json", RecordPrefix, stamp[:15], stamp[16:], r.Attempt)
	if !recordPattern.MatchString(name) {
		return fmt.Errorf("record of attempt %q, started %v, has no proper name", r.Attempt, r.Started)
	}
	return s.writeJSON(name, r, s.sync && (r.AnewStored || r.NestedStored))
}

// Records reads the records in the store's directory.
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
		if !recordPattern.MatchString(e.Name()) {
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

// cleanRecords removes the oldest of the records among names, which are in
// order.
func (s *Store) cleanRecords(names []string) {
	for _, name := range names[:max(0, len(names)-recordsKept)] {
		_ = s.fs.Remove(filepath.Join(s.dir, name)) // it does no harm
	}
}
