package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/filestore"
)

// A computation is taken back to one of its versions by CRAFT_RESTART_FROM, or by a note that
// craft restore has left. Either is taken once: by the first start after it, which lets the note say
// so before anything is passed over. From then on only what is of the branch that begins there
// is gone on from (docs/decisions/0058). What is nested follows: its versions carry the
// identity of the branch, too.

// WithRestartFrom goes back to a version, once, as CRAFT_RESTART_FROM does: "12",
// "iteration=30", "milestone=after warm-up", or the name of a version's directory; "": it does
// not. Of a nested checkpoint it has no effect: that follows the one around it.
func WithRestartFrom(version string) Option { return func(o *options) { o.RestartFrom = version } }

// validateWayBack checks CRAFT_RESTART_FROM.
func (c config) validateWayBack() error {
	if c.RestartFrom == "" {
		return nil
	}
	if _, err := storage.ParseTarget(c.RestartFrom); err != nil {
		return fmt.Errorf("%w: %w", env.Invalid("CRAFT_RESTART_FROM", c.RestartFrom), err)
	}
	if !c.ReadOnRestart {
		return fmt.Errorf("%w: with CRAFT_READ_CP_ON_RESTART=0 nothing is read, so that nothing can be gone back to: set one of the two", env.Invalid("CRAFT_RESTART_FROM", c.RestartFrom))
	}
	return nil
}

// branching is what a start goes by after a way back.
type branching struct {
	ID storage.BranchID
	To storage.ID
	// Initial: no version of it is complete.
	Initial bool
}

// goingBack is what rank 0 knows of it.
type goingBack struct {
	catalog.WayBack
	note *storage.WayBack // as it is to be at home
	// taking: no start has taken it yet.
	taking bool
	// had are the complete versions before any was left out, newest first.
	had     []catalog.Candidate
	origins catalog.Origins
}

// goBack finds out whether a way back decides what is gone on from: back is nil if none does.
// Then complete and told are what is left of them. pending is a note that this start does not go by.
func (l *looker) goBack(s *survey, complete []catalog.Candidate, told *catalog.Told) ([]catalog.Candidate, error) {
	if l.line.parent != nil {
		return l.followParent(complete, told), nil
	}
	note, err := filestore.WayBackOf(l.home)
	if !l.reads || !l.opt.ReadOnRestart { // what it leads to is not read
		if err == nil && note != nil && note.Pending() {
			s.given = note
		}
		return complete, nil
	}
	if err != nil {
		return nil, err
	}
	back, err := l.wayBack(s, complete, *told, note)
	if err != nil || back == nil {
		return complete, err
	}
	back.had, back.origins = complete, told.Origins(complete)
	complete, told.Claims = back.Keep(complete, told.Claims)
	s.back, s.Back = back, &branching{ID: back.Branch, To: back.To, Initial: !slices.ContainsFunc(complete, func(c catalog.Candidate) bool { return back.Has(c.ID) })}
	if len(complete) == 0 && !l.line.attempt.begun { // else there may be some in memory
		return nil, fmt.Errorf("%w: %s: that version is not there any more, nor is any that was written since; there is: %s",
			ErrNoUsableVersion, back.describe(), catalog.Choices(l.choices(s, back.had, *told, nil)))
	}
	for i := range s.versions {
		v := &s.versions[i]
		v.passed = !back.Follows(v.ID)
		v.elsewhere = v.elsewhere || v.passed && !v.Complete()
	}
	return complete, nil
}

