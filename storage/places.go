package storage

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// OpenPlaces opens the first of some places of the same bytes that has them; the others are
// opened when Another is called, in their order. ctx is for as long as the reader is open.
//
// The errors of places that could not be opened come when none is left. What is not there
// counts only where nothing else went wrong: the bytes may be there later.
func OpenPlaces(ctx context.Context, places []func() (PartReader, error)) (Redundant, error) {
	p := &openPlaces{ctx: ctx, rest: places}
	first, err := p.Another()
	switch {
	case err != nil:
		return nil, err
	case first == nil:
		return nil, ErrNotFound
	}
	p.PartReader = first
	return p, nil
}

type openPlaces struct {
	PartReader // the first one that could be opened

	ctx    context.Context
	rest   []func() (PartReader, error)
	opened []PartReader // of all
	failed []error      // why others could not be, until somebody is told
}

// Another implements Redundant.
func (p *openPlaces) Another() (PartReader, error) {
	for len(p.rest) > 0 {
		if p.ctx.Err() != nil {
			p.failed, p.rest = append(p.failed, context.Cause(p.ctx)), nil
			break
		}
		open := p.rest[0]
		p.rest = p.rest[1:]
		r, err := open()
		if err == nil {
			p.opened = append(p.opened, r)
			return r, nil
		}
		p.failed = append(p.failed, err)
	}
	if len(p.failed) == 0 {
		return nil, nil
	}
	all := p.failed
	p.failed = nil
	if wrong := slices.DeleteFunc(slices.Clone(all), func(err error) bool { return errors.Is(err, ErrNotFound) }); len(wrong) > 0 {
		all = wrong
	}
	return nil, JoinPlaces(all...)
}

// Close closes all that was opened.
func (p *openPlaces) Close() error {
	var errs []error
	for _, r := range p.opened {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}

// JoinPlaces joins the errors of all places that could have given some bytes, or what
// they are made from; nil ones do not count. What is wrong or not there in some of them
// says nothing while another one may have it: the error matches ErrDamaged or ErrNotFound
// only if none of them is Passing.
func JoinPlaces(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	if len(errs) < 2 {
		return errors.Join(errs...)
	}
	passing := slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return !Passing(err) })
	if len(passing) == 0 {
		passing = errs
	}
	return &placesError{errs, passing}
}

// placesError matches only those of its errors that count.
type placesError struct{ all, count []error }

func (e *placesError) Error() string {
	var texts []string
	for _, err := range e.all {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

func (e *placesError) Unwrap() []error { return e.count }
