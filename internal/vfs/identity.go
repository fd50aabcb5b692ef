package vfs

import (
	"io/fs"
	"syscall"
	"weak"
)

// Identity tells file systems apart, as == does. Who keeps it does not keep what is on one in
// memory.
func Identity(fsys FS) any {
	if f, ok := fsys.(interface{ identity() any }); ok {
		return f.identity()
	}
	return fsys
}

func (m *Mem) identity() any       { return weak.Make(m) }
func (f *failingFS) identity() any { return weak.Make(f) }

// FileID tells the files of a machine apart; it is zero on a file system without inodes.
// A file system that is mounted again may have another device.
type FileID struct{ Device, Inode uint64 }

// IDOf returns the FileID of what a FileInfo describes.
func IDOf(info fs.FileInfo) FileID {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return FileID{uint64(stat.Dev), stat.Ino}
	}
	return FileID{}
}
