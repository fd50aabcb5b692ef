package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
)

// A computation that is taken back to one of its versions has a branch from there on, with the
// identity of the way back. Only what is of that branch, and the version itself, is gone on from
// until somebody takes another way back, or begins anew: what was newer is passed over.

// WayBack is what a restart goes by after a way back was taken.
type WayBack struct {
	Branch storage.BranchID
	To     storage.ID
	Above  uint64 // as storage.WayBack.Above has it

	attempts map[container.AttemptID]storage.BranchID // as far as they are known
}

// NewWayBack is that of a note, with what headers and records say of the branches of attempts.
func NewWayBack(note *storage.WayBack, complete []Candidate, runs []storage.Record) WayBack {
	w := WayBack{Branch: note.Branch, To: note.Target(), Above: note.Above, attempts: make(map[container.AttemptID]storage.BranchID)}
	for _, r := range runs {
		if attempt, ok := storage.ParseAttempt(r.Attempt); ok {
			w.attempts[attempt] = r.Branch
		}
	}
	for _, c := range complete {
		if c.Known {
			w.attempts[c.ID.Attempt] = c.Branch
		}
	}
	return w
}

// Has reports whether a version is of the branch. So is one with a number that nobody can have
// used before, of an attempt of which nothing is known.
func (w WayBack) Has(id storage.ID) bool {
	branch, known := w.attempts[id.Attempt]
	if !known {
		return w.Above > 0 && id.Version > w.Above
	}
	return branch == w.Branch
}

// Follows reports whether a version may be gone on from: it is of the branch, or where that begins.
func (w WayBack) Follows(id storage.ID) bool { return id == w.To || w.Has(id) }

// InEffect reports whether the way back still decides what is gone on from. It does not if
// a version was written since that is not of its branch: a computation that was begun anew, or a
// program that did not know of it, has gone on without it. anew is the record of a run in the first
// stage of a computation that was begun anew; nil: there is none.
func (w WayBack) InEffect(complete []Candidate, t Told, anew *storage.Record) bool {
	if w.Above == 0 { // whoever asked for it has seen what there is
		return true
	}
	var newest uint64 // of the branch
	for _, c := range complete {
		if w.Has(c.ID) {
			newest = max(newest, c.ID.Version)
		}
	}
	since := func(id storage.ID) bool { return id.Version > max(w.Above, newest) && !w.Has(id) }
	if slices.ContainsFunc(complete, func(c Candidate) bool { return since(c.ID) }) ||
		slices.ContainsFunc(t.Claims, func(one Claim) bool { return since(one.ID) }) {
		return false
	}
	return anew == nil || lastOf(t.Runs, func(r storage.Record) bool { return r.Branch == w.Branch }) >
		lastOf(t.Runs, func(r storage.Record) bool { return r.Attempt == anew.Attempt })
}

func lastOf(runs []storage.Record, is func(storage.Record) bool) int {
	for i, r := range slices.Backward(runs) {
		if is(r) {
			return i
		}
	}
	return -1
}

// Keep are, of complete versions and claims, those that count.
func (w WayBack) Keep(complete []Candidate, claims []Claim) ([]Candidate, []Claim) {
	return slices.DeleteFunc(slices.Clone(complete), func(c Candidate) bool { return !w.Follows(c.ID) }),
		slices.DeleteFunc(slices.Clone(claims), func(one Claim) bool { return !w.Follows(one.ID) })
}

// PassedOver gives the branches that a way back to a version passes over, the last one first,
// if before are those of earlier ones: of what does not lead to the version the newest complete one names
// what leads to it. Branches of which nothing is stored are left out.
func PassedOver(complete []Candidate, o Origins, to storage.ID, before []storage.PassedBranch) (all []storage.PassedBranch) {
	line := o.Line(to)
	left := slices.DeleteFunc(slices.Clone(complete), func(c Candidate) bool { return c.ID == to || !line.LeavesOut(c.ID) })
	if len(left) > 0 {
		newest := left[0].ID
		all = append(all, storage.PassedBranch{Name: fmt.Sprintf("to-%d", newest.Version), Newest: newest.String()})
	}
	for _, b := range before {
		same := func(one storage.PassedBranch) bool { return one.Newest == b.Newest }
		stored := slices.ContainsFunc(complete, func(c Candidate) bool { return onBranch(o, b, c.ID) })
		if stored && !slices.ContainsFunc(all, same) {
			all = append(all, b)
		}
	}
	return all
}

func onBranch(o Origins, b storage.PassedBranch, id storage.ID) bool {
	newest, ok := storage.ParseID(b.Newest)
	return ok && (id == newest || o.Line(newest).Passes(id.Attempt) && !o.Line(newest).LeavesOut(id))
}

// NameOfBranch is that of the branch that was passed over with a version; "": none was.
func NameOfBranch(o Origins, passed []storage.PassedBranch, id storage.ID) string {
	for _, b := range passed {
		if onBranch(o, b, id) {
			return b.Name
		}
	}
	return ""
}

// Choice is a version that somebody may go back to.
type Choice struct {
	ID        storage.ID
	Complete  bool
	Iteration int64 // or container.NoIteration
	Labels    []string
	// Other: it does not lead to what would be gone on from.
	Other bool
}

func (c Choice) String() string {
	var about []string
	if c.Iteration != container.NoIteration {
		about = append(about, fmt.Sprintf("iteration %d", c.Iteration))
	}
	for _, label := range c.Labels {
		about = append(about, fmt.Sprintf("milestone %q", label))
	}
	if !c.Complete {
		about = append(about, "not complete")
	}
	if c.Other {
		about = append(about, "other branch")
	}
	if about == nil {
		return c.ID.String()
	}
	return fmt.Sprintf("%v (%s)", c.ID, strings.Join(about, ", "))
}

