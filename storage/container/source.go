package container

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
)

// Sources opens source i of a file, from 0: places that have, or once had, the
// same bytes. io.EOF: there are no more. Any other error: this source cannot be
// read now. Without a reader and without an error it does not exist, which is as
// if it had been left out. It is called at most once for each i, for one at a
// time, and not before the sources before it have failed.
type Sources func(i int) (r io.ReaderAt, size int64, err error)

// source is one source of a file.
type source struct {
	file
	window window
}

// errAbsent stands for a source that does not exist.
var errAbsent = errors.New("container: no source of the file")

// sources are the sources of a file.
type sources struct {
	open  Sources
	first opened // before the file is used by more than one goroutine

	mu     sync.Mutex
	others []opened // those after the first that have been asked for
	ended  bool     // there are no more
}

// opened is a source that has been asked for.
type opened struct {
	s   *source
	err error
}

// get returns source i; io.EOF if there are no more.
func (s *sources) get(i int) (*source, error) {
	if i == 0 {
		return s.first.s, s.first.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.others) < i && !s.ended {
		s.others = append(s.others, s.openSource(len(s.others)+1))
	}
	if i > len(s.others) {
		return nil, io.EOF
	}
	o := s.others[i-1]
	return o.s, o.err
}

func (s *sources) openSource(i int) opened {
	r, size, err := s.open(i)
	s.ended = err == io.EOF
	if err == nil && r == nil {
		err = errAbsent
	}
	if err != nil {
		return opened{err: err}
	}
	return opened{s: &source{file: file{r, size}}}
}

// try calls f with one source after the other until it returns nil. If all
// failed, it returns the error of them all.
func (s *sources) try(ctx context.Context, f func(*source) error) error {
	var errs []error
	for i := 0; ; i++ {
		src, err := s.get(i)
		if err == io.EOF {
			return allFailed(errs)
		}
		if err == nil {
			err = f(src)
		}
		if err == nil || final(ctx, err) {
			return err
		}
		if err != errAbsent {
			errs = append(errs, err)
		}
	}
}

// final errors are those that other bytes would not help against.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrInvalid)
}

// allFailed is the error of sources none of which is good.
func allFailed(errs []error) error {
	if len(errs) == 0 {
		return errAbsent
	}
	other := func(err error) bool { return !errors.Is(err, ErrDamaged) }
	if len(errs) == 1 || !slices.ContainsFunc(errs, other) {
		return errs[0]
	}
	return &SourcesError{errs}
}
