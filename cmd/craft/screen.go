package main

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// screen is where a command shows what it has found, and says what else there is to say.
type screen struct {
	stdout, stderr io.Writer
	width          int // of the terminal that stdout is; 0: it is none, and tables are plain
	now            func() time.Time

	used bool  // something was printed
	err  error // the first one of stdout, which gets nothing any more
}

// Write prints, and never fails: the command does, in the end.
func (s *screen) Write(b []byte) (int, error) {
	s.used = true
	if s.err == nil {
		_, s.err = s.stdout.Write(b)
	}
	return len(b), nil
}

// show prints a table, below what there is already. width is mostly that of the screen.
func (s *screen) show(t table, width int) {
	if s.used {
		fmt.Fprintln(s)
	}
	fmt.Fprintln(s, t.text(width))
}

// say prints a message for people.
func (s *screen) say(format string, args ...any) {
	fmt.Fprintf(s.stderr, "craft: %s\n", printableLines(fmt.Sprintf(format, args...)))
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