// GoesOnFrom is the version that would be gone on from, of complete ones newest first, if nothing
// of it is damaged; zero: there is none. back is the way back that is in effect; nil: none is.
func GoesOnFrom(complete []Candidate, t Told, back *WayBack) Candidate {
	complete = slices.Clone(complete)
	var own *container.LineageID
	if back != nil {
		complete, t.Claims = back.Keep(complete, t.Claims)
	} else {
		own = Anew(t, complete)
	}
	same, _, _ := NewestLineage(complete, nil, t, own)
	ordered, _ := OthersLast(t.Origins(complete), same, GoneOnFrom(t.Runs, idsOf(complete)))
	if len(ordered) == 0 {
		return Candidate{}
	}
	return ordered[0]
}

func idsOf(list []Candidate) (all []storage.ID) {
	for _, c := range list {
		all = append(all, c.ID)
	}
	return all
}

// ChoicesOf are those among complete versions, newest first, and incomplete ones. back is as in GoesOnFrom.
func ChoicesOf(complete []Candidate, partial []storage.ID, t Told, marks []storage.Mark, back *WayBack) (all []Choice) {
	head := GoesOnFrom(complete, t, back)
	line := t.Origins(complete).Line(head.ID)
	for _, c := range complete {
		one := Choice{ID: c.ID, Complete: true, Iteration: container.NoIteration, Labels: Labels(marks, c.ID)}
		if c.Known {
			one.Iteration = c.Iteration
		}
		one.Other = !head.ID.IsZero() && (line.LeavesOut(c.ID) || ofAnotherLineage(c, head))
		all = append(all, one)
	}
	for _, id := range partial {
		all = append(all, Choice{ID: id, Iteration: container.NoIteration, Labels: Labels(marks, id)})
	}
	return all
}

// ErrTarget is matched by errors of Resolve.
var ErrTarget = errors.New("no version to go back to")

// Resolve finds the version that a target names. Of several that it fits the newest of what leads to
// the version that would be gone on from is meant; if it fits none of these, and several others,
// that is an error which names them.
func Resolve(t storage.Target, choices []Choice) (storage.ID, error) {
	fits := func(c Choice) bool {
		switch {
		case t.Iteration != nil:
			return c.Iteration == *t.Iteration
		case t.Milestone != "":
			return slices.Contains(c.Labels, t.Milestone)
		case !t.ID.IsZero():
			return c.ID == t.ID
		}
		return c.ID.Version == t.Version
	}
	var own, others, partial []Choice
	for _, c := range choices {
		switch {
		case !fits(c):
		case !c.Complete:
			partial = append(partial, c)
		case c.Other:
			others = append(others, c)
		default:
			own = append(own, c)
		}
	}
	byVersion := func(a, b Choice) int { return a.ID.Compare(b.ID) }
	switch {
	case len(own) > 0:
		return slices.MaxFunc(own, byVersion).ID, nil
	case len(others) == 1:
		return others[0].ID, nil
	case len(others) > 1:
		return storage.ID{}, fmt.Errorf("%w: %v fits several, of different branches or computations: %s; give the name of one", ErrTarget, t, Choices(others))
	case len(partial) > 0:
		return storage.ID{}, fmt.Errorf("%w: %v is not complete; there is: %s", ErrTarget, t, Choices(choices))
	}
	return storage.ID{}, fmt.Errorf("%w: %v is not there; there is: %s", ErrTarget, t, Choices(choices))
}

// mostChoices is how many are listed.
const mostChoices = 20

// Choices lists them for people, the newest first.
func Choices(choices []Choice) string {
	if len(choices) == 0 {
		return "nothing"
	}
	list := slices.SortedFunc(slices.Values(choices), func(a, b Choice) int { return b.ID.Compare(a.ID) })
	var texts []string
	for _, c := range list[:min(len(list), mostChoices)] {
		texts = append(texts, c.String())
	}
	if more := len(list) - mostChoices; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d older ones", more))
	}
	return strings.Join(texts, ", ")
}

// Labels are those of the marks of a version. One whose label cannot be read has "?".
func Labels(marks []storage.Mark, id storage.ID) (labels []string) {
	for _, m := range marks {
		label := m.Label
		if label == "" {
			label = "?"
		}
		if m.ID == id && !slices.Contains(labels, label) {
			labels = append(labels, label)
		}
	}
	return labels
}

// WithoutOldMilestones leaves out, of candidates newest first, the marked ones that would not be
// there any more without their marks: those with nothing unmarked behind them. They are no
// fall-back for what is newer, and is lost if the first one is older than something that is told of;
// own is where a way back leads to, which counts as unmarked.
func WithoutOldMilestones(candidates []Candidate, marks []storage.Mark, own storage.ID, lost bool) []Candidate {
	last := 0 // how many stay
	for i, c := range candidates {
		marked := c.ID != own && slices.ContainsFunc(marks, func(m storage.Mark) bool { return m.ID == c.ID })
		if !marked || i == 0 && !lost {
			last = i + 1
		}
	}
	return candidates[:last]
}

// Stale are the marks beyond the newest n versions that the program has marked.
func Stale(marks []storage.Mark, n int) (stale []storage.Mark) {
	var newest []storage.ID
	for _, m := range slices.SortedFunc(slices.Values(marks), func(a, b storage.Mark) int { return b.ID.Compare(a.ID) }) {
		if m.ByHand {
			continue
		}
		if !slices.Contains(newest, m.ID) {
			newest = append(newest, m.ID)
		}
		if len(newest) > n {
			stale = append(stale, m)
		}
	}
	return stale
}
