package main

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/internal/vfs"
)

// openFiles counts the files that are open.
type openFiles struct {
	vfs.FS

	mu        sync.Mutex
	now, most int
}

func (o *openFiles) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now += n
	o.most = max(o.most, o.now)
}

func (o *openFiles) Open(name string) (vfs.File, error) {
	f, err := o.FS.Open(name)
	if err != nil {
		return nil, err
	}
	o.add(1)
	return &countedFile{f, o}, nil
}

type countedFile struct {
	vfs.File

	of *openFiles
}

func (f *countedFile) Close() error {
	f.of.add(-1)
	return f.File.Close()
}

// A job may have had more ranks than a process may have files open.
func TestFewFilesAreOpen(t *testing.T) {
	const ranks = 40
	base := t.TempDir()
	write(t, base, "c", ranks, 1)
	for _, args := range [][]string{{"show"}, {"show", "--values", "--ranks"}, {"ls"}, {"verify"}, {"report"}} {
		fsys := &openFiles{FS: vfs.OS()}
		r := craftOn(t, fsys, 0, append(args, filepath.Join(base, "c"))...)
		require.Equal(t, exitFine, r.code, r.stderr)
		require.Zero(t, fsys.now, args)
		require.LessOrEqual(t, fsys.most, partsAtOnce(), args)
	}
}
