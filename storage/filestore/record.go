package filestore

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage/container"
)

// RecordPrefix starts the names of the records of runs, which sort by the time
// when they began.
const RecordPrefix = "RUN-"

// recordsKept is how many records of earlier runs stay.
const recordsKept = 9

var recordPattern = regexp.MustCompile(`^RUN-[0-9]{8}T[0-9]{9}Z-[0-9a-f]{16}\.json$`)

// Record implements storage.Recorder. Like the note, a record is not synced.
func (s *Store) Record(_ context.Context, started time.Time, attempt container.AttemptID, data []byte) error {
	stamp := started.UTC().Format("20060102T150405.000")
	name := fmt.Sprintf("%s%s%sZ-%x.json", RecordPrefix, stamp[:15], stamp[16:], attempt[:])
	return vfs.WriteFile(s.fs, filepath.Join(s.dir, name), data, filePerm, false)
}

// cleanRecords removes the oldest of the records among names, which are in
// order.
func (s *Store) cleanRecords(names []string) {
	for len(names) > recordsKept {
		_ = s.fs.Remove(filepath.Join(s.dir, names[0])) // it does no harm
		names = names[1:]
	}
}
