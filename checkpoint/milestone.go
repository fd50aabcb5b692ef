package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/placement"
)

// A milestone is a version that stays, with a label, until somebody takes that back: it is whole
// by itself, on the parallel file system, and marked there by a file beside the versions
// (storage.Mark). craft keep marks versions in the same way.

// WithMilestones keeps only the newest n versions that Milestone has marked, at least 1: older
// ones are ordinary versions again. Without it all stay. What craft keep has marked does not count.
func WithMilestones(n int) Option { return func(o *options) { o.milestones = &n } }

func (o *options) validateMilestones() error {
	if o.milestones != nil && *o.milestones < 1 {
		return fmt.Errorf("%w: WithMilestones: %d (allowed: at least 1)", ErrArgument, *o.milestones)
	}
	return nil
}

// Milestone makes the next call of UpdateAndWrite or Write one that writes a version, whatever its
// frequency, and a milestone of that: a version that refers to no other, is on the parallel file
// system when it is one, and stays, besides those that are kept anyway, until craft unkeep, or
// WithMilestones, takes that back. CRAFT_RESTART_FROM=milestone=LABEL and craft restore go back to it; no
// restart takes an old one by itself. The label is printable text without slashes, up to 100
// bytes; several calls give several labels.
//
// All ranks call it with the same label before that call. When that returns nil the version is a milestone;
// after an error the next one is to be. In the asynchronous modes that is so when the
// next call that waits has returned. At the end of the job the last version goes first, and may refer to others: if the
// time does not suffice for the milestone, ErrDeadline says so. Of a nested checkpoint it is ErrArgument: nobody can go
// back to a version of that alone.
func (cp *Checkpoint) Milestone(label string) error {
	return cp.call("Milestone", func() error {
		if err := storage.CheckLabel(label); err != nil {
			return fmt.Errorf("checkpoint %q: %w: Milestone: %w", cp.name, ErrArgument, err)
		}
		if p := cp.line.parent; p != nil {
			return fmt.Errorf("checkpoint %q: %w: Milestone of a checkpoint that is nested in %q: nobody could go back to it without that: make one of %q",
				cp.name, ErrArgument, p.name, cp.line.outermost().name)
		}
		if !slices.Contains(cp.out.labels, label) {
			cp.out.labels = append(cp.out.labels, label)
		}
		return nil
	})
}

// lastMilestones is what an end of the job changes: its version goes first, and time may be short.
type lastMilestones struct {
	late    bool // a milestone is made when the last version is safe
	hurried bool // it is written as the plan says, and may refer to others
	waiting []waitingMilestone
}

// waitingMilestone is a version that is complete, and to be a milestone when the last one is safe.
type waitingMilestone struct {
	id     storage.ID
	oldest uint64 // that it refers to
	labels []string
	ranks  int // that have written it
}

// nextNumber is that of the next version. If that is to be a milestone it is planned for the
// parallel file system.
func (wr *writing) nextNumber() uint64 {
	next := wr.line.attempt.last + 1
	if wholeMilestone(wr) && wr.placement != nil {
		placement.Demand(wr.placement, next)
	}
	return next
}

// wholeMilestone reports whether the next version is to be a milestone that refers to no other.
func wholeMilestone(wr *writing) bool { return len(wr.labels) > 0 && !wr.last.hurried }

// newFlight begins one, of a milestone if one is due.
func (wr *writing) newFlight(f *flight) *flight {
	f.done.labels, wr.labels = wr.labels, nil
	return f
}

