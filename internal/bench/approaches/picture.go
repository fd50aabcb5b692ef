package main

import (
	"fmt"
	"io"

	"github.com/craft-go/craft/internal/chart"
)

// abbreviations are below bars.
var abbreviations = map[string]string{redeploy: "CR", stepByStep: "ULFM", nonShrinking: "N-S", globalRestart: "G-R"}

// draw draws a panel of stacked bars for each pairing, and below it what follows the failures alone.
func (m measurement) draw(w io.Writer, format string, r results) error {
	var panels []chart.Bars
	for _, ps := range m.pairings {
		rows := m.rows(r, ps)
		panels = append(panels, bars(ps.title(), rows, application, writing, reading, recovery, redone))
		var failed []row
		for _, one := range rows {
			if one.Failure != none {
				failed = append(failed, one)
			}
		}
		if len(failed) > 0 {
			panels = append(panels, bars(ps.title()+": after the failure", failed, reading, recovery, redone))
		}
	}
	return chart.DrawBars(w, format, panels...)
}

// bars has a group for each program and failure.
func bars(title string, rows []row, shown ...part) chart.Bars {
	b := chart.Bars{Title: title, Label: "seconds"}
	for _, p := range shown {
		b.Parts = append(b.Parts, chart.Part{Name: partNames[p], Ink: int(p)})
	}
	for _, one := range rows {
		name := fmt.Sprintf("%s\n%s", one.Program, one.Failure)
		if n := len(b.Groups); n == 0 || b.Groups[n-1].Name != name {
			b.Groups = append(b.Groups, chart.Group{Name: name})
		}
		bar := chart.Bar{Name: abbreviations[one.Approach]}
		for _, p := range shown {
			bar.Parts = append(bar.Parts, one.Parts[p].Mean)
		}
		if len(shown) == int(parts) {
			bar.Half = one.Total.Half
		}
		g := &b.Groups[len(b.Groups)-1]
		g.Bars = append(g.Bars, bar)
	}
	return b
}
