package machine

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// FileSystem is the type of the one that a path is on, such as ext4 or tmpfs.
func FileSystem(path string) string {
	const unknown = "a file system of unknown type"
	path, err := filepath.Abs(path)
	if err != nil {
		return unknown
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return unknown
	}
	defer f.Close() // nothing was written
	if kind := mounted(f, path); kind != "" {
		return kind
	}
	return unknown
}

// mounted is the type of the last file system in a list as in fstab that was mounted on the path, or
// the nearest directory above it.
func mounted(list io.Reader, path string) (kind string) {
	longest := -1
	for lines := bufio.NewScanner(list); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		where := strings.TrimSuffix(fields[1], "/")
		if (path == where || strings.HasPrefix(path, where+"/")) && len(where) >= longest {
			longest, kind = len(where), fields[2]
		}
	}
	return kind
}
