package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/craft-go/craft/internal/bench/machine"
)

// measurement is what is to be measured.
type measurement struct {
	site
	programs   []program
	approaches []approach
	pairings   []pairing
	failures   []failure
	runs       int
	seed       uint64
	quiet      time.Duration
}

// id says what was measured.
type id struct {
	Program  string  `json:"program"`
	Failure  failure `json:"failure"`
	Approach string  `json:"approach"`
	Storage  storage `json:"checkpoints"`
}

// sample is one job.
type sample struct {
	id
	run    int
	victim victim
	times  times
}

// results are those of all jobs, in the order in which they ran.
type results struct {
	samples []sample
	busy    []float64 // share of the machine that others used before each turn, in percent
}

// of are the samples of one thing, in the order of the runs.
func (r results) of(what id) (all []sample) {
	for _, s := range r.samples {
		if s.id == what {
			all = append(all, s)
		}
	}
	return all
}

// jobs is the number of jobs that are measured.
func (m measurement) jobs() (n int) {
	for _, f := range m.failures {
		n += len(variants(m.approaches, m.pairings, f))
	}
	return n * m.runs * len(m.programs)
}

// measure runs all jobs, all of one run before those of the next.
func (m measurement) measure(ctx context.Context, log io.Writer) (r results, err error) {
	references := make(map[string]result)
	for _, p := range m.programs {
		plain := variant{approaches[0], file}
		one, t, err := m.site.run(ctx, p, plain, none, victim{})
		if err != nil {
			return r, fmt.Errorf("%s without failures: %w", p.name, err)
		}
		if one.Iterations < 3 {
			return r, fmt.Errorf("%s: %d iterations: there must be 3 or more, for one to fail in the middle", p.name, one.Iterations)
		}
		fmt.Fprintf(log, "%s (the paper's %s) %v: %d iterations, %.2f s, digest %.12s\n", p.name, p.paper, p.args, one.Iterations, t.total, one.Digest)
		references[p.name] = one
	}
	began, all := time.Now(), m.jobs()
	for run := range m.runs {
		for _, p := range m.programs {
			for _, f := range m.failures {
				r.busy = append(r.busy, machine.WaitUntilQuiet(ctx, m.quiet))
				who := m.victim(m.seed, p.name, f, run, references[p.name].Iterations)
				if err := m.turn(ctx, &r, p, f, run, who, references[p.name], log); err != nil {
					return r, err
				}
			}
			done := len(r.samples)
			left := time.Since(began) / time.Duration(done) * time.Duration(all-done)
			fmt.Fprintf(log, "%d of %d jobs, about %v left\n", done, all, left.Round(time.Second))
		}
	}
	return r, nil
}

// turn runs the job of each variant, with the same failure.
func (m measurement) turn(ctx context.Context, r *results, p program, f failure, run int, who victim, want result, log io.Writer) error {
	for _, v := range inTurn(variants(m.approaches, m.pairings, f), run) {
		what := id{p.name, f, v.name, v.storage}
		got, t, err := m.site.run(ctx, p, v, f, who)
		switch {
		case err != nil:
			return fmt.Errorf("run %d: %v: %w", run+1, what, err)
		case got.Digest != want.Digest || got.Iterations != want.Iterations || got.Ranks != m.ranks:
			return fmt.Errorf("run %d: %v, %+v: %d iterations on %d ranks with digest %s, and without failures %d on %d with %s", run+1, what, who, got.Iterations, got.Ranks, got.Digest, want.Iterations, m.ranks, want.Digest)
		}
		r.samples = append(r.samples, sample{what, run, who, t})
		fmt.Fprintf(log, "run %d: %v: %.3f s%s\n", run+1, what, t.total, happened(f, who, t, got))
	}
	return nil
}

func (i id) String() string {
	return fmt.Sprintf("%s, failure: %s, %s, %s", i.Program, i.Failure, i.Approach, i.Storage)
}

// happened tells of the failure.
func happened(f failure, who victim, t times, got result) (text string) {
	switch f {
	case none:
		return ""
	case process:
		text = fmt.Sprintf("; rank %d", who.Rank)
	case node:
		text = fmt.Sprintf("; node %d", who.Node)
	}
	text += fmt.Sprintf(" after iteration %d: recovery %.3f s", who.Iteration, t.part[recovery])
	if got.Recoveries != 1 {
		text += fmt.Sprintf(" (in %d attempts)", got.Recoveries)
	}
	return text
}
