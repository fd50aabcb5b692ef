package placement_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/testseed"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/nodelocal"
	"github.com/craft-go/craft/storage/placement"
)

// readOnly lets everything fail on a node that would change its file system.
func (f *faulty) readOnly(bad int, with error) {
	f.breaks(func(node int, op vfs.Op) error {
		if node != bad || !op.Kind.Mutates() && op.Kind != vfs.OpOverwrite || op.Kind == vfs.OpSyncDir {
			return nil
		}
		if _, err := f.nodes[node].Stat(op.Path); op.Kind == vfs.OpMkdir && err == nil {
			return nil // it is there: a file system says that first
		}
		return with
	})
}

// A node that takes no writes any more costs no version, and the log does not grow
// with the versions. What it has can still be read, and when it takes writes again
// it is used again.
func TestNodeRefusesWrites(t *testing.T) {
	const versions = 16
	seed := testseed.Seed(t)
	for _, level := range []storage.Level{storage.Local, storage.Partner, storage.XOR} {
		for _, why := range []error{
			syscall.EROFS, syscall.EACCES, syscall.EIO, syscall.ENOSPC, syscall.ESTALE, syscall.ELOOP, syscall.ENOTCONN, syscall.EBADMSG, syscall.Errno(117),
			&nodelocal.PlaceError{Dir: "/node1", Err: nodelocal.ErrForeign, Reason: "it is signed by somebody else", Remedy: "use another one"},
		} {
			if leftOut(seed, fmt.Sprint(level, why)) {
				continue
			}
			t.Run(fmt.Sprint(level, " ", why), func(t *testing.T) {
				f := newFaulty(level.String())
				f.job(t, func(ctx context.Context, m *member) error {
					if _, err := m.write(ctx, 1); err != nil {
						return err
					}
					if m.rank() == 0 {
						f.readOnly(1, why)
					}
					for v := uint64(2); v < versions; v++ {
						if err := comm.Barrier(ctx, m.Comm()); err != nil {
							return err
						}
						o, err := m.write(ctx, v)
						if err := errors.Join(err, expect("spilled", o.Spilled, true), expect("reached", o.Levels, at(storage.Local))); err != nil {
							return fmt.Errorf("version %d: %w", v, err)
						}
						if m.rank() == 0 {
							if err := m.Remove(ctx, idOf(v-1)); err != nil && why != syscall.ENOSPC {
								return fmt.Errorf("version %d: %w", v-1, err)
							}
						}
					}
					return comm.Barrier(ctx, m.Comm())
				})
				warnings := strings.Count(f.log.String(), "level=WARN")
				// Of the two ranks there, of rank 0 about deletion, and of all whose parts it does not protect.
				require.LessOrEqual(t, warnings, 2+1+faultyRanks, "%s", f.log.String())
				require.Equal(t, 2, strings.Count(f.log.String(), ": a part goes to the parallel file system"), "once for each rank there")
				f.restores(t, versions-1) // the node is still read-only
				f.breaks(nil)
				f.job(t, func(ctx context.Context, m *member) error {
					o, err := m.write(ctx, versions)
					return errors.Join(err, expect("spilled", o.Spilled, false), expect("reached", o.Levels, at(level)))
				})
				f.restores(t, versions)
			})
		}
	}
}

// A node that fails in the middle of a part: what it has of it is brought along.
func TestNodeFailsInTheMiddle(t *testing.T) {
	for _, why := range []error{syscall.EIO, syscall.EROFS} {
		f := newFaulty("local")
		f.job(t, func(ctx context.Context, m *member) error {
			if m.rank() == 0 {
				f.breaks(func(node int, op vfs.Op) error {
					if node == 1 && op.Kind == vfs.OpWrite && op.Offset > 0 {
						return &vfs.ShortWrite{N: int(op.Size / 2), Err: why}
					}
					return nil
				})
			}
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			o, err := m.write(ctx, 1)
			return errors.Join(err, expect("spilled", o.Spilled, true), expect("reached", o.Levels, at(storage.Local)))
		})
		f.breaks(nil)
		f.restores(t, 1)
	}
}

// A node that fails, or is full, whenever a part is published, which is too late to send
// it elsewhere, is avoided for a while.
func TestNodeFailsAtTheLastMoment(t *testing.T) {
	for _, why := range []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT} {
		t.Run(why.Error(), func(t *testing.T) { nodeFailsAtTheLastMoment(t, why) })
	}
}

func nodeFailsAtTheLastMoment(t *testing.T, why error) {
	f := newFaulty("partner")
	stored := 0
	f.job(t, func(ctx context.Context, m *member) error {
		if m.rank() == 0 {
			f.breaks(func(node int, op vfs.Op) error {
				if node == 1 && op.Kind == vfs.OpSync {
					return why
				}
				return nil
			})
		}
		if err := comm.Barrier(ctx, m.Comm()); err != nil {
			return err
		}
		for v := uint64(1); v <= 11; v++ {
			o, err := m.write(ctx, v)
			onFailing := faultyNode(m.Comm().Rank()) == 1
			if err := errors.Join(expect("stored", o.Levels != 0, v != 1), expect("failed here", err != nil, v == 1 && onFailing)); err != nil {
				return fmt.Errorf("version %d: %w", v, err)
			}
			if o.Levels != 0 && m.rank() == 0 {
				stored++
			}
		}
		f.breaks(nil)
		o, err := m.write(ctx, 12)
		return errors.Join(err, expect("spilled", o.Spilled, false))
	})
	require.Equal(t, 10, stored)
	f.restores(t, 12)
}

