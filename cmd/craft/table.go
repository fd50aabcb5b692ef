package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// column of a table.
type column struct {
	title string
	right bool
	// drop is the order in which columns are left out when the terminal is too
	// narrow; 0: never.
	drop int
}

// table is text in columns that are two blanks apart. Without a terminal it
// always has all its columns and is never cut, so that programs can read it.
type table struct {
	columns []column
	rows    [][]string
}

func (t *table) add(cells ...string) {
	for i, c := range cells {
		if cells[i] = printable(c); c == "" {
			cells[i] = "-"
		}
	}
	t.rows = append(t.rows, cells)
}

// write prints the table for a terminal of that width; 0: there is none.
func (t *table) write(w io.Writer, width int) error {
	widths := t.widths()
	shown := make([]bool, len(t.columns))
	for i := range shown {
		shown[i] = width == 0 || !t.empty(i)
	}
	if width > 0 {
		t.narrow(widths, shown, width)
	}
	titles := make([]string, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
	}
	for _, row := range append([][]string{titles}, t.rows...) {
		line := t.line(row, widths, shown)
		if width > 0 {
			line = cut(line, width)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) widths() []int {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	return widths
}

// empty columns, which say the same as none, are left out on a terminal.
func (t *table) empty(i int) bool {
	for _, row := range t.rows {
		if row[i] != "-" {
			return false
		}
	}
	return t.columns[i].drop > 0
}

// narrow leaves out columns until the rest fits.
func (t *table) narrow(widths []int, shown []bool, width int) {
	for {
		total, next := -2, -1
		for i, c := range t.columns {
			if !shown[i] {
				continue
			}
			total += widths[i] + 2
			if c.drop > 0 && (next < 0 || c.drop < t.columns[next].drop) {
				next = i
			}
		}
		if total <= width || next < 0 {
			return
		}
		shown[next] = false
	}
}

func (t *table) line(row []string, widths []int, shown []bool) string {
	var b strings.Builder
	for i, cell := range row {
		if !shown[i] {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
		if t.columns[i].right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}
