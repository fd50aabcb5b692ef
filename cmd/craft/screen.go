package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// screen is where documents are printed for people: a terminal, or a file or pipe.
type screen struct {
	out   io.Writer
	width int // of the terminal; 0: it is none
	now   func() time.Time
	say   func(format string, args ...any) // beside it
}

// size prints a number of bytes: exact in a pipe, rounded for people.
func (s *screen) size(n int64) string {
	if s.width == 0 {
		return strconv.FormatInt(n, 10)
	}
	return roundedBytes(n)
}

// moment prints a time, if it is known: exact in a pipe, its age for people.
func (s *screen) moment(t *time.Time) string {
	switch {
	case t == nil:
		return "-"
	case s.width == 0:
		return t.UTC().Format(time.RFC3339)
	}
	return age(*t, s.now())
}

// printBelow prints a table after something else.
func (s *screen) printBelow(t table, width int) error {
	if _, err := fmt.Fprintln(s.out); err != nil {
		return err
	}
	return t.write(s.out, width)
}
