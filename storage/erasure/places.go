package erasure

import (
	"errors"

	"github.com/craft-go/craft/storage"
)

// OpenPlaces opens a parity file in the first of its places that has one, for Open. Where ranks
// have moved there are files of several sets under one name, each in its place.
func OpenPlaces(places []func() (storage.PartReader, error)) (storage.PartReader, error) {
	p := &parityPlaces{rest: places}
	first, err := p.Another()
	switch {
	case err != nil:
		return nil, err
	case first == nil:
		return nil, storage.ErrNotFound
	}
	p.PartReader = first
	return p, nil
}

type parityPlaces struct {
	storage.PartReader // the first one that could be opened

	rest   []func() (storage.PartReader, error)
	opened []storage.PartReader // of all
	failed []error              // why others could not be, until somebody is told
}

var _ storage.Redundant = (*parityPlaces)(nil)

// Another implements storage.Redundant. The errors of the places that could not be opened
// come when none is left.
func (p *parityPlaces) Another() (storage.PartReader, error) {
	for len(p.rest) > 0 {
		open := p.rest[0]
		p.rest = p.rest[1:]
		r, err := open()
		if err == nil {
			p.opened = append(p.opened, r)
			return r, nil
		}
		p.failed = append(p.failed, err)
	}
	err := storage.JoinPlaces(p.failed...)
	p.failed = nil
	return nil, err
}

func (p *parityPlaces) Close() error {
	var errs []error
	for _, r := range p.opened {
		errs = append(errs, r.Close())
	}
	return errors.Join(errs...)
}
