package main

import (
	"fmt"
	"strings"

	"github.com/craft-go/craft/internal/bench/measured"
)

// compare prints how many times as long as GLOBAL-RESTART the others take, run by run: to recover, and without
// failures for the application itself.
func (m measurement) compare(b *strings.Builder, r results) {
	for _, ps := range m.pairings {
		var lines strings.Builder
		for _, f := range m.failures {
			of, name := recovery, "recovery, "+string(f)
			if f == none {
				of, name = application, "application without failures"
			}
			for _, p := range m.programs {
				for _, a := range m.approaches {
					if i, ok := m.ratio(r, p, f, a, ps, of); ok && a.name != globalRestart {
						fmt.Fprintf(&lines, "| %s | %s | %s | %.2f (%.2f to %.2f) |\n", name, p.name, a.name, i.Median, i.Low, i.High)
					}
				}
			}
		}
		if lines.Len() > 0 {
			fmt.Fprintf(b, "\n**%s: as a multiple of %s, run by run** (median and its 95 %% interval)\n\n| time | program | approach | multiple |\n| --- | --- | --- | --- |\n%s", ps.title(), globalRestart, &lines)
		}
	}
}

// ratio is how many times as long as with GLOBAL-RESTART a part takes; false: one of them was not measured.
func (m measurement) ratio(r results, p program, f failure, a approach, ps pairing, of part) (measured.Interval, bool) {
	mine := r.of(id{p.name, f, a.name, ps.storage(a, f)})
	base := r.of(id{p.name, f, globalRestart, ps.storage(approach{name: globalRestart}, f)})
	var all []float64
	for i := range min(len(mine), len(base)) {
		if mine[i].run == base[i].run {
			all = append(all, mine[i].times.part[of]/base[i].times.part[of])
		}
	}
	return measured.IntervalOf(all), len(all) > 0
}
