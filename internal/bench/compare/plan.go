package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// plan is what is to be measured.
type plan struct {
	measurements []measurement
	ratios       []ratio
}

type measurement struct {
	name    string
	figure  *regexp.Regexp // its group is a time in ms
	command string
}

type ratio struct{ name, one, other string }

func parsePlan(r io.Reader) (p plan, err error) {
	known := make(map[string]bool)
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.FieldsFunc(line, func(r rune) bool { return r == '\t' })
		if len(fields) != 3 {
			return p, fmt.Errorf("line %d: %d fields with tabs between them (wanted: a name, an expression, a command; or ratio, a name, one / other)", n, len(fields))
		}
		if fields[0] == "ratio" {
			one, other, ok := strings.Cut(fields[2], " / ")
			if !ok || !known[one] || !known[other] {
				return p, fmt.Errorf("line %d: ratio %q: it must be of two measurements above, such as a / b", n, fields[2])
			}
			p.ratios = append(p.ratios, ratio{fields[1], one, other})
			continue
		}
		figure, err := regexp.Compile(fields[1])
		switch {
		case err != nil:
			return p, fmt.Errorf("line %d: %w", n, err)
		case figure.NumSubexp() != 1:
			return p, fmt.Errorf("line %d: expression %q has %d groups (wanted: one, the time in milliseconds)", n, fields[1], figure.NumSubexp())
		case known[fields[0]]:
			return p, fmt.Errorf("line %d: %q is measured twice", n, fields[0])
		}
		known[fields[0]] = true
		p.measurements = append(p.measurements, measurement{fields[0], figure, fields[2]})
	}
	if err := lines.Err(); err != nil {
		return p, err
	}
	if len(p.measurements) == 0 {
		return p, fmt.Errorf("it has no measurement (wanted: lines of a name, an expression, a command, with tabs between them)")
	}
	return p, nil
}
