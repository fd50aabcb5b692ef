package checkpoint

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/craft-go/craft/internal/env"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
)

// Strictness is at which starts of a job RestartIfNeeded returns ErrStrict.
type Strictness string

const (
	// NotStrict: at none.
	NotStrict Strictness = "0"
	// Strict: where it would only warn that a newer version is not as it should be.
	Strict Strictness = "1"

	// All but one of these reasons, or several of them.

	AllowAbsent  Strictness = "allow-absent"  // a version that something tells of is gone or has lost parts
	AllowUnclear Strictness = "allow-unclear" // a newer version has lost parts, or its write was interrupted
	AllowUnseen  Strictness = "allow-unseen"  // there may be newer versions on nodes that are not looked at
	AllowBranch  Strictness = "allow-branch"  // complete versions that the newest one does not come from, or of a run that is not known
	AllowLineage Strictness = "allow-lineage" // the last run began anew and has no version
	AllowDamaged Strictness = "allow-damaged" // the newest version is damaged, or one that an earlier run has set aside
)

var allowances = []Strictness{AllowAbsent, AllowUnclear, AllowUnseen, AllowBranch, AllowLineage, AllowDamaged}

// joined is such as "allow-absent,allow-damaged".
func joined(list []Strictness) Strictness {
	return Strictness(join(list, ",", func(s Strictness) string { return string(s) }))
}

type strictness struct {
	on    bool
	allow []Strictness
}

func (c config) strictness() (s strictness, err error) {
	switch c.Strict {
	case "", NotStrict, "false":
		return s, nil
	case Strict, "true":
		return strictness{on: true}, nil
	}
	s.on = true
	for field := range strings.SplitSeq(string(c.Strict), ",") {
		allow := Strictness(strings.TrimSpace(field))
		if !slices.Contains(allowances, allow) {
			return s, env.Invalid("CRAFT_STRICT", string(c.Strict))
		}
		s.allow = append(s.allow, allow)
	}
	return s, nil
}

// reason is why a strict start does not go on, and what lets it.
type reason struct {
	allow Strictness
	text  string
}

// strict returns ErrStrict, on all ranks, if this is the start of a job that is to be
// strict and something newer than what would be restored is not there as it should be.
// No value has changed by then, and no file of a version.
func (st *starting) strict(ctx context.Context, found survey) error {
	s, _ := st.opt.strictness() // validated, and the same on all ranks
	repairs, _ := st.comm.Session().Recovered()
	on := s.on && repairs == 0
	st.line.attempt.strict = on && !slices.Contains(s.allow, AllowDamaged)
	if !on {
		return nil
	}
	var reasons []reason
	if st.root() && !(found.Back != nil && found.Back.Initial) { // whoever goes back accepts what is passed over
		reasons = st.reasons(found)
	}
	if st.line.attempt.strict && len(found.Candidates) > 0 {
		switch v, err := st.tryRead(ctx, found.Candidates[0]); v {
		case failed:
			return err
		case damaged:
			reasons = append(reasons, reason{AllowDamaged, err.Error()})
		}
	}
	var refusal error
	if st.root() {
		if refusal = st.mayWrite(); refusal == nil { // reading may have taken long
			refusal = st.opt.refuse(reasons...)
		}
	}
	_, err := st.agree(ctx, refusal)
	return err
}

// reasons are, on rank 0, those that a look at the storage gives.
func (st *starting) reasons(found survey) (out []reason) {
	add := func(allow Strictness, text string) {
		if text != "" {
			out = append(out, reason{allow, text})
		}
	}
	add(AllowAbsent, found.Lost)
	for _, v := range found.versions {
		if v.Complete() || v.ID.Version < newestOf(found.Candidates) || v.elsewhere {
			continue
		}
		text := fmt.Sprintf("version %d: %s", v.ID.Version, st.placement.Absence().Missing(v.ID))
		switch v.status {
		case catalog.Lost:
			add(AllowAbsent, text)
		case catalog.Unclear:
			add(AllowUnclear, text)
		}
	}
	add(AllowUnseen, found.unseen)
	add(AllowUnseen, st.placement.Absence().Unused())
	add(AllowBranch, found.branch)
	add(AllowBranch, found.Unannounced)
	add(AllowDamaged, found.leftDamaged)
	add(AllowLineage, found.resumed)
	return out
}

