package checkpoint

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// modesBelow requires that all files below a directory have one mode and all
// directories another, and returns how many there are of both.
func modesBelow(t *testing.T, root string, file, dir fs.FileMode) (n int) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		want := file
		if n++; d.IsDir() {
			want = dir
		}
		require.Equal(t, want, info.Mode()&^fs.ModeDir, path)
		return nil
	}))
	return n
}

// Files are private, and those of the checkpoint's directory have another mode if
// that is wanted, whatever the umask says; those of nodes are private all the same.
func TestFileMode(t *testing.T) {
	ofData(t)
	for value, want := range map[string]struct{ file, dir fs.FileMode }{
		"": {0o600, 0o700}, "0600": {0o600, 0o700}, "0640": {0o640, 0o750}, "0660": {0o660, 0o770}, "0644": {0o644, 0o755}, "0664": {0o664, 0o775},
	} {
		t.Run(value, func(t *testing.T) {
			if value != "" {
				t.Setenv("CRAFT_FILE_MODE", value)
			}
			for _, mask := range []int{0o077, 0o022, 0} {
				n := newTestNodes(t, 0, 1)
				func() {
					defer syscall.Umask(syscall.Umask(mask))
					n.job(t, "partner,pfs:2", 4, flushedFirst)
				}()
				require.Greater(t, modesBelow(t, filepath.Join(n.dir, "pfs"), want.file, want.dir), 6)
				for i := range 2 {
					modesBelow(t, n.place(t, i), 0o600, 0o700)
				}
			}
		})
	}
}

// The group of a project's directory is handed on.
func TestFileModeKeepsTheGroup(t *testing.T) {
	t.Setenv("CRAFT_FILE_MODE", "0660")
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o770|fs.ModeSetgid))
	x := 1
	store(t, filepath.Join(dir, "cp"), map[string]any{"x": &x})
	modesBelow(t, filepath.Join(dir, "cp"), 0o660, 0o770|fs.ModeSetgid)
}