// wayBack is the one that decides: that of CRAFT_RESTART_FROM if it was not taken before, or else
// that of the note.
func (l *looker) wayBack(s *survey, complete []catalog.Candidate, told catalog.Told, note *storage.WayBack) (*goingBack, error) {
	repairs, _ := l.comm.Session().Recovered()
	var before *catalog.WayBack
	if note != nil && (repairs == 0 || !note.Pending()) { // one that this job has not taken is for the next one
		w := catalog.NewWayBack(note, complete, told.Runs)
		if w.InEffect(complete, told, storage.BegunAnew(told.Runs)) {
			before = &w
		}
	}
	if job := l.comm.Session().JobName(); l.opt.FallBack && job != "" && (note == nil || note.FallBack != job) {
		return l.fallBack(s, complete, told, note, before, job)
	}
	if l.opt.RestartFrom == "" || repairs > 0 {
		return goingOn(note, before), nil
	}
	target, _ := storage.ParseTarget(l.opt.RestartFrom) // validated
	if note != nil && note.Variable == target.String() {
		l.log.Info("CRAFT_RESTART_FROM was taken by an earlier start, and is not taken again: to go back once more run craft restore",
			"value", l.opt.RestartFrom, "path", l.dir())
		return goingOn(note, before), nil
	}
	to, err := catalog.Resolve(target, l.choices(s, complete, told, before))
	if err != nil {
		return nil, fmt.Errorf("%w: CRAFT_RESTART_FROM=%s: %w", ErrNoUsableVersion, l.opt.RestartFrom, err)
	}
	own := newWayBack(s, to, target, "CRAFT_RESTART_FROM", note)
	own.Variable = target.String()
	return &goingBack{WayBack: catalog.NewWayBack(own, complete, told.Runs), note: own, taking: true}, nil
}

// newWayBack begins one to a version that was seen.
func newWayBack(s *survey, to storage.ID, asked storage.Target, by string, before *storage.WayBack) *storage.WayBack {
	var id storage.BranchID
	_, _ = rand.Read(id[:]) // never fails
	own := storage.NewWayBack(id, to, asked, by, before)
	for _, v := range s.versions {
		if v.ID == to && v.header.Attempt == to.Attempt {
			own.Describe(v.header)
		}
	}
	return own
}

// fallBack goes back to the version before the newest one, once in a job: its launcher says that it has died again
// and again behind that.
func (l *looker) fallBack(s *survey, complete []catalog.Candidate, told catalog.Told, note *storage.WayBack, before *catalog.WayBack, job string) (*goingBack, error) {
	var own []catalog.Choice
	for _, c := range l.choices(s, complete, told, before) {
		if c.Complete && !c.Other {
			own = append(own, c)
		}
	}
	slices.SortFunc(own, func(a, b catalog.Choice) int { return b.ID.Compare(a.ID) })
	if len(own) < 2 {
		return nil, fmt.Errorf("%w: the job has died again and again, and there is no earlier version to go back to (--fall-back); there is: %s", ErrNoUsableVersion, catalog.Choices(own))
	}
	to := own[1].ID
	back := newWayBack(s, to, storage.Target{Version: to.Version}, "craft run --fall-back", note)
	back.FallBack = job
	return &goingBack{WayBack: catalog.NewWayBack(back, complete, told.Runs), note: back, taking: true}, nil
}

func goingOn(note *storage.WayBack, by *catalog.WayBack) *goingBack {
	if by == nil {
		return nil
	}
	own := *note
	return &goingBack{WayBack: *by, note: &own, taking: note.Pending()}
}

// choices are the versions that could be gone back to.
func (l *looker) choices(s *survey, complete []catalog.Candidate, told catalog.Told, back *catalog.WayBack) []catalog.Choice {
	marks, err := filestore.MarksOf(l.home).List()
	if err != nil {
		l.log.Warn("the labels of the versions cannot be read", "path", l.dir(), "error", err)
	}
	var partial []storage.ID
	for _, v := range s.versions {
		if !v.Complete() {
			partial = append(partial, v.ID)
		}
	}
	return catalog.ChoicesOf(complete, partial, told, marks, back)
}

// describe is such as "the computation was taken back to v-000003-... (CRAFT_RESTART_FROM=3)".
func (b *goingBack) describe() string {
	by := b.note.By + " " + b.note.Asked
	if b.note.By == "CRAFT_RESTART_FROM" {
		by = b.note.By + "=" + b.note.Asked
	}
	return fmt.Sprintf("the computation was taken back to %v (%s)", b.To, by)
}

// doubtless takes back the doubts that are about what was passed over.
func (b *goingBack) doubtless(s *survey, reserved storage.ID) {
	s.resumed = ""
	if b.taking || s.Back.Initial || reserved.Version <= b.Above && !b.Has(reserved) {
		s.unseen = ""
	}
	if s.Back.Initial {
		s.branch, s.leftDamaged, s.Unannounced, s.Lost = "", "", "", ""
	}
}

