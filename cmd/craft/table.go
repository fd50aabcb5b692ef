package main

import (
	"cmp"
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// column of a table, its text to the left or to the right.
type column struct {
	title   string
	align   text.Align
	dropped int // in which order it is left out when the terminal is too narrow; 0: never
}

func left(title string) column         { return column{title, text.AlignLeft, 0} }
func right(title string) column        { return column{title, text.AlignRight, 0} }
func (c column) drop(order int) column { return column{c.title, c.align, order} }

// table is text in columns that are two blanks apart. Without a terminal it
// always has all its columns and is never cut, so that programs can read it.
type table struct {
	columns []column
	rows    []pretty.Row
}

func newTable(columns ...column) table { return table{columns: columns} }

func (t *table) add(cells ...string) {
	row := make(pretty.Row, len(cells))
	for i, c := range cells {
		row[i] = cmp.Or(printable(c), "-")
	}
	t.rows = append(t.rows, row)
}

// text is the table for a terminal of that width; 0: there is none, or it is never cut.
func (t *table) text(width int) string {
	titles := make(pretty.Row, len(t.columns))
	configs := make([]pretty.ColumnConfig, len(t.columns))
	for i, c := range t.columns {
		titles[i] = c.title
		configs[i] = pretty.ColumnConfig{Number: i + 1, Align: c.align, AlignHeader: c.align, Hidden: width > 0 && t.empty(i)}
	}
	writer := pretty.NewWriter()
	writer.SetStyle(pretty.Style{Box: pretty.BoxStyle{PaddingRight: "  "}})
	writer.SuppressTrailingSpaces()
	writer.AppendHeader(titles)
	writer.AppendRows(t.rows)
	writer.SetColumnConfigs(configs)
	shown := writer.Render()
	if width > 0 {
		for _, i := range t.droppable() {
			if text.LongestLineLen(shown) <= width {
				break
			}
			configs[i].Hidden = true
			shown = writer.Render()
		}
		lines := strings.Split(shown, "\n")
		for i := range lines {
			lines[i] = text.Snip(lines[i], width, "…")
		}
		shown = strings.Join(lines, "\n")
	}
	return shown
}

// empty columns, which say the same as none, are left out on a terminal.
func (t *table) empty(i int) bool {
	return t.columns[i].dropped > 0 && !slices.ContainsFunc(t.rows, func(row pretty.Row) bool { return row[i] != "-" })
}

// droppable lists columns in the order in which they are left out.
func (t *table) droppable() (list []int) {
	for i, c := range t.columns {
		if c.dropped > 0 {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(t.columns[a].dropped, t.columns[b].dropped) })
	return list
}
