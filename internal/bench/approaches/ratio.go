package main

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/internal/bench/measured"
)

// compare prints how long GLOBAL-RESTART needs, and how many times as long the others do, run by run: to recover, and
// without failures for the application itself.
func (m measurement) compare(b *strings.Builder, r results, ps pairing) {
	var base []approach
	var others []approach
	for _, a := range m.approaches {
		if a.name == globalRestart {
			base = append(base, a)
		} else {
			others = append(others, a)
		}
	}
	if len(base) == 0 || len(others) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s in seconds, and the others as a multiple of it, run by run (median and its 95 %% interval):\n\n| time | program | %s |", globalRestart, globalRestart)
	for _, a := range others {
		fmt.Fprintf(b, " %s |", a.name)
	}
	b.WriteString("\n|" + strings.Repeat(" --- |", 3+len(others)) + "\n")
	for _, f := range m.failures {
		of, name := recovery, "recovery, "+f.title()
		if f == none {
			of, name = application, "application, "+f.title()
		}
		for _, p := range m.programs {
			one, ok := rowOf(id{}, r.of(id{p.name, f, globalRestart, ps.storage(base[0], f)}))
			if !ok {
				continue
			}
			fmt.Fprintf(b, "| %s | %s | %s |", name, p.name, plusMinus(one.Parts[of]))
			for _, a := range others {
				fmt.Fprintf(b, " %s |", m.ratio(r, p, f, ps, of, a, base[0]))
			}
			b.WriteByte('\n')
		}
	}
}

// ratio is how many times as long as with another approach a part takes; "" if one of them was not measured.
func (m measurement) ratio(r results, p program, f failure, ps pairing, of part, one, other approach) string {
	mine := r.of(id{p.name, f, one.name, ps.storage(one, f)})
	theirs := r.of(id{p.name, f, other.name, ps.storage(other, f)})
	var all []float64
	for i := range min(len(mine), len(theirs)) { // of the last run one may be missing
		all = append(all, mine[i].times.part[of]/theirs[i].times.part[of])
	}
	if len(all) == 0 {
		return ""
	}
	i := measured.IntervalOf(all)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", i.Median, i.Low, i.High)
}
