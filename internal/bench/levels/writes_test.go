package levels

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/craft-go/craft/checkpoint"
)

// written is one of the things whose writing is measured.
type written struct {
	what    string
	level   string
	percent float64 // of change; 0: full versions
	plain   []byte  // as many bytes as a version keeps; nil: not compared
	data    *data   // deltas have their own: what others change does not count
	cp      *checkpoint.Checkpoint
	iter    int
}

// writes measures versions, full ones and deltas.
func (j *job) writes(ctx context.Context) error {
	all, err := j.openAll(ctx)
	if err != nil {
		return err
	}
	for round := -j.warm; round < j.rounds; round++ {
		for _, w := range all {
			if err := j.writeOne(ctx, w, round >= 0); err != nil {
				return fmt.Errorf("%s: %w", w.what, err)
			}
		}
	}
	for _, w := range all {
		if err := w.cp.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) openAll(ctx context.Context) (all []*written, err error) {
	kept := func(level string) int64 { return int64(float64(8*len(j.data.words)) * j.factor(level)) }
	most := int64(0)
	for _, l := range j.levels {
		most = max(most, kept(l))
	}
	plain := j.data.bytes(most)
	for _, l := range j.levels {
		all = append(all, &written{what: l, level: l, plain: plain[:kept(l)], data: j.data})
	}
	for _, percent := range j.deltas {
		if slices.Contains(j.levels, "mem") {
			all = append(all, &written{what: fmt.Sprintf("mem, delta %g%%", percent), level: "mem", percent: percent, data: newData(int64(8*len(j.data.words)), uint64(j.c.Rank())+1)})
		}
		all = append(all, &written{what: fmt.Sprintf("delta %g%%", percent), level: "local", percent: percent, data: newData(int64(8*len(j.data.words)), uint64(j.c.Rank())+1)})
	}
	for i, w := range all {
		var more []checkpoint.Option
		if w.percent > 0 {
			more = append(more, checkpoint.WithDelta(1+j.rounds+j.warm))
		}
		if w.cp, err = j.open(fmt.Sprintf("write-%d", i), w.level, w.data, more...); err != nil {
			return nil, err
		}
		if err := w.cp.RestartIfNeeded(ctx, nil); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// writeOne measures one version, and a plain write of as many bytes.
func (j *job) writeOne(ctx context.Context, w *written, counts bool) error {
	if w.percent > 0 {
		w.data.touch(w.percent)
	} else {
		w.data.touch(100)
	}
	before := w.cp.Stats().BytesWritten
	var blocked time.Duration
	took, err := j.timed(ctx, func() error {
		began := time.Now()
		err := w.cp.UpdateAndWrite(ctx, w.iter, 1)
		blocked = time.Since(began)
		if err != nil || j.async == checkpoint.AsyncOff {
			return err
		}
		return w.cp.Wait(ctx)
	})
	if err != nil {
		return err
	}
	// Old versions are deleted while the program goes on. Here nothing else is to
	// suffer from it.
	if err := w.cp.Wait(ctx); err != nil {
		return err
	}
	w.iter++
	blocked, err = j.slowest(ctx, blocked)
	if err != nil {
		return err
	}
	var plain time.Duration
	if w.plain != nil {
		measure := j.plain
		if w.level == "mem" {
			measure = j.sent
		}
		if plain, err = measure(ctx, w.plain); err != nil {
			return err
		}
	}
	if !counts {
		return nil
	}
	j.result.add(w.what, took)
	j.result.sizes.Add(w.what, float64(w.cp.Stats().BytesWritten-before))
	if j.async != checkpoint.AsyncOff {
		j.result.add(w.what+": program waits", blocked)
	}
	if w.plain != nil {
		j.result.add("plain, bytes of "+w.what, plain)
	}
	return nil
}
