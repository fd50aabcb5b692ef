package placement

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/catalog"
	"github.com/craft-go/craft/storage/container"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/internal/flush"
	"github.com/craft-go/craft/storage/internal/heal"
	"github.com/craft-go/craft/storage/internal/remove"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Placement is where the versions of one checkpoint go: over the nodes of a job and its
// home, or to the home alone. Open, Survey and what says so are collective; everything
// else may be called concurrently.
type Placement struct {
	config   Config
	manifest *manifest.Writer
	nodes    *nodes
	register *register
	absence  *Absence
	planner  *planner

	// Without nodes these are nil, but for schemes, of which there are none then.
	local      *nodelocal.Store
	service    *exchange.Service
	commands   *commands
	schemes    schemes
	surveyor   *surveyor
	finder     *finder
	creator    *creator
	gatherer   *gatherer
	healer     *heal.Healer
	flusher    *flush.Flusher
	remover    *remove.Remover
	forgetting *forgetting // and what is in memory
	idle       idleness
	end        ending
}

var _ storage.Driver = (*Placement)(nil)

// OnNodes reports whether versions are kept on nodes; if not there is only the home.
func (p *Placement) OnNodes() bool { return p.local != nil }

// Sweep deletes what killed processes have left half-written on the nodes. It is
// collective: nobody writes there before all have come back from it.
func (p *Placement) Sweep(ctx context.Context) error {
	if !p.OnNodes() {
		return nil
	}
	if p.nodes.leads() {
		if err := p.local.Prepare(ctx, func(storage.Entry) bool { return true }); err != nil {
			p.config.Log.Warn("the storage of the node cannot be cleaned", "directory", p.local.Dir(), "error", err)
		}
	}
	return comm.Barrier(ctx, p.config.Comm)
}

// Survey finds out what is where. It is collective; afterwards all ranks know
// the same. Without nodes rank 0 alone looks, and knows, and returns an error.
func (p *Placement) Survey(ctx context.Context) (err error) {
	var cat *catalog.Catalog
	switch {
	case p.OnNodes():
		cat, err = p.surveyor.survey(ctx)
	case !p.nodes.root():
		return nil
	default:
		cat, err = p.surveyHome(ctx)
	}
	if err == nil {
		p.register.tell(func() { p.register.cat = cat })
	}
	return err
}

// surveyHome is Survey without nodes, on rank 0. No header is needed: nothing is to be
// anywhere else.
func (p *Placement) surveyHome(ctx context.Context) (*catalog.Catalog, error) {
	entries, err := p.config.Home.List(ctx)
	if err != nil {
		return nil, err
	}
	m, doubt, err := readOthersManifest(ctx, p.config.Home)
	if err != nil {
		return nil, err
	}
	p.manifest, p.absence.manifest, p.absence.doubt = m, m, doubt
	var found catalog.Findings
	found.List(entries)
	cat := catalog.New()
	cat.Merge(found, catalog.Home)
	return cat, nil
}

// List implements storage.Driver, with what the last Survey has found: a part is
// there if it can be had from anywhere.
func (p *Placement) List(context.Context) ([]storage.Entry, error) {
	return query(p.register, func(v catalog.View) (out []storage.Entry) {
		for _, id := range v.IDs() {
			out = append(out, v.Entry(id))
		}
		return out
	}), nil
}

// Path implements storage.Driver: where the home has a version, or this node; of one in memory alone no path, but its name.
func (p *Placement) Path(id storage.ID) string {
	in := func(view func(catalog.View) catalog.View) bool {
		return query(p.register, func(v catalog.View) bool { return view(v).Any(id) })
	}
	switch {
	case id.IsZero() || !p.OnNodes() || in(catalog.View.HomeAlone):
		return p.config.Home.Path(id)
	case p.schemes.memoryAlone(p.Plan(id.Version)) && !in(catalog.InFiles):
		return filepath.Join("memory", id.String())
	}
	return p.local.Path(id)
}

// Create implements storage.Driver: the part goes to the node and, as it is
// written, to what protects it there.
func (p *Placement) Create(ctx context.Context, id storage.ID, part storage.Part) (storage.PartWriter, error) {
	if !p.OnNodes() {
		return p.config.Home.Create(ctx, id, part)
	}
	return p.creator.create(ctx, id, part)
}

// Skip tells the others that this rank does not write its part of a version, so
// that they do not wait for it.
func (p *Placement) Skip(ctx context.Context, id storage.ID, part storage.Part) error {
	return p.schemes.skip(ctx, p.Plan(id.Version), id, part)
}

// Open implements storage.Driver: the bytes of a part, wherever they are. Where there are
// nodes the reader is a storage.Redundant: it knows where else they are.
func (p *Placement) Open(ctx context.Context, id storage.ID, part storage.Part) (storage.PartReader, error) {
	if !p.OnNodes() {
		return p.config.Home.Open(ctx, id, part)
	}
	return p.finder.openFirst(ctx, catalog.PartOf(id, part), p.register.sources(id, part))
}

