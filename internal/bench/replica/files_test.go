package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/craft-go/craft/aft/comm"
	store "github.com/craft-go/craft/storage/replica"
)

func (j *job) fileOf(rank int) string { return filepath.Join(j.path, fmt.Sprintf("replica-%d", rank)) }

// writeFile writes this rank's data to a file.
func (j *job) writeFile(ctx context.Context) error {
	if j.path == "" {
		return nil
	}
	f, err := os.Create(j.fileOf(int(j.c.Rank())))
	if err != nil {
		return err
	}
	_, err = f.Write(j.data)
	return errors.Join(err, f.Sync(), f.Close(), comm.Barrier(ctx, j.c))
}

// removeFiles deletes those of all ranks, when the job has ended.
func (j *job) removeFiles() error {
	if j.path == "" || !j.print {
		return nil
	}
	var errs []error
	for r := range j.c.Size() {
		if err := os.Remove(j.fileOf(r)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// evict has the cache of the system forget it: the next read is one of the disk.
func (j *job) evict(ctx context.Context) error {
	f, err := os.Open(j.fileOf(int(j.c.Rank())))
	if err != nil {
		return err
	}
	return errors.Join(forget(f), f.Close(), comm.Barrier(ctx, j.c))
}

// read reads blocks out of the files of those who have submitted them.
func (j *job) read(ranges []store.Range) error {
	at := 0
	for _, r := range ranges {
		for lo := r.Lo; lo < r.Hi; {
			owner := lo / j.blocks()
			hi := min(r.Hi, (owner+1)*j.blocks())
			n := int(hi-lo) * j.block
			if err := readAt(j.fileOf(int(owner)), j.got[at:at+n], (lo-owner*j.blocks())*int64(j.block)); err != nil {
				return err
			}
			lo, at = hi, at+n
		}
	}
	return nil
}

func readAt(name string, p []byte, offset int64) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = f.ReadAt(p, offset)
	return errors.Join(err, f.Close())
}