// followParent leaves out, of a nested checkpoint, what is not of the branch in which the outermost
// one is: it was written behind the version that this was taken back to, and passed over with what
// came after that.
func (l *looker) followParent(complete []catalog.Candidate, told *catalog.Told) []catalog.Candidate {
	top := l.line.outermost().branch
	if top.ID.IsZero() {
		return complete
	}
	of := make(map[container.AttemptID]storage.BranchID)
	for _, r := range told.Runs {
		if attempt, ok := storage.ParseAttempt(r.Attempt); ok {
			of[attempt] = r.Branch
		}
	}
	for _, c := range complete {
		if c.Known {
			of[c.ID.Attempt] = c.Branch
		}
	}
	other := func(id storage.ID) bool {
		branch, known := of[id.Attempt]
		return known && branch != top.ID
	}
	told.Claims = slices.DeleteFunc(slices.Clone(told.Claims), func(one catalog.Claim) bool { return other(one.ID) })
	return slices.DeleteFunc(slices.Clone(complete), func(c catalog.Candidate) bool { return other(c.ID) })
}

// ofBranch reports whether a record is of the branch that this start goes by.
func (l *lineage) ofBranch(r storage.Record) bool {
	top := l.outermost().branch
	return top.ID.IsZero() || r.Branch == top.ID
}

// returning is a start that goes by a way back, or may.
type returning struct {
	st    *starting
	found survey
}

// take lets the note say, before anything is passed over, that the way back was taken, and which
// numbers are from before it.
func (r returning) take(ctx context.Context) error {
	st, found := r.st, r.found
	note := found.given
	if b := found.back; b != nil && b.taking {
		note = b.note
		note.Passed = catalog.PassedOver(b.had, b.origins, b.To, note.Passed)
	}
	if note == nil {
		return nil
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	note.Above, note.Taken = max(found.Used, 1), &now
	err := filestore.SetWayBack(ctx, st.home, note)
	if vfs.IsFull(err) && st.home.Spares().Drop() {
		err = filestore.SetWayBack(ctx, st.home, note)
	}
	if err != nil {
		return fmt.Errorf("the note about the way back cannot be written, so that nothing is passed over: %w", err)
	}
	return nil
}

// follow enters, on all ranks, the branch that an attempt is of, and on rank 0 what was passed over.
func (r returning) follow(restored *container.Header) {
	st, found := r.st, r.found
	st.line.branch = branching{}
	switch {
	case st.line.parent != nil:
		st.line.branch = st.line.outermost().branch
	case found.Back != nil:
		st.line.branch = *found.Back
	case restored != nil:
		st.line.branch.ID = storage.Branch(*restored)
	}
}

// tell says what a way back means, when a version was restored because of it.
func (r returning) tell(c catalog.Candidate) {
	st, found, b := r.st, r.found, r.found.back
	switch {
	case b == nil || !b.taking && !found.Back.Initial:
		return
	case !b.taking:
		st.rootLog.Warn("the version that the computation was taken back to is gone back to again: nothing newer of its branch is complete", "version", c.ID.Version, "asked", b.note.Asked, "by", b.note.By)
		return
	}
	var over []storage.ID
	for _, had := range b.had {
		if had.ID.Version > b.To.Version && !b.Follows(had.ID) {
			over = append(over, had.ID)
		}
	}
	st.rootLog.Warn("the computation is taken back: what is newer is passed over, and stays until this branch has as many complete versions as are kept",
		"version", c.ID.Version, "asked", b.note.Asked, "by", b.note.By, "branch", b.Branch.String(), "passed_over", named(over), "kept", st.opt.Keep)
}

// failed explains why a restart that goes by a way back has failed.
func (r returning) failed(err error) error {
	st, found := r.st, r.found
	if found.back == nil || !errors.Is(err, ErrNoUsableVersion) {
		return err
	}
	l := &looker{core: st.core, line: st.line}
	return fmt.Errorf("%w; %s, and no other version stands for that; there is: %s; to go back to one of these run craft restore %s --version N",
		err, found.back.describe(), catalog.Choices(l.choices(&found, found.back.had, found.told, nil)), st.dir())
}