// landMilestone makes a version that is complete on all ranks a milestone, if it is to be one. If
// the version has failed the next one is to be.
func (wr *writing) landMilestone(ctx context.Context, f *flight, failed error) error {
	if len(f.done.labels) == 0 {
		return nil
	}
	if failed != nil {
		wr.labels = append(f.done.labels, wr.labels...)
		return nil
	}
	one := waitingMilestone{id: f.id(), oldest: f.header.Oldest, labels: f.done.labels, ranks: f.header.Size}
	if !wr.last.late {
		limited, done := wr.meet.point.UntilEnd(ctx)
		defer done()
		err := milestones{wr}.make(ctx, limited, one)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, demand.ErrTimeOver):
			wr.labels = append(f.done.labels, wr.labels...)
			return fmt.Errorf("version %d is stored, but is no milestone (the next one is to be): %w", f.header.Version, err)
		}
		wr.rootLog.Info("a milestone waits for the last version of the job", "version", one.id.Version)
	}
	wr.last.waiting = append(wr.last.waiting, one)
	marks{wr.up}.keepFor(one)
	return nil
}

// milestones makes versions milestones.
type milestones struct{ wr *writing }

// makeWaiting makes the milestones that have waited for the last version, as far as patience allows. Who is not made one is
// said to be not.
func (of milestones) makeWaiting(ctx, patience context.Context) (err error) {
	wr := of.wr
	waiting := wr.last.waiting
	wr.last = lastMilestones{}
	for _, one := range waiting {
		failed := of.make(ctx, patience, one)
		if commFailed(failed) {
			return failed
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("version %d is stored, but is no milestone (%s): %w", one.id.Version, strings.Join(one.labels, ", "), failed))
		}
	}
	marks{wr.up}.keepFor()
	if err != nil {
		wr.rootLog.Warn("a milestone is not made", "error", err)
	}
	return err
}

// tellLost says which versions have waited for a last one that another checkpoint, or nobody, has written.
func (of milestones) tellLost() {
	for _, one := range of.wr.last.waiting {
		of.wr.rootLog.Warn("a milestone is not made: the attempt has ended before; craft keep makes it one", "version", one.id.Version, "labels", strings.Join(one.labels, ", "))
	}
}

// make brings a version home, as long as patience lasts, and marks it. It is collective. Its error is text
// as far as it is of a full disk: the version is stored, and is not written once more because of that.
func (of milestones) make(ctx, patience context.Context, one waitingMilestone) error {
	wr := of.wr
	err := wr.comeHome(ctx, patience, one.id)
	if err == nil && wr.root() && wr.placement.OnNodes() && !hasAtHome(wr.core, one.id, one.ranks) {
		err = errors.New("not all of it has come to the parallel file system") // a rank that could not copy it has given it up
	}
	if err == nil && wr.root() {
		if err = (marks{wr.up}).set(ctx, one); err == nil {
			wr.up.prune(context.WithoutCancel(ctx)) // an older one may be one too many now
		}
	}
	if _, err = wr.agree(ctx, err); err != nil {
		return &milestoneError{err}
	}
	wr.rootLog.Info("milestone", "version", one.id.Version, "labels", strings.Join(one.labels, ", "))
	return nil
}

// milestoneError hides that a disk was full from who would write the version once more.
type milestoneError struct{ err error }

func (e *milestoneError) Error() string { return e.err.Error() }

func (e *milestoneError) Unwrap() error {
	if vfs.IsFull(e.err) {
		return nil
	}
	return e.err
}

// comeHome waits until the parallel file system has a version, as long as patience lasts. It is collective.
func (wr *writing) comeHome(ctx, patience context.Context, id storage.ID) error {
	if !wr.placement.OnNodes() {
		return nil
	}
	if err := (carriedStart{wr.start}).openFiles(ctx); err != nil {
		return err
	}
	err := wr.up.maintenanceDone(patience)
	if err == nil {
		err = disagreed(wr.placement.Flush(patience, id))
	}
	if _, err := wr.agree(ctx, err); err != nil {
		return err
	}
	if wr.root() {
		wr.up.flushed.add(id)
		wr.up.arrived()
	}
	return nil
}

// marks are those of a checkpoint, on rank 0.
type marks struct{ up *upkeep }

