package storage_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/storage"
)

// somewhere is an open part that says when it is closed.
type somewhere struct {
	*strings.Reader

	open *int
}

func (s somewhere) Close() error { *s.open--; return nil }

// Places are opened one after another, and all are closed together. Why some could not be
// opened is told once, when none is left.
func TestOpenPlaces(t *testing.T) {
	open := 0
	has := func(text string) func() (storage.PartReader, error) {
		return func() (storage.PartReader, error) { open++; return somewhere{strings.NewReader(text), &open}, nil }
	}
	fails := func(err error) func() (storage.PartReader, error) {
		return func() (storage.PartReader, error) { return nil, fmt.Errorf("it fails: %w", err) }
	}
	gone, later := fails(storage.ErrNotFound), fails(syscall.EIO)
	for name, c := range map[string]struct {
		places []func() (storage.PartReader, error)
		has    string // the texts in their order
		want   error  // at the end
	}{
		"nothing":            {nil, "", storage.ErrNotFound},
		"gone":               {[]func() (storage.PartReader, error){gone, gone}, "", storage.ErrNotFound},
		"not now":            {[]func() (storage.PartReader, error){gone, later, gone}, "", syscall.EIO},
		"one":                {[]func() (storage.PartReader, error){has("a")}, "a", nil},
		"one, gone":          {[]func() (storage.PartReader, error){has("a"), gone}, "a", storage.ErrNotFound},
		"not now, then some": {[]func() (storage.PartReader, error){later, has("a"), gone, has("b")}, "ab", syscall.EIO},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := storage.OpenPlaces(t.Context(), c.places)
			if c.has == "" {
				require.ErrorIs(t, err, c.want)
				return
			}
			require.NoError(t, err)
			text := ""
			for at := storage.PartReader(r); at != nil; {
				all, err := io.ReadAll(io.NewSectionReader(at, 0, at.Size()))
				require.NoError(t, err)
				text += string(all)
				if at, err = r.Another(); c.want != nil && at == nil {
					require.ErrorIs(t, err, c.want)
				} else {
					require.NoError(t, err)
				}
			}
			require.Equal(t, c.has, text)
			at, err := r.Another()
			require.NoError(t, err)
			require.Nil(t, at)
			require.NoError(t, r.Close())
			require.Zero(t, open)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, err := storage.OpenPlaces(ctx, []func() (storage.PartReader, error){has("a"), has("b"), has("c")})
	require.NoError(t, err)
	cancel()
	at, err := r.Another()
	require.ErrorIs(t, err, context.Canceled)
	require.Nil(t, at)
	at, err = r.Another()
	require.NoError(t, err, "who asks until none is left comes to an end")
	require.Nil(t, at)
	require.NoError(t, r.Close())
	_, err = storage.OpenPlaces(ctx, []func() (storage.PartReader, error){has("a")})
	require.ErrorIs(t, err, context.Canceled)
}
