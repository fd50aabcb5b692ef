package checkpoint

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/manifest"
)

// What lies in the place of a file beside the versions, and is none that could be read, is
// an error that names it and says what to do; then the job goes on where it was.
func TestNoteThatCannotBeRead(t *testing.T) {
	spoilt := map[string]func(path string) error{
		"is a directory":      func(path string) error { return os.Mkdir(path, 0o700) },
		"not a regular file":  func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"levels of symbolic":  func(path string) error { return os.Symlink(path, path) },
		"file is too large":   func(path string) error { return os.WriteFile(path, nil, 0o600) }, // and more, below
		"that is not there":   func(path string) error { return os.Symlink(path+"-away", path) },
		"no such device or a": func(path string) error { return syscall.Mknod(path, syscall.S_IFSOCK|0o600, 0) },
	}
	for says, spoil := range spoilt {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			n := newTestNodes(t, 0, 1)
			n.job(t, "", 3, none)
			n.job(t, "local", 4, none)
			tooLarge := says == "file is too large"
			for _, pattern := range []string{filestore.LatestName, manifest.Name, "RUN-*.json"} {
				path := glob(t, filepath.Join(n.dir, "pfs", "grid", pattern))[0]
				aside := filepath.Join(t.TempDir(), "aside")
				require.NoError(t, os.Rename(path, aside))
				require.NoError(t, spoil(path))
				if tooLarge {
					require.NoError(t, os.Truncate(path, 65<<20))
				}
				for _, levels := range []string{"", "local"} {
					_, err := n.try(t, levels, 0, none)
					if tooLarge && strings.HasPrefix(filepath.Base(path), "RUN-") {
						require.NoError(t, err) // like one that is not whole
						continue
					}
					require.ErrorContains(t, err, path)
					require.ErrorContains(t, err, says)
					require.Regexp(t, "move it away|delete the link", err.Error())
				}
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Rename(aside, path))
			}
			require.Contains(t, n.job(t, "local", 5, none), "version=4 ")
		})
	}
}
