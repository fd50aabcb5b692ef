package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/craft-go/craft/internal/bench/machine"
	"github.com/craft-go/craft/internal/bench/measured"
)

// row is what was measured of one thing.
type row struct {
	id
	Total measured.Mean
	After measured.Mean // what follows the failure: reading, recovery, redone work
	Parts [parts]measured.Mean
}

// rowOf sums up samples; false: there is none.
func rowOf(what id, samples []sample) (row, bool) {
	var totals, after []float64
	var each [parts][]float64
	for _, s := range samples {
		totals = append(totals, s.times.total)
		after = append(after, s.times.part[reading]+s.times.part[recovery]+s.times.part[redone])
		for p, v := range s.times.part {
			each[p] = append(each[p], v)
		}
	}
	r := row{id: what, Total: measured.MeanOf(totals), After: measured.MeanOf(after)}
	for p := range parts {
		r.Parts[p] = measured.MeanOf(each[p])
	}
	return r, len(samples) > 0
}

// rows are those of a pairing, in the order of programs, failures and approaches.
func (m measurement) rows(r results, ps pairing) (rows []row) {
	for _, p := range m.programs {
		for _, f := range m.failures {
			for _, a := range m.approaches {
				what := id{p.name, f, a.name, ps.storage(a, f)}
				if one, ok := rowOf(what, r.of(what)); ok {
					rows = append(rows, one)
				}
			}
		}
	}
	return rows
}

// runs is how many have begun.
func (r results) runs() (n int) {
	for _, s := range r.samples {
		n = max(n, s.run+1)
	}
	return n
}

// write prints a table for each pairing, in Markdown.
func (m measurement) write(w io.Writer, r results) error {
	var b strings.Builder
	busy := measured.IntervalOf(r.busy)
	fmt.Fprintf(&b, "%s; %s; checkpoints on %s; %d ranks on %d virtual nodes and a spare one, seed %d; others used %.0f %% (%.0f to %.0f) of the machine.\n",
		time.Now().Format(time.DateOnly), machine.Describe(), machine.FileSystem(m.dir), m.ranks, m.nodes, m.seed, busy.Median, busy.Low, busy.High)
	fmt.Fprintf(&b, "Seconds: mean and 95 %% confidence interval (t distribution) of %s.\n", english.Plural(r.runs(), "run", ""))
	for _, p := range m.programs {
		fmt.Fprintf(&b, "- %s (the paper's %s): %s\n", p.name, p.paper, strings.Join(p.args, " "))
	}
	for _, ps := range m.pairings {
		fmt.Fprintf(&b, "\n**%s**\n\n| program | failure | approach | checkpoints | total |", ps.title())
		for _, name := range partNames {
			fmt.Fprintf(&b, " %s |", name)
		}
		b.WriteString("\n|" + strings.Repeat(" --- |", 5+int(parts)) + "\n")
		for _, one := range m.rows(r, ps) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |", one.Program, one.Failure, one.Approach, one.Storage, plusMinus(one.Total))
			for p, v := range one.Parts {
				if one.Failure == none && part(p) > writing {
					b.WriteString(" |")
					continue
				}
				fmt.Fprintf(&b, " %s |", plusMinus(v))
			}
			b.WriteByte('\n')
		}
		m.compare(&b, r, ps)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func plusMinus(v measured.Mean) string {
	if v.N < 2 {
		return fmt.Sprintf("%.3f", v.Mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", v.Mean, v.Half)
}
