package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/craft-go/craft/aft/comm"
	"github.com/craft-go/craft/internal/osstring"
	"github.com/craft-go/craft/internal/vfs"
	"github.com/craft-go/craft/storage"
	"github.com/craft-go/craft/storage/internal/exchange"
	"github.com/craft-go/craft/storage/internal/flush"
	"github.com/craft-go/craft/storage/internal/heal"
	"github.com/craft-go/craft/storage/internal/remove"
	"github.com/craft-go/craft/storage/manifest"
	"github.com/craft-go/craft/storage/nodelocal"
)

// Open builds the levels that the policy has. It is collective: all ranks of the
// communicator return an error, or none does. Close must be called.
//
// Without a level below the home the home is the only place there is: nothing is sent,
// started or noted then.
func Open(ctx context.Context, c Config) (*Placement, error) {
	complete(&c)
	p := &Placement{config: c, planner: &planner{policy: c.Policy, instead: c.Due}, schemes: make(schemes)}
	if !c.Policy.BelowHome() {
		p.nodes, p.manifest = &nodes{me: c.Comm.Rank()}, manifest.NewWriter(manifest.Manifest{}, true)
		p.know(c.Dir)
		return p, nil
	}
	if err := p.openNodes(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// know makes what knows, and does nothing; homeDir is the checkpoint's directory, of rank 0.
func (p *Placement) know(homeDir string) {
	p.register = newRegister(p.nodes, p.config.Parity)
	p.register.carried = p.config.Carried != ""
	p.absence = &Absence{nodes: p.nodes, register: p.register, manifest: p.manifest, fs: p.config.FS, homeDir: homeDir}
}

// openNodes finds out who is where, and begins to serve the others.
func (p *Placement) openNodes(ctx context.Context) (err error) {
	if p.manifest, err = readManifest(ctx, &p.config); err != nil {
		return err
	}
	memory, err := openMemory(p.config, p.manifest.Last().ID)
	if err != nil {
		return err
	}
	p.forgetting = &forgetting{memory: memory}
	own, problem := p.openNode(ctx)
	defer func() {
		if err != nil && p.local != nil {
			p.local.Leave()
		}
	}()
	reports, err := p.shareNodes(ctx, own, problem)
	if err != nil {
		return err
	}
	memory.Share(sharers(reports, p.config.Comm.Rank()))
	home, _ := p.config.Home.(storage.MetadataStore)
	p.manifest.Begin(manifest.Job{Checkpoint: p.config.Name, Policy: p.config.Policy.String(), Nodes: p.nodes.list, Home: home})
	p.know(string(reports[0].Home))
	if p.nodes.root() {
		p.absence.noteUnused(reports, p.config.Log)
	}
	dup, err := p.config.Comm.Dup(ctx) // only the exchange uses it
	if err != nil {
		return err
	}
	if err := p.serve(context.WithoutCancel(ctx), dup); err != nil {
		return errors.Join(err, p.close(ctx))
	}
	return nil
}

// shareNodes tells all ranks of all nodes, and numbers them. That a place was made on another
// machine is told like the rest: if that is one of the job's there is more to say about it.
func (p *Placement) shareNodes(ctx context.Context, own nodeReport, problem error) (all []nodeReport, err error) {
	var copied error
	if errors.Is(problem, nodelocal.ErrCopied) {
		copied, problem, own.Copied = problem, nil, problem.Error()
	}
	if err := comm.Barrier(ctx, p.config.Comm); err != nil { // two may sign a directory at the same time
		return nil, err
	}
	if p.local != nil && p.config.Carried == "" {
		owner, _ := nodelocal.ReadOwner(p.config.FS, p.local.Dir()) // without room there is none
		own.Signer = owner.Identity
	}
	if all, err = share(ctx, p.config.Comm, "its node", own, problem); err != nil {
		return nil, err
	}
	if p.nodes, err = numberNodes(p.config.Comm.Rank(), filepath.Base(p.local.Dir()), p.config.Comm.Nodes(), all); err != nil || copied != nil {
		return nil, cmp.Or(err, copied)
	}
	if r := slices.IndexFunc(all, func(r nodeReport) bool { return r.Copied != "" }); r >= 0 {
		return nil, &RankError{Rank: comm.Rank(r), Text: all[r].Copied}
	}
	return all, nil
}

// openNode makes this rank's place on its node. A node without room is no
// reason to give up: its parts go to the home.
//
// Where the node holds versions of this home under an identity that the home does not
// tell, the program may yet be ended because of them: the place is made when it goes on.
func (p *Placement) openNode(ctx context.Context) (report nodeReport, err error) {
	p.local, err = nodelocal.New(nodelocal.Config{
		Root: p.config.Root, Name: p.config.Name, Home: p.config.Dir, ID: p.manifest.Last().ID, Sync: p.config.Sync, FS: p.config.FS, Self: p.config.Self, Job: p.config.Job, Patience: p.config.Patience,
	})
	if err != nil {
		return report, err
	}
	var earlier []string
	if !p.manifest.Stored() {
		earlier = p.local.Earlier()
	}
	carried := p.config.Carried != ""
	if len(earlier) == 0 && !carried {
		err = p.local.Prepare(ctx, nil)
	}
	root := filepath.Dir(p.local.Dir())
	report = nodeReport{
		Self: cmp.Or(p.config.Self, nodelocal.ThisIdentity()), Dir: osstring.String(root), Unseen: carried, Rack: p.config.Rack, Earlier: osstring.From(earlier),
	}
	if !carried {
		if info, err := p.config.FS.Stat(root); err == nil {
			report.File = vfs.IDOf(info)
		}
	}
	if p.config.Comm.Rank() == 0 {
		report.Home = osstring.String(p.config.Dir)
	}
	switch {
	case err == nil || errors.Is(err, nodelocal.ErrNoSpace):
		return report, nil
	case errors.Is(err, storage.ErrLocked):
		return report, fmt.Errorf("rank %d on host %s: %w", p.config.Comm.Rank(), report.Self.Host, err)
	}
	return report, fmt.Errorf("%w: rank %d on host %s cannot store in %s: %w; CRAFT_NODE_PATH has to name a directory on the node that this user can write to, or can make",
		ErrConfig, p.config.Comm.Rank(), report.Self.Host, p.local.Dir(), err)
}

// serve begins to do things for the other ranks, and makes all that works in the background.
func (p *Placement) serve(ctx context.Context, dup *comm.Comm) error {
	ctx, p.end.cancel = context.WithCancel(ctx)
	work, idle := context.WithCancel(ctx)
	p.end.idle = idle
	cancel := func(id storage.ID) {
		p.flusher.Cancel(id)
		p.healer.Cancel(id)
	}
	memory := p.forgetting.memory
	p.commands = &commands{nodes: p.nodes, homeDir: p.absence.homeDir, late: p.config.Late, reports: make(map[report]int)}
	troubles := &troubles{log: p.config.Log, nodes: p.nodes, root: p.config.Root, leftover: make([]alarm, len(p.nodes.list))}
	p.remover = remove.New(
		&removing{local: p.local, nodes: p.nodes, register: p.register, schemes: p.schemes, commands: p.commands, troubles: troubles, cancel: cancel},
		remove.Options{Ranks: p.nodes.ranks(), Nodes: len(p.nodes.list), Log: p.config.Log},
	)
	served := &handler{home: p.config.Home, local: p.local, memory: memory, forget: func(id storage.ID) { p.forgetting.forget(id) }, overtake: func(id storage.ID) { p.forgetting.overtake(id) }, commands: p.commands, remover: p.remover, cancel: cancel, schemes: p.schemes, ready: make(chan struct{}), idle: &p.idle}
	p.service = exchange.New(ctx, dup, served, p.config.Exchange)
	p.commands.service = p.service

	p.surveyor = &surveyor{name: p.config.Name, comm: p.config.Comm, nodes: p.nodes, local: p.local, memory: memory, home: p.config.Home, log: p.config.Log, carried: p.register.carried}
	p.finder = &finder{name: p.config.Name, home: p.config.Home, local: p.local, memory: memory, service: p.service, nodes: p.nodes, register: p.register, log: p.config.Log}
	p.gatherer = &gatherer{comm: p.config.Comm, local: p.local, finder: p.finder, register: p.register, log: p.config.Log}
	flushing := &flushing{home: p.config.Home, finder: p.finder, register: p.register, commands: p.commands, mayWrite: p.config.MayWrite, flushed: p.config.Flushed}
	p.flusher = flush.New(flushing, flush.Options{Limit: p.config.FlushLimit, Around: p.service.Around, Log: p.config.Log})
	p.flusher.Start(work)
	healing := &healing{local: p.local, finder: p.finder, register: p.register, schemes: p.schemes, commands: p.commands, deleted: p.remover.Deleted, work: work}
	p.healer = heal.New(work, healing, heal.Options{Around: p.service.Around, Log: p.config.Log})
	p.commands.all = map[string]func(storage.ID){verbFlushed: flushing.allFlushed, verbHealed: healing.allHealed}
	f := p.forgetting
	f.nodes, f.register, f.commands, f.cancel = p.nodes, p.register, p.commands, p.healer.Cancel
	p.creator = &creator{
		home: p.config.Home, local: p.local, planner: p.planner, schemes: p.schemes, register: p.register, commands: p.commands, troubles: troubles, around: p.service.Around,
	}
	builder := schemeBuilder{
		nodes: p.nodes, setSize: p.config.SetSize, parities: p.config.Parity, copies: p.config.MemoryCopies, newest: p.forgetting.known, service: p.service, local: p.local, memory: memory,
		unwanted: p.unwanted, warned: warningsOf(p.config), log: p.config.Log,
	}
	err := builder.build(p.schemes, p.config.Policy)
	close(served.ready)
	return err
}

// unwanted is an error if this rank was healing a version that is deleted.
func (p *Placement) unwanted(id storage.ID) error {
	if p.remover.Deleted(id) || p.healer.Canceled(id) { // rank 0 has forgotten the rest
		return storage.ErrCalledOff
	}
	return nil
}

// ending is how a placement with nodes ends.
type ending struct {
	cancel  context.CancelFunc // all
	idle    context.CancelFunc // what goes on in the background: before
	once    sync.Once
	failure error
}

func (p *Placement) close(ctx context.Context) error {
	p.end.once.Do(func() {
		p.end.idle()
		p.flusher.Wait()
		// What heals must have told the others that it gives no more, or they wait
		// for it.
		p.healer.Wait()
		// The others may still be storing here.
		p.end.failure = errors.Join(p.schemes.close(ctx), p.service.Close(ctx))
		p.end.cancel()
		p.local.Leave()
	})
	return p.end.failure
}
