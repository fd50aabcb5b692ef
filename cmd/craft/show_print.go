package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (d *shownVersion) print(s *screen) {
	d.printHeader(s)
	t := newTable(left("KEY"), left("DESCRIPTION"), right("RAW"), right("STORED"), right("RATIO").drop(3), right("CHUNKS").drop(2), left("DIGEST").drop(1))
	refers := slices.ContainsFunc(d.Keys, func(k shownKey) bool { return k.Referred > 0 })
	if refers {
		t.columns = append(t.columns, right("IN OTHERS"))
	}
	for _, k := range d.Keys {
		ratio := "-"
		if k.Ratio != nil {
			ratio = strconv.FormatFloat(*k.Ratio, 'f', 2, 64)
		}
		cells := []string{k.Key, k.Description, s.size(k.RawBytes), s.size(k.StoredBytes), ratio, strconv.Itoa(k.Chunks), orDash(k.Digest)}
		if refers {
			cells = append(cells, s.size(k.Referred))
		}
		t.add(cells...)
	}
	s.show(t, s.width)
	if d.ranks {
		d.printRanks(s)
	}
	if d.values {
		d.printValues(s)
	}
}

func (d *shownVersion) printHeader(s *screen) {
	line := func(name, value string) {
		fmt.Fprintf(s, "%-12s %s\n", name, printable(value))
	}
	created := "-"
	if d.Created != nil {
		created = d.Created.Format(time.RFC3339)
		if s.width > 0 {
			created += " (" + s.moment(d.Created) + ")"
		}
	}
	line("checkpoint", d.Checkpoint)
	line("path", string(d.Path))
	line("version", strconv.FormatUint(d.Version, 10))
	line("iteration", orDash(d.Iteration))
	line("created", created)
	line("lineage", d.Lineage)
	line("attempt", d.Attempt)
	switch {
	case d.Rank != nil:
		line("rank", fmt.Sprintf("%d of %d", *d.Rank, d.Ranks))
	case d.Complete:
		line("ranks", strconv.Itoa(d.Ranks))
	default:
		line("ranks", fmt.Sprintf("%d (%s)", d.Ranks, d.state))
	}
	if len(d.Labels) > 0 {
		line("labels", strings.Join(d.Labels, ", "))
	}
	line("size", s.size(d.Bytes))
	d.printLevels(s, line)
	for _, a := range d.Ancestors {
		if a.Version == 0 {
			line("within", fmt.Sprintf("the first stage of %s, before its first version, %d calls later", a.Name, a.Calls))
			continue
		}
		line("within", fmt.Sprintf("version %d of %s, %d calls later", a.Version, a.Name, a.Calls))
	}
	name := "fingerprint"
	for _, value := range fingerprintLines(d.Fingerprint) {
		line(name, value)
		name = ""
	}
}

// fingerprintLines is one line for each field of an object, which most
// fingerprints are.
func fingerprintLines(data json.RawMessage) []string {
	if len(data) == 0 {
		return []string{"-"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return []string{string(data)}
	}
	var lines []string
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return []string{string(data)}
		}
		lines = append(lines, fmt.Sprintf("%v: %s", key, value))
	}
	if len(lines) == 0 {
		return []string{"{}"}
	}
	return lines
}

func (d *shownVersion) printRanks(s *screen) {
	t := newTable(left("KEY"), right("RANK"), left("DESCRIPTION"), right("RAW"), right("STORED"), right("CHUNKS").drop(2), left("DIGEST").drop(1))
	for _, k := range d.Keys {
		for _, r := range k.ByRank {
			t.add(k.Key, strconv.Itoa(r.Rank), r.Description, s.size(r.RawBytes), s.size(r.StoredBytes), strconv.Itoa(r.Chunks), r.Digest)
		}
	}
	s.show(t, s.width)
}

func (d *shownVersion) printValues(s *screen) {
	t := newTable(left("KEY"), right("RANK"), left("VALUES"))
	for _, k := range d.Keys {
		values := strings.Join(k.Values, " ")
		if k.More {
			values += " ..."
		}
		t.add(k.Key, strconv.Itoa(*k.ValuesRank), values)
	}
	s.show(t, s.width)
}