// Plan says how the next version of that number is to be kept: as the policy
// says, and at the levels that an earlier version has missed. All ranks get the
// same.
func (p *Placement) Plan(version uint64) storage.Levels { return p.planner.plan(version) }

// SkipNumbers notes, on all ranks alike, that the numbers after one up to another are not
// used: the next version is made at the levels that they would have been due for.
func (p *Placement) SkipNumbers(from, to uint64) { p.planner.skipNumbers(from, to) }

// Demand lets the next version, of that number, come home, whatever the policy says. All ranks
// do so before anybody asks for its plan.
func Demand(p *Placement, version uint64) { p.planner.demand(version) }

// Possible are the levels that the nodes allow instead of others.
func (p *Placement) Possible(wanted storage.Levels) storage.Levels {
	return p.schemes.allPossible(wanted)
}

// Levels are those below the home that the versions are to have, for retention.
func (p *Placement) Levels() (out []storage.Level) {
	for _, period := range p.config.Policy {
		if level := p.schemes.possible(period.Level); period.Level.Tier != storage.TierHome && !slices.Contains(out, level) {
			out = append(out, level)
		}
	}
	return out
}

// Outcome says what became of this rank's part. It is asked once for each
// version.
func (p *Placement) Outcome(id storage.ID, stored bool) (o Outcome) {
	if !p.OnNodes() {
		return o
	}
	weak := p.planner.takeWeak(id)
	o.Spilled = p.register.wasSent(id)
	if !stored {
		return o
	}
	strong := p.Plan(id.Version).BelowHome() &^ weak
	o.Levels = p.schemes.allPossible(strong)
	if !p.schemes.memoryAlone(p.Plan(id.Version)) {
		o.Levels = o.Levels.With(storage.LevelsOf(storage.Local))
	}
	return o
}

// Settled notes, on all ranks alike, what became of a version.
func (p *Placement) Settled(h container.Header, o Outcome) {
	if !p.OnNodes() {
		return
	}
	id, _ := storage.Identity(h)
	planned := p.Plan(id.Version)
	if o.Spilled {
		p.register.noteSent(id)
	}
	gaveWay := p.forgetting.memory.GaveWay()
	if o.Levels == 0 {
		if gaveWay {
			p.config.Log.Warn("copies that were made again after shrinking have given way to a version that is not complete: the loss of another node could cost the last one that is (more CRAFT_MEM_LIMIT, or fewer CRAFT_MEM_COPIES, help)",
				"version", id.Version)
		}
		p.planner.settled(id.Version, planned, true)
		if o.Void {
			p.forgetting.forget(id)
		}
		if p.nodes.root() { // who deletes what there is of it
			p.register.tell(func() { p.register.cat.SetFacts(id, factsOf(h, planned)) })
		}
		return
	}
	below := planned.BelowHome()
	reached := below.Where(func(l storage.Level) bool { return o.Levels.Include(storage.LevelsOf(p.schemes.possible(l))) })
	p.planner.settled(id.Version, below&^reached, false)
	p.register.settled(id, h.Size, factsOf(h, planned), reached, p.schemes)
	if reached.On(storage.TierMemory) != 0 {
		p.forgetting.overtake(id)
	}
	if planned.AtHome() {
		p.flusher.Add(id)
	}
	if !p.nodes.root() { // where Remove forgets
		for _, old := range p.register.outdated(id, h.Oldest, p.flusher.Pending) {
			p.forget(old)
		}
	}
}

func factsOf(h container.Header, planned storage.Levels) catalog.Facts {
	return catalog.Facts{Plan: planned, Oldest: h.Oldest, Stage: catalog.StageOf(h.Ancestors)}
}

// Kept says how a version is kept, as of the last Survey.
func (p *Placement) Kept(id storage.ID) catalog.Kept { return p.register.kept(id) }

// Reached are the levels that a version has below the home by now: as the last Survey
// found it, or as Heal has made it since, which rank 0 knows.
func (p *Placement) Reached(id storage.ID) storage.Levels { return p.register.reached(id) }

// Absence says what is missing of versions.
func (p *Placement) Absence() *Absence { return p.absence }

// Manifest is that of the nodes, for rank 0.
func (p *Placement) Manifest() *manifest.Writer { return p.manifest }

// TakeOver notes for an attempt that begins what may have been used before: see
// manifest.Writer.
func (p *Placement) TakeOver(ctx context.Context, used storage.ID) error {
	return p.manifest.TakeOver(ctx, used, p.register.storesOf)
}

// HasWitness reports whether a node on which an attempt itself has stored is in this job.
func (p *Placement) HasWitness(attempt container.AttemptID) bool {
	return p.manifest.HasWitness(p.register.storesOf(attempt))
}

// Nodes are those of the job.
func (p *Placement) Nodes() []manifest.Node { return p.nodes.list }

