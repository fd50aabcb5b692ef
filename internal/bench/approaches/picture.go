package main

import (
	"io"
	"slices"

	"github.com/craft-go/craft/internal/bench/measured"
	"github.com/craft-go/craft/internal/chart"
)

// abbreviations are below bars.
var abbreviations = map[string]string{redeploy: "CR", stepByStep: "ULFM", nonShrinking: "N-S", globalRestart: "G-R"}

// draw draws a panel of stacked bars for each pairing, and below it what follows the failures alone.
func (m measurement) draw(w io.Writer, format string, r results) error {
	var panels []chart.Bars
	for _, ps := range m.pairings {
		rows := m.rows(r, ps)
		panels = append(panels, bars(ps.title(), rows, row.total, application, writing, recovery, reading, redone))
		failed := slices.DeleteFunc(rows, func(one row) bool { return one.Failure == none })
		if len(failed) > 0 {
			panels = append(panels, bars(ps.title()+": after the failure", failed, row.after, recovery, reading, redone))
		}
	}
	return chart.DrawBars(w, format, panels...)
}

func (r row) total() measured.Mean { return r.Total }
func (r row) after() measured.Mean { return r.After }

// bars has a group for each program and failure. sum is that of the parts.
func bars(title string, rows []row, sum func(row) measured.Mean, shown ...part) chart.Bars {
	b := chart.Bars{Title: title, Label: "seconds"}
	for _, p := range shown {
		b.Parts = append(b.Parts, chart.Part{Name: partNames[p], Ink: int(p)})
	}
	for _, one := range rows {
		name := one.Program + "\n" + one.Failure.title()
		if n := len(b.Groups); n == 0 || b.Groups[n-1].Name != name {
			b.Groups = append(b.Groups, chart.Group{Name: name})
		}
		bar := chart.Bar{Name: abbreviations[one.Approach], Half: sum(one).Half}
		for _, p := range shown {
			bar.Parts = append(bar.Parts, one.Parts[p].Mean)
		}
		g := &b.Groups[len(b.Groups)-1]
		g.Bars = append(g.Bars, bar)
	}
	return b
}
