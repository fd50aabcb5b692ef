package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/erasure"
	"github.com/craft-go/craft/storage/filestore"
	"github.com/craft-go/craft/storage/offline"
)

// partsAtOnce is how many files are read at the same time. Each is read by as
// many goroutines as there are processors; the rest hides the file system's
// latency when files are small.
func partsAtOnce() int { return min(4, 2*runtime.GOMAXPROCS(0)) }

// severalAtOnce reads files, and returns the error of the context.
func severalAtOnce(ctx context.Context, files int, read func(i int)) error {
	var g errgroup.Group
	g.SetLimit(partsAtOnce())
	for i := range files {
		g.Go(func() error {
			read(i)
			return ctx.Err()
		})
	}
	return g.Wait()
}

// checkedPart is what is known of a part after it was read.
type checkedPart struct {
	part storage.Part
	path string
	// reader is closed: only its index is used; nil if it could not be opened.
	reader *container.Reader
	err    error
}

// verify reads a version. The error is that of the context.
func (t *target) verify(ctx context.Context) (out verifiedVersion, vanished bool, err error) {
	v := &t.v
	out = verifiedVersion{
		Checkpoint: t.c.Name, Version: v.ID.Version, Attempt: attemptHex(v.ID.Attempt), Path: osstring.String(v.Path),
		Ranks: v.Size(), Parts: len(v.Parts), Bytes: v.Bytes, Read: t.read, Findings: []finding{},
	}
	if v.Header != nil {
		out.Iteration = iteration(*v.Header)
	}
	var parts []checkedPart
	if t.read {
		if parts, err = t.readParts(ctx); err != nil {
			return out, false, err
		}
	}
	for _, p := range parts {
		if p.err != nil {
			out.Findings = append(out.Findings, t.findingOf(ctx, p))
			if whole := wholeOnNode(ctx, t.c, v.ID, p); whole != "" {
				last := &out.Findings[len(out.Findings)-1]
				last.Reason += "; " + whole + " is whole: a start with CRAFT_LEVELS reads that"
			}
		}
	}
	if len(out.Findings) == 0 && v.Complete() && t.part < 0 {
		out.Findings = append(out.Findings, inconsistencies(parts)...)
	}
	out.Findings = append(out.Findings, slices.Concat(t.missing(), t.away(), t.astray())...)
	if len(out.Findings) > 0 && len(v.Away) == 0 && !t.c.Exists(v.ID) {
		return out, true, nil
	}
	out.Verdict = t.verdict(out.Findings)
	return out, false, nil
}

// readParts reads all files of the version, or the wanted one.
func (t *target) readParts(ctx context.Context) ([]checkedPart, error) {
	var parts []checkedPart
	for _, part := range t.v.Parts {
		if t.part < 0 || part.Rank == t.part {
			parts = append(parts, checkedPart{part: part, path: t.c.PartPath(ctx, t.v.ID, part)})
		}
	}
	return parts, severalAtOnce(ctx, len(parts), func(i int) { parts[i].read(ctx, t.c, t.v.ID) })
}

func (p *checkedPart) read(ctx context.Context, c *offline.Checkpoint, id storage.ID) {
	f, err := c.Files.Open(ctx, c.Name, id, p.part)
	if err != nil {
		p.err = err
		return
	}
	p.reader = f.Reader
	if p.err = f.Reader.Verify(ctx); p.err == nil {
		p.err = f.VerifyReferences(ctx)
	}
	if err := f.Close(); p.err == nil {
		p.err = err
	}
}

// findingOf says what is wrong with a part, or with what it refers to.
func (t *target) findingOf(ctx context.Context, p checkedPart) finding {
	base := func(version uint64) string {
		return t.c.PartPath(ctx, storage.ID{Version: version, Attempt: t.v.ID.Attempt}, p.part)
	}
	f := findingOf(p.path, p.err)
	var reference *container.ReferenceError
	if errors.As(p.err, &reference) {
		f.Reason = fmt.Sprintf("chunks are in %s: %s", base(reference.Version), f.Reason)
		if errors.Is(p.err, storage.ErrNotFound) && !errors.Is(p.err, offline.ErrElsewhere) {
			f.Kind, f.Reason = verdictDamaged, fmt.Sprintf("chunks are in %s, which is missing", base(reference.Version))
		}
		return f
	}
	var damage *container.DamageError
	if errors.As(p.err, &damage) && damage.Version != 0 {
		f.File = osstring.String(base(damage.Version))
		f.Reason = fmt.Sprintf("%s (version %d refers to it)", f.Reason, t.v.ID.Version)
	}
	return f
}

// findingOf says what is wrong with a file.
func findingOf(path string, err error) finding {
	f := finding{Kind: verdictUnreadable, File: osstring.String(path), Reason: err.Error()}
	var part *storage.PartError
	if errors.As(err, &part) {
		f.Reason = part.Err.Error()
	}
	var damage *container.DamageError
	var parity *erasure.DamageError
	switch {
	case errors.As(err, &parity):
		f.Kind, f.Offset, f.Reason = verdictDamaged, &parity.Offset, parity.Reason
	case errors.As(err, &damage):
		f.Kind, f.Key, f.Offset, f.Reason = verdictDamaged, damage.Section, &damage.Offset, damage.Reason
	case errors.Is(err, erasure.ErrTooManyLost) && errors.Is(err, storage.ErrNotFound):
		// Files that were listed are not there any more: a job deletes the version.
	case errors.Is(err, storage.ErrDamaged):
		f.Kind = verdictDamaged
	case errors.Is(err, container.ErrUnsupported):
		f.Kind = verdictUnsupported
	}
	return f
}

