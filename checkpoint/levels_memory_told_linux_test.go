package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/craft-go/craft/aft"
)

// told is the newest version in memory that any process has known to be complete.
type told struct{ epoch, steps, nodes, ranks, since int }

func (j *memoryJob) told() (newest told, err error) {
	files, err := filepath.Glob(j.file("told", "*"))
	for _, name := range files {
		var t told
		b, problem := os.ReadFile(name)
		if problem == nil {
			_, problem = fmt.Sscan(string(b), &t.epoch, &t.steps, &t.nodes, &t.ranks, &t.since)
		}
		if err = errors.Join(err, problem); t.epoch > newest.epoch || t.epoch == newest.epoch && t.steps > newest.steps {
			newest = t
		}
	}
	return newest, err
}

// noteFailures says which processes have failed before this epoch: the node of each. One whose body was only in the
// way has left what it had.
func (j *memoryJob) noteFailures(z *aft.Zone) error {
	change, changed := z.Change()
	if !changed {
		return nil
	}
	var nodes []any
	for _, lost := range change.Failed {
		if lost.Evicted {
			continue
		}
		nodes = append(nodes, lost.Node)
	}
	return j.say(j.file("failures", change.Epoch), nodes...)
}

// failures are the processes and nodes that have failed since an epoch; not known if none was left to
// say so.
func (j *memoryJob) failures(since, now int) (processes, nodes int, known bool) {
	of := make(map[string]bool)
	for epoch := since + 1; epoch <= now; epoch++ {
		b, err := os.ReadFile(j.file("failures", epoch))
		if err != nil {
			return 0, 0, false
		}
		for _, node := range strings.Fields(string(b)) {
			processes++
			of[node] = true
		}
	}
	return processes, len(of), true
}

// noteFlushed says on rank 0 how far what is on the parallel file system goes.
func (p *memoryRank) noteFlushed() error {
	cp, each := p.cp, 1
	if p.outer != nil {
		cp, each = p.outer, p.job.Inner
	}
	for _, v := range slices.Backward(cp.Stored()) {
		if v.Flushed {
			return p.job.say(p.job.file("flushed", 0), (int(v.Iteration)+1)*each)
		}
	}
	return nil
}

func (j *memoryJob) flushed() (steps int, err error) {
	b, err := os.ReadFile(j.file("flushed", 0))
	if err == nil {
		_, err = fmt.Sscan(string(b), &steps)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return steps, err
}

// survives reports whether the newest version that any process has known to be complete must be there: if
// fewer processes or nodes have failed than have had copies of it, since it was written, or since the one outside has
// had all of its copies.
func (p *memoryRank) survives() (t told, is bool, err error) {
	t, err = p.job.told()
	processes, nodes, known := p.job.failures(t.since, p.z.Epoch())
	is = known && t.steps > 0 && (nodes < min(p.job.Copies, t.nodes) || processes < min(p.job.Copies, max(t.nodes, 2), t.ranks))
	return t, is, err
}

// checkRestart makes sure that what is gone on with is not older than what must be there.
func (p *memoryRank) checkRestart() error {
	t, survives, err := p.survives()
	if err != nil {
		return err
	}
	p.since = t.since
	if p.steps() < t.steps {
		p.since = 0 // what it goes on with may be older
	}
	if survives && p.steps() < t.steps {
		return fmt.Errorf("epoch %d goes on with step %d, %+v was complete", p.z.Epoch(), p.steps(), t)
	}
	flushed, err := p.job.flushed()
	if err == nil && p.steps() < flushed {
		err = fmt.Errorf("epoch %d goes on with step %d, that on the parallel file system is %d", p.z.Epoch(), p.steps(), flushed)
	}
	if err != nil {
		return err
	}
	if p.c.Rank() > 0 || p.z.Epoch() == 0 {
		return nil
	}
	return p.job.say(p.job.file("restart", p.z.Epoch()), p.steps() >= t.steps)
}
