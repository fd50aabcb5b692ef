package nodelocal

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func statfs(dir string) (Space, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := int64(stat.Frsize)
	if block == 0 {
		block = int64(stat.Bsize)
	}
	return Space{Free: int64(stat.Bavail) * block, Total: int64(stat.Blocks) * block}, nil
}