// A node that becomes full again and again is told of once.
func TestNodeIsFullNowAndThen(t *testing.T) {
	f := newFaulty("local")
	f.job(t, func(ctx context.Context, m *member) error {
		for v := uint64(1); v <= 40; v++ {
			if m.rank() == 0 {
				f.breaks(nil)
				if v%3 == 0 && v < 20 {
					f.readOnly(1, syscall.ENOSPC)
				}
			}
			if err := comm.Barrier(ctx, m.Comm()); err != nil {
				return err
			}
			o, err := m.write(ctx, v)
			if err := errors.Join(err, expect("spilled", o.Spilled, v%3 == 0 && v < 20)); err != nil {
				return fmt.Errorf("version %d: %w", v, err)
			}
		}
		return nil
	})
	require.Equal(t, 2, strings.Count(f.log.String(), "the node's storage is full: a part goes"), "once for each rank there")
	require.Equal(t, 2, strings.Count(f.log.String(), "the node takes parts again"))
}

// That parts are protected again counts also if they are not on their own node,
// which is merely full; one that fails has a share in protecting its own parts.
func TestProtectedAgainWhileSpilled(t *testing.T) {
	for why, times := range map[error]int{syscall.ENOSPC: 2, syscall.EIO: 0} {
		f := newFaulty("partner")
		f.job(t, func(ctx context.Context, m *member) error {
			for v := uint64(1); v <= 12; v++ {
				if m.rank() == 0 {
					f.breaks(func(node int, op vfs.Op) error {
						switch {
						case isGuard(op) && node == 2 && (v == 1 || v == 12):
							return syscall.EIO
						case !isGuard(op) && op.Kind == vfs.OpWrite && v > 1:
							return why
						}
						return nil
					})
				}
				if err := comm.Barrier(ctx, m.Comm()); err != nil {
					return err
				}
				o, err := m.write(ctx, v)
				if err := errors.Join(err, expect("spilled", o.Spilled, v > 1)); err != nil {
					return fmt.Errorf("version %d: %w", v, err)
				}
			}
			return nil
		})
		f.breaks(nil)
		require.Equal(t, 2+times, strings.Count(f.log.String(), "level=WARN msg=\"a version is not protected"), "once for each rank that it protects\n%s", f.log.String())
		require.Equal(t, times, strings.Count(f.log.String(), "are protected as planned again"))
		f.restores(t, 12)
	}
}

// Left-overs that cannot be deleted do not keep anybody from restarting.
func TestRestartWithReadOnlyNode(t *testing.T) {
	f := newFaulty("partner")
	f.job(t, func(ctx context.Context, m *member) error {
		_, err := m.write(ctx, 1)
		if err == nil && m.rank() < faultyRanks/2 {
			_, err = m.put(ctx, 2)
		}
		return errors.Join(err, comm.Barrier(ctx, m.Comm()))
	})
	f.readOnly(1, syscall.EROFS)
	f.restores(t, 1)
	require.Contains(t, f.log.String(), "what a node has of an old version is not deleted")
	f.breaks(nil)
	f.restores(t, 1)
	require.Empty(t, f.paths(t, 1, idOf(2).String()), "swept by the next job")
}

// paths lists the files of a node whose path contains a text.
func (f *faulty) paths(t *testing.T, node int, text string) (out []string) {
	t.Helper()
	for dirs := []string{fmt.Sprintf("/node%d", node)}; len(dirs) > 0; dirs = dirs[1:] {
		entries, err := f.nodes[node].ReadDir(dirs[0])
		require.NoError(t, err)
		for _, e := range entries {
			path := filepath.Join(dirs[0], e.Name())
			if e.IsDir() {
				dirs = append(dirs, path)
			}
			if strings.Contains(path, text) {
				out = append(out, path)
			}
		}
	}
	return out
}

// A node on which nothing can be stored from the start ends the job, with what to
// do about it.
func TestUselessNode(t *testing.T) {
	policy, err := storage.ParsePolicy("local")
	require.NoError(t, err)
	f := newFaulty("local")
	f.readOnly(1, syscall.EROFS)
	require.NoError(t, afttest.Run(t.Context(), 2, func(ctx context.Context, c *comm.Comm) error {
		node := int(c.Rank())
		files, err := filestore.New(filestore.Config{Path: "/pfs", Name: "cp", FS: f.home})
		if err != nil {
			return err
		}
		_, err = placement.Open(ctx, placement.Config{
			Comm: c, Name: "cp", Home: files, Dir: files.Dir(), Policy: policy, Root: fmt.Sprintf("/node%d", node), FS: f.at(node),
		})
		if node == 1 && !(errors.Is(err, placement.ErrConfig) && errors.Is(err, syscall.EROFS)) {
			return fmt.Errorf("rank %d: %w", node, err)
		}
		for _, want := range []string{"rank 1", "on host", "/node1/cp-", "CRAFT_NODE_PATH", "read-only"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				return fmt.Errorf("rank %d: %q is not in: %w", node, want, err)
			}
		}
		return nil
	}))
}