// damaged is what is found of a file that is not as it should be.
func damaged(path, format string, args ...any) finding {
	return finding{Kind: verdictDamaged, File: osstring.String(path), Reason: fmt.Sprintf(format, args...)}
}

// wholeOnNode looks on the nodes for the bytes of a part that was found to be bad, because
// a restart goes on to the next place that has them. It says where they are, whole with all
// that they refer to; "" if no node that can be read from here has them as such.
func wholeOnNode(ctx context.Context, c *offline.Checkpoint, id storage.ID, bad checkedPart) string {
	for _, kind := range []storage.Kind{storage.KindPart, storage.KindCopy} {
		key := storage.ObjectKey{ID: id, Kind: kind, Part: bad.part}
		for _, d := range c.Store.Nodes {
			path := filepath.Join(string(d.Dir), key.Name())
			if _, there := d.Sizes[key]; !there || path == bad.path {
				continue
			}
			store, err := storage.NewStore(d.Store.Of(kind), container.Options{})
			if err == nil {
				_, err = store.Verify(ctx, c.Name, id, bad.part)
			}
			if err == nil {
				return fmt.Sprintf("the %v on host %s (%s)", kind, d.Host, path)
			}
		}
	}
	return ""
}

// astray finds files that no writer leaves beside those of the version.
func (t *target) astray() (out []finding) {
	for _, part := range t.v.Strays {
		out = append(out, damaged(filepath.Join(t.v.Path, part.String()), "its name says that %d ranks wrote the version, the other files say %d: it is not read; remove it", part.Size, t.v.Size()))
	}
	return out
}

// missing finds files that are missing of a version that was complete once, as the note for people
// says; away are others.
func (t *target) missing() []finding {
	v := &t.v
	if v.Complete() || v.Elsewhere || len(v.Away) > 0 || t.c.Latest == nil || t.c.Latest.Directory != v.ID.String() {
		return nil
	}
	ranks, more := v.Missing(1000)
	var out []finding
	for _, r := range ranks {
		part := storage.Part{Rank: r, Size: v.Size()}
		out = append(out, damaged(filepath.Join(v.Path, part.String()), "%s says that the version was complete, but this file is missing", filestore.LatestName))
	}
	if more > 0 {
		out = append(out, damaged(v.Path, "%d more files are missing", more))
	}
	if v.Size() == 0 {
		out = append(out, damaged(v.Path, "%s says that the version was complete, but its files are missing", filestore.LatestName))
	}
	return out
}

// away finds what cannot be read now of an incomplete version.
func (t *target) away() (out []finding) {
	if t.v.Complete() || t.part >= 0 {
		return nil
	}
	for _, why := range t.v.Away {
		out = append(out, finding{Kind: verdictUnreadable, File: osstring.String(t.v.Path), Reason: why})
	}
	return out
}

// verdict is the worst that was found.
func (t *target) verdict(findings []finding) string {
	if kind := worst(findings, ""); kind != "" {
		return kind
	}
	switch {
	case t.v.Complete(), t.part >= 0 && slices.ContainsFunc(t.v.Parts, func(p storage.Part) bool { return p.Rank == t.part }):
	case t.v.Elsewhere:
		return verdictElsewhere
	default:
		return verdictIncomplete
	}
	return verdictOK
}

// worst is the gravest kind of finding; none if there is no finding.
func worst(findings []finding, none string) string {
	for _, kind := range []string{verdictDamaged, verdictUnsupported, verdictUnreadable} {
		if slices.ContainsFunc(findings, func(f finding) bool { return f.Kind == kind }) {
			return kind
		}
	}
	return none
}

// inconsistencies are found where the files of a complete version, in the order of ranks,
// do not belong together.
func inconsistencies(parts []checkedPart) []finding {
	var out []finding
	first := parts[0].reader.Header()
	for _, p := range parts[1:] {
		if what := differ(first, p.reader.Header()); what != "" {
			out = append(out, damaged(p.path, "%s is not that of rank %d: the files are not of one version", what, first.Rank))
		}
	}
	for _, key := range sharedKeys(parts) {
		if reason := key.problem(parts); reason != "" {
			f := damaged(filepath.Dir(parts[0].path), "%s", reason)
			f.Key = key.key
			out = append(out, f)
		}
	}
	return out
}

func differ(a, b container.Header) string {
	switch {
	case a.Lineage != b.Lineage:
		return "its lineage"
	case a.Iteration != b.Iteration:
		return "its iteration"
	case string(a.Fingerprint) != string(b.Fingerprint):
		return "its fingerprint"
	case !slices.Equal(a.Ancestors, b.Ancestors):
		return "what it says of outer checkpoints"
	}
	return ""
}