// refuse names the reasons that are not allowed and what allows them; nil if there are
// none.
func (c config) refuse(reasons ...reason) error {
	s, _ := c.strictness()
	var texts []string
	accept := slices.Clone(s.allow)
	for _, r := range reasons {
		if slices.Contains(s.allow, r.allow) {
			continue
		}
		texts = append(texts, strings.TrimPrefix(string(r.allow), "allow-")+": "+r.text)
		if !slices.Contains(accept, r.allow) {
			accept = append(accept, r.allow)
		}
	}
	if texts == nil {
		return nil
	}
	return fmt.Errorf("%w: %s; to go on all the same set CRAFT_STRICT=%s", ErrStrict, strings.Join(texts, "; "), joined(accept))
}

// tryRead verifies a version, and changes nothing.
func (st *starting) tryRead(ctx context.Context, c catalog.Candidate) (verdict, error) {
	r := newRestoration(st.reg, c, nil)
	defer r.close()
	return r.together(ctx, r.open, r.verify, r.sameVersion)
}

// verify reads every byte of this rank's share of the parts.
func (r *restoration) verify(ctx context.Context) error {
	for p := int(r.reg.comm.Rank()); p < r.from.Ranks; p += r.reg.comm.Size() {
		if _, err := r.reg.store.Verify(ctx, r.reg.name, r.from.ID, storage.Part{Rank: p, Size: r.from.Ranks}); err != nil {
			return err
		}
	}
	return nil
}

// sameVersion makes sure that the ranks have opened parts of one version.
func (r *restoration) sameVersion(ctx context.Context) error {
	differ, _, err := r.reg.compare(ctx, []int64{versionDigest(r.home.Header())})
	if err == nil && differ[0] {
		err = &container.DamageError{Reason: "the parts are not of one version"}
	}
	return err
}

// resumed describes the last run if that began anew and has no version: then what it
// was not to read is read after all; "" if that is not so.
func (l *looker) resumed(found survey) string {
	runs := found.told.Runs
	if l.line.parent != nil {
		return l.resumedStage(found)
	}
	if len(runs) == 0 {
		return ""
	}
	last := runs[len(runs)-1]
	const again = "; to begin once more without what is stored set CRAFT_READ_CP_ON_RESTART=0"
	if anew, ok := storage.ParseLineage(last.Anew); found.anew != nil && ok && anew != *found.anew {
		return fmt.Sprintf("the last run, of %v (attempt %s), began anew and nothing of it is known to be stored: what is nested in %q is of the computation before it%s",
			last.Started, last.Attempt, l.name, again)
	}
	if len(found.Candidates) == 0 {
		return ""
	}
	newest := found.Candidates[0]
	lineage, ok := storage.ParseLineage(last.Lineage)
	since := newest.ID.Version > last.LastVersion // a run that has left no record has stored it
	if !ok || since || newest.Lineage == nil || *newest.Lineage == lineage || last.LastWritten > 0 || last.VersionsWritten > 0 {
		return ""
	}
	return fmt.Sprintf("the last run, of %v (attempt %s), began anew and has no complete version: version %d is of the computation before it%s",
		last.Started, last.Attempt, newest.ID.Version, again)
}

// resumedStage does so for a nested checkpoint. What belongs to a version of an ancestor is
// of the same computation as that.
func (l *looker) resumedStage(found survey) string {
	top := l.line.outermost()
	anew := top.attempt.anew
	if anew == (container.LineageID{}) || l.line.stageIsNamed() || len(found.Candidates) == 0 {
		return ""
	}
	newest := found.Candidates[0]
	if newest.Lineage == nil || *newest.Lineage == anew {
		return ""
	}
	return fmt.Sprintf("a run began anew, and %q has no complete version since: version %d is of the computation before it", top.name, newest.ID.Version)
}
