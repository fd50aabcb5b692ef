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

// sources are the sources of a file. The first is opened before the file is used
// by more than one goroutine.
type sources struct {
	open Sources // nil: there is only the first
	head opened

	mu     sync.Mutex
	others []opened // those after the first that have been asked for
	ended  bool     // there are no more
}

// opened is a source that has been asked for.
type opened struct {
	asked bool
	s     *source
	err   error
}

// only makes r the only source.
func (s *sources) only(r io.ReaderAt, size int64) {
	s.head = opened{asked: true, s: &source{file: file{r, size}}}
}

// get returns source i; io.EOF if there are no more.
func (s *sources) get(i int) (*source, error) {
	if i == 0 {
		if !s.head.asked {
			s.head = s.ask(0)
			s.ended = s.head.err == io.EOF
		}
		return s.head.s, s.head.err
	}
	if s.open == nil {
		return nil, io.EOF
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.others) < i {
		if s.ended {
			return nil, io.EOF
		}
		next := s.ask(len(s.others) + 1)
		if next.err == io.EOF {
			s.ended = true
			continue
		}
		s.others = append(s.others, next)
	}
	o := s.others[i-1]
	return o.s, o.err
}

func (s *sources) ask(i int) opened {
	r, size, err := s.open(i)
	switch {
	case err != nil:
		return opened{true, nil, err}
	case r == nil:
		return opened{true, nil, errAbsent}
	}
	return opened{true, &source{file: file{r, size}}, nil}
}

// try calls f with one source after the other until it returns nil. If all
// failed, it returns the error of them all.
func (s *sources) try(ctx context.Context, f func(*source) error) error {
	src, err := s.get(0)
	if err == nil {
		err = f(src)
	}
	if err == nil || !s.more(ctx, err) {
		return err
	}
	return s.rest(ctx, err, f)
}

// more says whether there may be another source to try after an error of the
// first.
func (s *sources) more(ctx context.Context, err error) bool { return s.open != nil && !final(ctx, err) }

// final errors are those that other bytes would not help against.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrInvalid)
}

// rest is try for the sources after the first, whose error it gets.
func (s *sources) rest(ctx context.Context, first error, f func(*source) error) error {
	var errs []error
	if first != errAbsent && first != io.EOF {
		errs = append(errs, first)
	}
	for i := 1; ; i++ {
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
