package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/afttest"
	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/filestore"
)

// milestonesAt gives labels to iterations.
func milestonesAt(labels map[int]string) func(*Checkpoint, int) error {
	return func(cp *Checkpoint, iter int) error {
		if label := labels[iter]; label != "" {
			return cp.Milestone(label)
		}
		return nil
	}
}

// labels are those of the versions, by number.
func (j countingJob) labels(t *testing.T) map[uint64]string {
	marks, err := filestore.MarksOf(j.home(t)).List()
	require.NoError(t, err)
	all := make(map[uint64]string)
	for _, m := range marks {
		all[m.ID.Version] = m.Label
	}
	return all
}

func (j countingJob) setMark(t *testing.T, number uint64, label string) {
	home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
	require.NoError(t, err)
	for _, id := range j.stored(t) {
		if id.Version == number {
			require.NoError(t, filestore.MarksOf(home).Set(storage.Mark{ID: id, Label: label, ByHand: true}))
			return
		}
	}
	require.Fail(t, "no such version")
}

func (j countingJob) unmark(t *testing.T, number uint64) {
	home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
	require.NoError(t, err)
	marks, err := filestore.MarksOf(home).List()
	require.NoError(t, err)
	for _, m := range marks {
		if m.ID.Version == number {
			require.NoError(t, filestore.MarksOf(home).Remove(m))
		}
	}
}

// A milestone is due whatever the frequency is, stays, does not count for what is kept, and is gone
// back to by its label; in all modes.
func TestMilestones(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(2), inMode(mode)}, freq: 10, before: milestonesAt(map[int]string{7: "after warm-up", 20: "due"})}
			j.startsAt(t, 0, 51)
			require.Equal(t, map[uint64]string{2: "after warm-up", 4: "due"}, j.labels(t)) // 0, 7, 10, 20, 30, 40, 50
			require.Subset(t, []uint64{2, 4, 5, 6, 7}, j.numbers(t))                       // what is owed goes with the next version
			require.Subset(t, j.numbers(t), []uint64{2, 4, 6, 7})
			j.startsAt(t, 8, 3, WithRestartFrom("milestone=after warm-up"))
			j.startsAt(t, 11, 40, WithRestartFrom("milestone=after warm-up"))
			require.Subset(t, j.numbers(t), []uint64{2, 4})
		})
	}
}

func TestMilestoneOptions(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(1), WithMilestones(2)}, freq: 100, before: func(cp *Checkpoint, iter int) error {
		return cp.Milestone(fmt.Sprintf("step %d", iter))
	}}
	j.startsAt(t, 0, 3)
	j.setMark(t, 2, "by hand")
	j.startsAt(t, 3, 3)
	require.Equal(t, map[uint64]string{2: "by hand", 5: "step 4", 6: "step 5"}, j.labels(t))
	j.startsAt(t, 6, 0)
	j.startsAt(t, 6, 1)
	require.Equal(t, []uint64{2, 5, 6, 7}, j.numbers(t), "5 is the newest one without a mark")

	_, err := New("prog", nil, WithPath(t.TempDir()), WithMilestones(0))
	require.ErrorIs(t, err, ErrArgument)
	p := newProgram(t, nil, false, WithPath(t.TempDir()))
	for _, label := range []string{"", " x", "a/b", `a\b`, "a\nb", strings.Repeat("x", storage.MaxLabel+1), "\xff"} {
		require.ErrorIs(t, p.cp.Milestone(label), ErrArgument, "%q", label)
	}
	inner, err := New("inner", nil, WithPath(t.TempDir()))
	require.NoError(t, err)
	require.NoError(t, errors.Join(p.cp.SubCP(inner), inner.Add("n", new(int)), inner.Commit()))
	require.ErrorIs(t, inner.Milestone("x"), ErrArgument)
}

// What Keep has marked survives a fresh start, and is restorable then; a running job sees marks
// that come and go.
func TestMarksOnARunningJob(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(1), func(o *options) { o.lookEvery = 1 }}}
	j.before = func(_ *Checkpoint, iter int) error {
		switch iter {
		case 3:
			j.setMark(t, 3, "good") // the last one that is complete
		case 4:
			j.setMark(t, 3, "better")
		case 6:
			j.setMark(t, 6, "for a while")
		case 8:
			j.unmark(t, 6)
		}
		return nil
	}
	j.startsAt(t, 0, 11)
	require.Equal(t, []uint64{3, 11}, j.numbers(t))
	j.before = nil
	j.startsAt(t, 0, 5, WithReadOnRestart(false))
	require.Equal(t, []uint64{3, 16}, j.numbers(t))
	j.startsAt(t, 3, 1, WithRestartFrom("milestone=better"))
	j.startsAt(t, 4, 0)
}

