package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// jobLog writes what happens to a job, one line for people each.
type jobLog struct {
	mu    *sync.Mutex
	w     io.Writer
	least slog.Level
	attrs []slog.Attr
}

func newJobLogger(w io.Writer, verbose bool) *slog.Logger {
	h := &jobLog{mu: new(sync.Mutex), w: w, least: slog.LevelWarn}
	if verbose {
		h.least = slog.LevelDebug
	}
	return slog.New(h)
}

func (h *jobLog) Enabled(_ context.Context, l slog.Level) bool { return l >= h.least }

func (h *jobLog) Handle(_ context.Context, r slog.Record) error {
	var line strings.Builder
	line.WriteString("craft: " + printableLines(r.Message))
	add := func(a slog.Attr) bool {
		if !a.Equal(slog.Attr{}) {
			fmt.Fprintf(&line, " %s=%s", a.Key, printableLines(a.Value.String()))
		}
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, line.String()+"\n")
	return err
}

func (h *jobLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	own := *h
	own.attrs = append(own.attrs[:len(own.attrs):len(own.attrs)], attrs...)
	return &own
}

// WithGroup keeps the names as they are: nobody groups here.
func (h *jobLog) WithGroup(string) slog.Handler { return h }
