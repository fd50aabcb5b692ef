package filestore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
)

// A mark is a file in the checkpoint's directory, beside the versions and not in one: nothing
// that moves, copies or deletes the directory of a version can lose it. Its name says all that
// retention needs, so that a job need not read it, and no damage to it takes the version away:
//
//	KEEP-v-000012-0123456789abcdef-000007-<digest of the label>.json
//
// is of version 12, which refers to versions from 7 on; 000000: to none. The program's own
// begin with MILESTONE-.
const (
	milestonePrefix = "MILESTONE-"
	keepPrefix      = "KEEP-"
)

var markPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(MILESTONE-|KEEP-)(v-[0-9]{6,20}-[0-9a-f]{16})-([0-9]{6,20})-[0-9a-f]{16}\.json$`)
})

// Marks are those of one checkpoint's directory, whose versions a Store does not remove
// while they keep them (storage.ErrKept). All processes that write there may use them at once.
type Marks struct {
	fs  vfs.FS
	dir string
}

// MarksOf are those beside the versions of a store.
func MarksOf(s *Store) Marks { return Marks{s.fs, s.dir} }

// markText is what the file says.
type markText struct {
	Format  int       `json:"format"` // 1
	Version string    `json:"version"`
	Label   string    `json:"label"`
	Created time.Time `json:"created"`
}

func markName(m storage.Mark) string {
	prefix, sum := milestonePrefix, sha256.Sum256([]byte(m.Label))
	if m.ByHand {
		prefix = keepPrefix
	}
	return fmt.Sprintf("%s%v-%06d-%s.json", prefix, m.ID, m.Oldest, hex.EncodeToString(sum[:8]))
}

// parseMark reads what the name of a mark says.
func parseMark(name string) (m storage.Mark, ok bool) {
	found := markPattern().FindStringSubmatch(name)
	if found == nil {
		return m, false
	}
	oldest, err := strconv.ParseUint(found[3], 10, 64)
	m.ID, ok = storage.ParseID(found[2])
	m.Oldest, m.ByHand = oldest, found[1] == keepPrefix
	return m, ok && err == nil
}

// Named lists the marks as far as their names tell: without labels.
func (s Marks) Named() ([]storage.Mark, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, vfs.IgnoreMissing(err)
	}
	var marks []storage.Mark
	for _, e := range entries {
		if m, ok := parseMark(e.Name()); ok {
			marks = append(marks, m)
		}
	}
	return marks, nil
}

// List lists the marks, by version and label. One whose label cannot be read has none.
func (s Marks) List() ([]storage.Mark, error) {
	entries, err := s.fs.ReadDir(s.dir)
	if err != nil {
		return nil, vfs.IgnoreMissing(err)
	}
	var marks []storage.Mark
	for _, e := range entries {
		m, ok := parseMark(e.Name())
		if !ok {
			continue
		}
		data, err := vfs.ReadFile(s.fs, filepath.Join(s.dir, e.Name()), recordLimit)
		if errors.Is(err, fs.ErrNotExist) && vfs.Dangling(s.fs, filepath.Join(s.dir, e.Name())) == nil {
			continue // taken back meanwhile
		}
		var text markText
		if err == nil && json.Unmarshal(data, &text) == nil && storage.CheckLabel(text.Label) == nil {
			m.Label, m.Created = text.Label, text.Created
		}
		marks = append(marks, m)
	}
	slices.SortStableFunc(marks, func(a, b storage.Mark) int {
		return cmp.Or(a.ID.Compare(b.ID), strings.Compare(a.Label, b.Label))
	})
	return marks, nil
}

// Set makes a mark, durably. Whether the version is there is to be looked at afterwards: if it
// is, it stays.
func (s Marks) Set(m storage.Mark) error {
	if err := storage.CheckLabel(m.Label); err != nil {
		return err
	}
	data, err := json.MarshalIndent(markText{Format: 1, Version: m.ID.String(), Label: m.Label, Created: m.Created}, "", "  ")
	if err != nil {
		return err
	}
	return vfs.WriteFile(s.fs, filepath.Join(s.dir, markName(m)), append(data, '\n'), filePerm, true)
}

// Remove takes a mark back, durably. One that is not there is no error. Of one without a label
// all go that are of its version, of that kind and without a label.
func (s Marks) Remove(m storage.Mark) error {
	names := []string{markName(m)}
	if m.Label == "" {
		names = nil
		entries, err := s.fs.ReadDir(s.dir)
		if err != nil {
			return vfs.IgnoreMissing(err)
		}
		labelled, err := s.List()
		if err != nil {
			return err
		}
		for _, e := range entries {
			is, ok := parseMark(e.Name())
			named := slices.ContainsFunc(labelled, func(o storage.Mark) bool { return o.Label != "" && markName(o) == e.Name() })
			if ok && !named && is.ID == m.ID && is.ByHand == m.ByHand {
				names = append(names, e.Name())
			}
		}
	}
	for _, name := range names {
		if err := vfs.IgnoreMissing(s.fs.Remove(filepath.Join(s.dir, name))); err != nil {
			return err
		}
	}
	return vfs.IgnoreMissing(s.fs.SyncDir(s.dir))
}

// keeps returns storage.ErrKept if a mark keeps a version.
func (s Marks) keeps(id storage.ID) error {
	marks, err := s.Named()
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(marks, func(m storage.Mark) bool { return m.Keeps(id) }); i >= 0 {
		return fmt.Errorf("%w: see the label of version %d", storage.ErrKept, marks[i].ID.Version)
	}
	return nil
}

// putBack gives a version back that is kept, and that got its hidden name before whoever
// deleted it, and was killed, had seen that.
func putBack(s *Store, hidden string) bool {
	id, ok := storage.ParseID(strings.TrimPrefix(hidden, TrashPrefix))
	return ok && errors.Is(MarksOf(s).keeps(id), storage.ErrKept) && s.fs.Rename(filepath.Join(s.dir, hidden), s.Path(id)) == nil
}