// No restart takes an old milestone by itself.
func TestMilestonesAreNoFallBack(t *testing.T) {
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(2)}, before: milestonesAt(map[int]string{2: "early"})}
	j.startsAt(t, 0, 9)
	j.startsAt(t, 9, 0)
	require.Subset(t, []uint64{3, 7, 8, 9}, j.numbers(t))
	j.damage(t, 9)
	j.startsAt(t, 8, 0)
	j.damage(t, 8)
	for _, n := range j.numbers(t) {
		if n == 7 {
			j.damage(t, 7)
		}
	}
	_, err := j.start(t, 0)
	require.ErrorIs(t, err, ErrNoUsableVersion)
	require.ErrorContains(t, err, "v-000003-")
	require.ErrorContains(t, err, "CRAFT_RESTART_FROM")
	j.startsAt(t, 3, 0, WithRestartFrom("milestone=early"))

	// Unless it is the newest.
	j = countingJob{dir: t.TempDir(), opts: []Option{WithKeep(1)}, before: milestonesAt(map[int]string{2: "last"})}
	j.startsAt(t, 0, 3)
	j.startsAt(t, 3, 0)
}

// A milestone refers to no other version; one that craft keep has marked keeps those that it
// refers to.
func TestMilestonesWithDelta(t *testing.T) {
	var refers uint64
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(1), WithDelta(100)}}
	j.before = func(cp *Checkpoint, iter int) error {
		switch iter {
		case 3:
			return cp.Milestone("whole")
		case 7:
			home, err := filestore.New(filestore.Config{Path: j.dir, Name: "prog"})
			require.NoError(t, err)
			newest := cp.line.stored.Newest()
			require.NotZero(t, newest.Header.Oldest)
			refers = newest.Header.Oldest
			return filestore.MarksOf(home).Set(storage.Mark{ID: newest.ID, Oldest: newest.Header.Oldest, Label: "kept", ByHand: true})
		case 8:
			return cp.Milestone("whole, too")
		}
		return nil
	}
	j.startsAt(t, 0, 12)
	require.Equal(t, uint64(4), refers)
	require.Subset(t, j.numbers(t), []uint64{4, 5, 6, 7, 9})
	require.NotContains(t, j.numbers(t), uint64(3))
	j.before = nil
	j.startsAt(t, 4, 0, WithRestartFrom("milestone=whole"))
	j.startsAt(t, 7, 0, WithRestartFrom("milestone=kept"))
	j.startsAt(t, 9, 0, WithRestartFrom("milestone=whole, too"))
}

// On a full disk milestones stay, and one that cannot be marked says so, and is marked with the next version.
func TestMilestonesOnAFullDisk(t *testing.T) {
	full, marking := false, false
	disk := vfs.WithErrors(vfs.OS(), func(op vfs.Op) error {
		mark := strings.Contains(op.Path, "MILESTONE-")
		if op.Kind == vfs.OpWrite && (full && !mark || marking && mark) {
			return syscall.ENOSPC
		}
		return nil
	})
	j := countingJob{dir: t.TempDir(), opts: []Option{WithKeep(1), withFS(disk)}, before: milestonesAt(map[int]string{1: "first", 5: "second"})}
	j.startsAt(t, 0, 4)
	full = true
	_, err := j.start(t, 1)
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Subset(t, j.numbers(t), []uint64{2, 4})
	full = false
	j.startsAt(t, 4, 1)

	marking = true
	_, err = j.start(t, 1)
	require.ErrorContains(t, err, "is stored, but is no milestone")
	marking = false
	require.Equal(t, map[uint64]string{2: "first"}, j.labels(t))
	from, err := j.start(t, 0)
	require.NoError(t, err)
	require.Equal(t, 6, from, "it is stored")
	j.startsAt(t, 2, 1, WithRestartFrom("milestone=first"))
}

// All ranks call it alike.
func TestMilestonesOfSeveralRanks(t *testing.T) {
	dir := t.TempDir()
	run := func(label func(rank comm.Rank, iter int) string, until int) error {
		return afttest.Run(t.Context(), 3, func(ctx context.Context, c *comm.Comm) error {
			p := newProgram(t, c, true, WithPath(dir), WithKeep(1))
			defer p.cp.Close()
			if err := p.cp.RestartIfNeeded(ctx, &p.iter); err != nil {
				return err
			}
			for ; p.iter < until; p.iter++ {
				p.step()
				if l := label(c.Rank(), p.iter); l != "" {
					if err := p.cp.Milestone(l); err != nil {
						return err
					}
				}
				if err := p.cp.UpdateAndWrite(ctx, p.iter, 10); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, run(func(_ comm.Rank, iter int) string {
		if iter%15 == 5 {
			return fmt.Sprint("at ", iter)
		}
		return ""
	}, 30))
	j := countingJob{dir: dir}
	require.Equal(t, map[uint64]string{2: "at 5", 4: "at 20"}, j.labels(t))
	require.Subset(t, j.numbers(t), []uint64{2, 4})
	err := run(func(rank comm.Rank, _ int) string { return fmt.Sprint("of rank ", rank) }, 40)
	require.ErrorIs(t, err, ErrDisagree)
	require.ErrorContains(t, err, "Milestone")
}
