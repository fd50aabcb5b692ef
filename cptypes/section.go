package cptypes

import (
	"context"
	"fmt"
	"io"

	"github.com/craft-go/craft/storage/container"
)

// MakeRoom prepares a value for what is stored: it is given the stored extents, or must be of
// the stored type. The error matches ErrMismatch.
func MakeRoom(v Value, stored Desc) error {
	if r, ok := v.(Resizer); ok {
		return r.Resize(stored)
	}
	if mine := DescOf(v); mine.Type != stored.Type || mine.Dist != stored.Dist {
		return &MismatchError{Stored: stored, Have: mine, Reason: "it is of another type"}
	}
	return nil
}

// ReadSection fills a value, for which room was made, with the stored bytes, every one of
// which is verified.
func ReadSection(ctx context.Context, v Value, section *container.SectionReader) error {
	if s, ok := v.(Spanner); ok {
		if spans, ok := s.Spans(); ok {
			return section.ReadSpans(ctx, spans)
		}
	}
	src := &watched{r: section.NewReader(ctx)}
	n, err := v.ReadFrom(src)
	switch {
	case src.err != nil:
		return src.err // also if the value's own code has hidden it
	case err != nil:
		return err
	case src.n != section.Info().Size:
		return fmt.Errorf("ReadFrom of %T took %d of the %d stored bytes (and says %d)", v, src.n, section.Info().Size, n)
	}
	return nil
}

// watched remembers what went wrong below a value's ReadFrom.
type watched struct {
	r   io.Reader
	n   int64
	err error
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.n += int64(n)
	if err != nil && err != io.EOF {
		w.err = err
	}
	return n, err
}