// Gather brings the parts of a version, and of those that it refers to, that are on no
// node, and that parity gives back, to the nodes of the ranks that host them: each rank
// does its share. It is collective; the ranks learn which parts are where now, and the
// caller agrees about the error with the others.
func (p *Placement) Gather(ctx context.Context, id storage.ID) error {
	if !p.OnNodes() {
		return nil
	}
	return p.gatherer.gather(ctx, id)
}

// Heal brings the redundancy of a version, and of those that it refers to, back, in the
// background, if it is not what it should be: every rank gets its part to its own node and
// protects it anew. All ranks call it after Gather, when they have agreed to restore the
// version. Parity that a part is still read through stays: anew it is made of other sets,
// in the place of the old one.
func (p *Placement) Heal(id storage.ID) {
	if !p.OnNodes() {
		return
	}
	p.forgetting.overtake(id)
	work, all := p.register.work(id, p.schemes)
	for _, one := range all {
		p.remover.Healing(one)
	}
	p.healer.Heal(work)
}

// Healed waits until this rank has done what Heal asked it to.
func (p *Placement) Healed() { p.healer.Wait() }

// Flush copies this rank's parts of a version to the home, if they are not there,
// and waits for that. All ranks call it and agree about the error.
func (p *Placement) Flush(ctx context.Context, id storage.ID) error {
	if !p.OnNodes() {
		return nil
	}
	all := query(p.register, func(v catalog.View) []storage.ID { return v.WithBases(id) })
	for _, one := range all {
		p.register.noteSent(one)
	}
	for _, one := range all {
		if err := p.flusher.Await(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// Resume takes up the newest flush that an earlier job has begun, or not got to.
func (p *Placement) Resume() {
	if left := p.register.unfinished(); !left.IsZero() && p.OnNodes() {
		p.flusher.Add(left)
	}
}

// Prepare implements storage.Preparer, for rank 0: it prepares the home and
// deletes what keep does not want from all nodes, but for what is away.
func (p *Placement) Prepare(ctx context.Context, keep func(storage.Entry) bool) error {
	if !p.manifest.Stored() {
		// Before anything is on a node: without its identity nobody finds it again.
		if err := p.manifest.Announce(ctx, manifest.Announcement{}); err != nil {
			return err
		}
	}
	entries, err := p.List(ctx)
	if err != nil {
		return err
	}
	wanted := make(map[storage.ID]bool)
	for _, e := range entries {
		wanted[e.ID] = keep(e) || len(e.Away) > 0
	}
	if home, ok := p.config.Home.(storage.Preparer); ok && p.config.Carried == "" {
		// A part at home may belong to a version that is on the nodes.
		if err := home.Prepare(ctx, func(e storage.Entry) bool { return wanted[e.ID] }); err != nil {
			return err
		}
	}
	for id, want := range wanted {
		if want || !p.OnNodes() {
			continue
		}
		err := errors.Join(p.forgetting.everywhere(ctx, id), p.remover.Drop(ctx, id))
		if ctx.Err() != nil || errors.Is(err, comm.ErrProcFailed) || errors.Is(err, comm.ErrRevoked) {
			return err
		}
		if err != nil { // there are others to restart from
			p.config.Log.Warn("what the nodes have of a version that is not wanted is not deleted", "version", id.Version, "error", err)
		}
	}
	return nil
}

// Remove implements storage.Driver: it deletes a version everywhere. Rank 0
// calls it for all.
func (p *Placement) Remove(ctx context.Context, id storage.ID) error {
	if !p.OnNodes() {
		return p.config.Home.Remove(ctx, id)
	}
	home := p.config.Carried == "" && p.register.mayBeAtHome(id)
	err := errors.Join(p.Drop(ctx, id), p.forgetting.everywhere(ctx, id))
	if home {
		err = errors.Join(err, p.config.Home.Remove(ctx, id))
	}
	if err == nil {
		p.forget(id)
	}
	return err
}

// Drop deletes what the nodes have of a version that the home has, on all of them
// at once. Rank 0 calls it for all.
func (p *Placement) Drop(ctx context.Context, id storage.ID) error {
	if !p.OnNodes() {
		return nil
	}
	p.remover.Cancel(ctx, id)
	return p.remover.Drop(ctx, id)
}

// forget drops all that is known of a version.
func (p *Placement) forget(id storage.ID) {
	p.register.forget(id)
	p.flusher.Forget(id)
	p.commands.forget(id)
	p.healer.Forget(id)
}

// Close ends what goes on in the background and what this rank does for the
// others, once they close theirs too or ctx ends. A flush that is cut off is
// taken up by the next job.
func (p *Placement) Close(ctx context.Context) error {
	if !p.OnNodes() {
		return nil
	}
	if err := p.close(ctx); err != nil {
		return fmt.Errorf("close the levels of checkpoint %q: %w", p.config.Name, err)
	}
	return nil
}
