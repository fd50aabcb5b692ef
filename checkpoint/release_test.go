package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/comm/single"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// member is an engine of a job that survives failures, as far as a checkpoint sees it.
type member struct {
	driver.Comm
	driver.Session

	size    int // 0: that of Comm
	broken  atomic.Pointer[driver.FailedError]
	fenced  atomic.Bool
	epoch   int
	session *comm.Session
}

// newMember is one in an epoch, and its communicator.
func newMember(epoch, size int) (*member, *comm.Comm) {
	m := &member{Comm: single.New(), epoch: epoch, size: size}
	m.session = comm.NewSession(m)
	m.session.Zone().CountRecovery(time.Duration(epoch) * time.Second)
	return m, m.session.Place().Comm
}

func (m *member) Place() driver.Place { return driver.Place{Comm: m, Job: "job", Epoch: m.epoch} }

// Repair begins the next epoch.
func (m *member) Repair(context.Context, driver.Policy) (driver.Change, error) {
	m.epoch++
	return driver.Change{}, nil
}

func (m *member) Lease() error {
	if m.fenced.Load() {
		return driver.ErrFenced
	}
	return nil
}

// release is what a repair does first.
func (m *member) release(t *testing.T) { require.NoError(t, m.session.Zone().Hooks(t.Context())) }

func (m *member) Size() int {
	if m.size > 0 {
		return m.size
	}
	return m.Comm.Size()
}

func (m *member) Isend(dst, tag int, data []byte) driver.Request {
	if err := m.broken.Load(); err != nil {
		return driver.FailedRequest(err)
	}
	return m.Comm.Isend(dst, tag, data)
}

func (m *member) Irecv(src, tag int, buf []byte) driver.Request {
	if err := m.broken.Load(); err != nil {
		return driver.FailedRequest(err)
	}
	return m.Comm.Irecv(src, tag, buf)
}

// When the communicator is given up, the version that is on its way is published
// first; after that nothing can be called, and the next epoch goes on from it.
func TestCheckpointIsGivenUp(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			dir := t.TempDir()
			m, c := newMember(1, 0)
			p := newProgram(t, c, true, WithPath(dir), inMode(mode))
			require.NoError(t, p.cp.RestartIfNeeded(t.Context(), &p.iter))
			for ; p.iter < 3; p.iter++ {
				require.NoError(t, p.advance(t.Context(), 1))
			}
			m.release(t)
			require.NoFileExists(t, filepath.Join(dir, "prog", filestore.LockName))
			for name, err := range map[string]error{
				"UpdateAndWrite":  p.cp.UpdateAndWrite(t.Context(), 3, 1),
				"Write":           p.cp.Write(t.Context()),
				"Wait":            p.cp.Wait(t.Context()),
				"RestartIfNeeded": p.cp.RestartIfNeeded(t.Context(), nil),
				"Add":             p.cp.Add("x", new(int)),
				"Commit":          p.cp.Commit(),
				"SubCP":           p.cp.SubCP(p.cp),
			} {
				require.ErrorIs(t, err, ErrState, name)
				require.ErrorContains(t, err, name+" after its communicator was given up")
			}
			require.NoError(t, p.cp.Close())

			_, c = newMember(2, 0)
			again := newProgram(t, c, true, WithPath(dir))
			require.NoError(t, again.cp.RestartIfNeeded(t.Context(), &again.iter))
			require.Equal(t, 3, again.iter)
			require.Equal(t, p.v, again.v)
			require.NoError(t, again.cp.Close())
			records, err := filestore.Records(vfs.OS(), filepath.Join(dir, "prog"))
			require.NoError(t, err)
			require.Equal(t, 2, records[1].Recoveries)
			require.Equal(t, 2.0, records[1].Overheads.Recovery)
		})
	}
}

func TestClosedCheckpointIsNotGivenUp(t *testing.T) {
	m, c := newMember(0, 0)
	p := newProgram(t, c, true, WithPath(t.TempDir()))
	require.NoError(t, p.cp.Close())
	m.release(t)
	require.ErrorContains(t, p.cp.Write(t.Context()), "after Close")
}

// A rank that the others may have declared dead publishes nothing, whenever it
// loses its lease.
func TestFencedRankPublishesNothing(t *testing.T) {
	for _, mode := range modes {
		for _, late := range []bool{false, true} {
			m, c := newMember(0, 0)
			var armed atomic.Bool
			disk := vfs.NewMem()
			watched := vfs.WithErrors(disk, func(op vfs.Op) error {
				if op.Kind == vfs.OpWrite && armed.Load() { // while it writes
					m.fenced.Store(true)
				}
				return nil
			})
			p := newProgram(t, c, true, WithPath("/cp"), withFS(watched), inMode(mode))
			require.NoError(t, p.run(t.Context(), 3, 1))
			require.NoError(t, p.cp.up.maintenanceDone(t.Context()))
			before := complete(t, p.cp)
			armed.Store(late)
			m.fenced.Store(!late)
			err := p.advance(t.Context(), 1)
			if err == nil {
				err = p.cp.Wait(t.Context())
			}
			require.ErrorIs(t, err, comm.ErrFenced)
			require.NoError(t, p.cp.Close())
			after := complete(t, p.cp)
			require.Equal(t, before[len(before)-1], after[len(after)-1])
			if !late {
				require.Equal(t, before, after, "nor deletes anything")
			}
		}
	}
}

func complete(t *testing.T, cp *Checkpoint) (out []storage.ID) {
	entries, err := cp.home.List(t.Context())
	require.NoError(t, err)
	for _, e := range entries {
		if e.Complete() {
			out = append(out, e.ID)
		}
	}
	return out
}

// Errors of the communicator come through, with their ranks, and nothing is left
// that would keep the next attempt from beginning.
func TestFailedCommunicatorIsReported(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, map[string]any{"x": new(int)})
	m, c := newMember(0, 2)
	m.broken.Store(&driver.FailedError{Ranks: []int{1}})
	x := 0
	cp, err := New("test", c, WithPath(dir))
	require.NoError(t, err)
	require.NoError(t, cp.Add("x", &x))
	require.NoError(t, cp.Commit())
	for _, err := range []error{cp.RestartIfNeeded(t.Context(), nil), cp.Write(t.Context()), cp.UpdateAndWrite(t.Context(), 0, 1)} {
		require.ErrorIs(t, err, comm.ErrProcFailed)
		var failed *comm.FailedError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, []comm.Rank{1}, failed.Ranks)
	}
	require.NoFileExists(t, filepath.Join(dir, "test", filestore.LockName))
	require.NoError(t, cp.Close())
	names, err := os.ReadDir(filepath.Join(dir, "test"))
	require.NoError(t, err)
	require.Equal(t, 1, len(slices.DeleteFunc(names, func(e os.DirEntry) bool { return !e.IsDir() })))
}

// The error that one rank had with the communicator is the same kind of error on
// the ranks that hear of it.
func TestFailureReportedByAnotherRank(t *testing.T) {
	for want, err := range map[error]error{
		comm.ErrProcFailed: &comm.FailedError{Ranks: []comm.Rank{2}}, comm.ErrRevoked: comm.ErrRevoked, comm.ErrFenced: comm.ErrFenced,
	} {
		got := reportOf(err).by(3)
		require.ErrorIs(t, got, want)
		require.False(t, commFailed(got), "it is theirs: the communicator could still agree on it")
	}
}
