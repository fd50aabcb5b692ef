package main

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"

	"github.com/craft-go/craft/internal/bench/machine"
	"github.com/craft-go/craft/internal/bench/measured"
)

// columns are the names of the parts in files.
var columns = [parts]string{"application", "writing", "recovery", "reading", "redone"}

// writeCSV writes a line for each row of the tables: seconds, and half of each interval.
func (m measurement) writeCSV(w io.Writer, r results) error {
	out := csv.NewWriter(w)
	head := []string{"pairing", "program", "failure", "approach", "checkpoints", "runs", "total", "total_half"}
	for _, name := range columns {
		head = append(head, name, name+"_half")
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, ps := range m.pairings {
		for _, one := range m.rows(r, ps) {
			fields := []string{string(ps), one.Program, string(one.Failure), one.Approach, string(one.Storage), strconv.Itoa(one.Total.N)}
			for _, v := range append([]measured.Mean{one.Total}, one.Parts[:]...) {
				fields = append(fields, seconds(v.Mean), seconds(v.Half))
			}
			if err := out.Write(fields); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

func seconds(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }

// document is what -json writes.
type document struct {
	Machine    string            `json:"machine"`
	FileSystem string            `json:"file_system"`
	Ranks      int               `json:"ranks"`
	Nodes      int               `json:"nodes"`
	Seed       uint64            `json:"seed"`
	Busy       measured.Interval `json:"busy_percent"` // share of the machine that others used
	Rows       []documentRow     `json:"rows"`
	Jobs       []documentJob     `json:"jobs"`
}

type documentRow struct {
	Pairing pairing `json:"pairing"`
	id
	Total measured.Mean            `json:"total"`
	After measured.Mean            `json:"after"` // reading, recovery and redone work together
	Parts map[string]measured.Mean `json:"parts"`
}

type documentJob struct {
	id
	Run    int                `json:"run"`
	Victim *victim            `json:"victim"` // null: none
	Total  float64            `json:"total"`
	Parts  map[string]float64 `json:"parts"`
}

// writeJSON writes the rows and each job: times in seconds.
func (m measurement) writeJSON(w io.Writer, r results) error {
	d := document{
		Machine: machine.Describe(), FileSystem: machine.FileSystem(m.dir), Ranks: m.ranks, Nodes: m.nodes, Seed: m.seed, Busy: measured.IntervalOf(r.busy),
		Rows: []documentRow{}, Jobs: []documentJob{},
	}
	for _, ps := range m.pairings {
		for _, one := range m.rows(r, ps) {
			d.Rows = append(d.Rows, documentRow{ps, one.id, one.Total, one.After, named(one.Parts)})
		}
	}
	for _, s := range r.samples {
		job := documentJob{id: s.id, Run: s.run, Total: s.times.total, Parts: named(s.times.part)}
		if s.Failure != none {
			job.Victim = &s.victim
		}
		d.Jobs = append(d.Jobs, job)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(d)
}

func named[T any](of [parts]T) map[string]T {
	m := make(map[string]T)
	for p, v := range of {
		m[columns[p]] = v
	}
	return m
}
