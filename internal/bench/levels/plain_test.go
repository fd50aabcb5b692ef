package levels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/checkpoint"
)

// piece is how much a plain write passes to the system at once.
const piece = 4 << 20

// plain is what a program without a library does: a new file, synced.
func (j *job) plain(ctx context.Context, bytes []byte) (time.Duration, error) {
	name := filepath.Join(j.nodes.dir, fmt.Sprintf("plain-%d", j.c.Rank()))
	if err := os.MkdirAll(j.nodes.dir, 0o700); err != nil {
		return 0, err
	}
	took, err := j.timed(ctx, func() error { return j.writeFile(name, bytes) })
	return took, errors.Join(err, os.Remove(name))
}

// sent is what must happen to the bytes of a version in memory: one copy on the rank itself, into memory
// that was touched before, and one sent into a posted receive.
func (j *job) sent(ctx context.Context, bytes []byte) (time.Duration, error) {
	if len(j.own) < len(bytes) {
		j.own, j.others = slices.Clone(bytes), slices.Clone(bytes)
	}
	size := j.c.Size()
	to, from := (int(j.c.Rank())+size/2)%size, (int(j.c.Rank())+size-size/2)%size
	receive := comm.Irecv(j.c, comm.Rank(from), 1, j.others[:len(bytes)])
	took, err := j.timed(ctx, func() error {
		send := comm.Isend(j.c, comm.Rank(to), 1, bytes)
		copy(j.own, bytes)
		_, err := send.Wait(ctx)
		_, err2 := receive.Wait(ctx)
		return errors.Join(err, err2)
	})
	return took, err
}

func (j *job) writeFile(name string, bytes []byte) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for len(bytes) > 0 && err == nil {
		n := min(len(bytes), piece)
		_, err = f.Write(bytes[:n])
		bytes = bytes[n:]
	}
	return j.finish(f, err)
}

func (j *job) finish(f *os.File, err error) error {
	if err == nil && j.sync == checkpoint.SyncFull {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// copied measures how long reading and writing as many bytes takes as the ranks
// of the lost nodes have.
func (j *job) copied(ctx context.Context, lost bool, bytes []byte) (time.Duration, error) {
	if err := os.MkdirAll(j.nodes.dir, 0o700); err != nil {
		return 0, err
	}
	from := filepath.Join(j.nodes.dir, fmt.Sprintf("from-%d", j.c.Rank()))
	to := filepath.Join(j.nodes.dir, fmt.Sprintf("to-%d", j.c.Rank()))
	if lost {
		if err := j.writeFile(from, bytes); err != nil {
			return 0, err
		}
		defer os.Remove(from)
		defer os.Remove(to)
	}
	return j.timed(ctx, func() error {
		if !lost {
			return nil
		}
		return j.copyFile(from, to)
	})
}

func (j *job) copyFile(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	// A buffer, because the system itself could copy, or share, whole files.
	_, err = io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{r}, make([]byte, piece))
	return j.finish(w, err)
}