// set sets the marks of a version. Where there is no room, what need not be kept goes.
func (k marks) set(ctx context.Context, one waitingMilestone) error {
	ctx = context.WithoutCancel(ctx)
	k.up.marksRead = time.Time{}
	for _, label := range one.labels {
		m := storage.Mark{ID: one.id, Oldest: one.oldest, Label: label, Created: time.Now().UTC().Truncate(time.Millisecond)}
		err := filestore.MarksOf(k.up.home).Set(m)
		if vfs.IsFull(err) && k.up.line.outermost().up.makeRoom(ctx) > 0 {
			err = filestore.MarksOf(k.up.home).Set(m)
		}
		if err != nil {
			return fmt.Errorf("mark with label %q: %w", label, err)
		}
	}
	return nil
}

// read finds out which versions are marked, before it is decided which need not be kept, and takes
// back what is more than WithMilestones. It reports whether that is known.
func (k marks) read() bool {
	u := k.up
	if u.line.parent != nil || u.light { // nothing is, or nothing is in files
		return true
	}
	if time.Since(u.marksRead) < cmp.Or(u.opt.lookEvery, lookEvery) { // of one that was marked since then the removal finds out
		return true
	}
	u.marksRead = time.Now()
	all, err := filestore.MarksOf(u.home).Named()
	if err != nil {
		u.marksRead = time.Time{}
		u.log.Warn("no old version is deleted: it cannot be read which ones are marked to be kept", "path", u.dir(), "error", err)
		return false
	}
	limit := math.MaxInt
	if u.opt.milestones != nil {
		limit = *u.opt.milestones
	}
	for _, m := range catalog.Stale(all, limit) {
		if err := k.takeBack(m); err != nil {
			u.log.Warn("an old milestone is not taken back", "version", m.ID.Version, "error", err)
			continue
		}
		all = slices.DeleteFunc(all, func(o storage.Mark) bool { return o == m })
	}
	u.line.stored.SetMarks(append(all, u.unmarked...))
	return true
}

// keepFor has versions stay, as if they were marked: they are to be milestones soon. Without any nothing does any more.
func (k marks) keepFor(versions ...waitingMilestone) {
	u := k.up
	if len(versions) == 0 {
		u.unmarked = nil
	}
	for _, one := range versions {
		u.unmarked = append(u.unmarked, storage.Mark{ID: one.id, Oldest: one.oldest})
	}
	u.marksRead = time.Time{}
}

// takeBack removes the program's marks of a version.
func (k marks) takeBack(old storage.Mark) error {
	all, err := filestore.MarksOf(k.up.home).List()
	for _, m := range all {
		if err == nil && m.ID == old.ID && !m.ByHand {
			err = filestore.MarksOf(k.up.home).Remove(m)
		}
	}
	return err
}

// keep reports that a version was not removed because somebody has marked it meanwhile.
func (k marks) keep(id storage.ID, err error) bool {
	if !errors.Is(err, storage.ErrKept) {
		return false
	}
	k.up.marksRead = time.Time{}
	k.up.log.Info("an old version stays: it was marked to be kept", "version", id.Version)
	return true
}

// withoutOldMilestones leaves milestones out that no restart takes by itself, and says which.
func (l *looker) withoutOldMilestones(s *survey) error {
	if l.line.parent != nil || l.light {
		return nil
	}
	marked, err := filestore.MarksOf(l.home).Named()
	if err != nil {
		return err
	}
	var own storage.ID
	if s.Back != nil {
		own = s.Back.To
	}
	all := s.Candidates
	s.Candidates = catalog.WithoutOldMilestones(all, marked, own, s.Lost != "")
	s.Milestones = idsOf(all[len(s.Candidates):])
	return nil
}

// orMilestones says that there are milestones, which somebody can go back to.
func (s survey) orMilestones() string {
	if len(s.Milestones) == 0 {
		return ""
	}
	return fmt.Sprintf(" (milestones are no fall-back: to go back to %s set CRAFT_RESTART_FROM)", named(s.Milestones))
}
