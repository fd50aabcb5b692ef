package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/offline"
)

// location is what the DIR of a command line turned out to be.
type location struct {
	path string // as given
	// base: DIR holds checkpoints. Otherwise it is a checkpoint, or something
	// in it, and checkpoints has one element; none if DIR is a loose file.
	base        bool
	checkpoints []*offline.Checkpoint
	version     *storage.ID   // DIR is the directory of this version, or
	part        *storage.Part // this file of it
	loose       bool          // DIR is a file that is in no version's directory
	problems    []error       // with what is below a base directory
}

// defaultBase is where programs write without being told otherwise.
func defaultBase() string { return cmp.Or(os.Getenv("CRAFT_CP_PATH"), ".") }

// find looks at what path is.
func find(ctx context.Context, fsys vfs.FS, path string) (*location, error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not exist%s: no checkpoint", path, hint(fsys, path))
	}
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return findFile(ctx, fsys, path, abs)
	}
	if id, ok := storage.ParseID(filepath.Base(abs)); ok {
		return openAt(ctx, fsys, offline.Parent(path, abs), location{path: path, version: &id})
	}
	names, err := fsys.ReadDir(path)
	if err != nil {
		return nil, err
	}
	if isCheckpoint(names) {
		return openAt(ctx, fsys, path, location{path: path})
	}
	return findBelow(ctx, fsys, path, names)
}

// openAt opens the one checkpoint that a location is in.
func openAt(ctx context.Context, fsys vfs.FS, dir string, found location) (*location, error) {
	c, err := offline.Open(ctx, fsys, dir)
	found.checkpoints = []*offline.Checkpoint{c}
	return &found, err
}

// hint points to a checkpoint of that name in the default base directory.
func hint(fsys vfs.FS, path string) string {
	there := filepath.Join(defaultBase(), path)
	if filepath.IsAbs(path) || there == filepath.Clean(path) {
		return ""
	}
	if _, err := fsys.Stat(there); err != nil {
		return ""
	}
	return fmt.Sprintf(", but %s does", there)
}

func findFile(ctx context.Context, fsys vfs.FS, path, abs string) (*location, error) {
	part, okPart := storage.ParsePart(filepath.Base(abs))
	id, okID := storage.ParseID(filepath.Base(filepath.Dir(abs)))
	if !okPart || !okID {
		return &location{path: path, loose: true}, nil
	}
	versionDir := offline.Parent(path, abs)
	return openAt(ctx, fsys, offline.Parent(versionDir, filepath.Dir(abs)), location{path: path, version: &id, part: &part})
}

// isCheckpoint recognises the directory of a checkpoint: it has versions, or what
// tells of them and of runs.
func isCheckpoint(names []fs.DirEntry) bool {
	return slices.ContainsFunc(names, func(n fs.DirEntry) bool { return filestore.OfCheckpoint(n.Name()) != "" })
}

// findBelow takes path as a base directory. What it holds beside checkpoints is
// none of our business.
func findBelow(ctx context.Context, fsys vfs.FS, path string, names []fs.DirEntry) (*location, error) {
	found := &location{path: path, base: true}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		dir := filepath.Join(path, n.Name())
		if storage.CheckName("checkpoint name", n.Name()) != nil {
			continue
		}
		isDir, err := isDir(fsys, n, dir)
		var below []fs.DirEntry
		if isDir {
			below, err = fsys.ReadDir(dir)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			found.problems = append(found.problems, err)
			continue
		}
		if !isCheckpoint(below) {
			continue
		}
		c, err := offline.Open(ctx, fsys, dir)
		if err != nil {
			return nil, err
		}
		found.checkpoints = append(found.checkpoints, c)
	}
	return found, nil
}

func isDir(fsys vfs.FS, n fs.DirEntry, path string) (bool, error) {
	if n.Type()&fs.ModeSymlink == 0 {
		return n.IsDir(), nil
	}
	info, err := fsys.Stat(path)
	return err == nil && info.IsDir(), err
}

// rank is that of the file that DIR is; -1: it is none.
func (f *location) rank() int {
	if f.part == nil {
		return -1
	}
	return f.part.Rank
}

// single returns the one checkpoint that the command is about.
func (f *location) single(command string) (*offline.Checkpoint, error) {
	if !f.base {
		return f.checkpoints[0], nil
	}
	if len(f.checkpoints) == 0 {
		return nil, f.nothing()
	}
	calls := make([]string, 0, 5)
	for _, c := range f.checkpoints[:min(4, len(f.checkpoints))] {
		calls = append(calls, "craft "+command+" "+c.Store.Dir())
	}
	if more := len(f.checkpoints) - len(calls); more > 0 {
		calls = append(calls, fmt.Sprintf("(and %d more)", more))
	}
	return nil, fmt.Errorf("%s holds checkpoints but is none itself; try: %s", f.path, strings.Join(calls, ", "))
}

// nothing says what was looked for in vain, or what could not be looked at.
func (f *location) nothing() error {
	if len(f.problems) > 0 {
		return errors.Join(f.problems...)
	}
	return fmt.Errorf("no checkpoint in %s: neither it nor a directory in it holds versions (directories named v-NUMBER-ATTEMPT, such as v-000012-0123456789abcdef), or tells of any (%s, %s, %s*.json)",
		f.path, filestore.LatestName, manifest.Name, filestore.RecordPrefix)
}
