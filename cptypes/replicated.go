package cptypes

import (
	"fmt"

	"github.com/craft-go/craft/storage/container"
)

// Replicated declares that v, which is anything that Of takes, has the same
// value on every rank. It is stored once, and may be read on any number of
// ranks. Ranks that disagree when it is written are an error of the write: they
// are compared byte by byte, so a WriteTo of an own type must always give the
// same bytes for the same value (not so: gob of a map).
//
// The abilities of v's Value stay: only its distribution changes. A
// partitioned value cannot be replicated; that is an error of Of.
func Replicated(v any) Value {
	inner, err := Of(v)
	if err != nil {
		return &invalid{err}
	}
	switch DescOf(inner).Dist {
	case container.Replicated:
		return inner
	case container.Partitioned:
		return &invalid{fmt.Errorf("cptypes: %w: Replicated(%T): it is partitioned, so not the same on every rank",
			ErrUnsupported, v)}
	}
	if z, ok := inner.(Sizer); ok {
		return sizedReplicated{replicated{inner}, z}
	}
	return replicated{inner}
}

// replicated describes a value as replicated. It has those abilities that can say that the
// value in it has them not.
type replicated struct{ Value }

type sizedReplicated struct {
	replicated
	Sizer
}

var (
	_ Updater = replicated{}
	_ Spanner = replicated{}
	_ Resizer = replicated{}
)

func (v replicated) bare() Value { return v.Value }

func (v replicated) Describe() Desc {
	d := DescOf(v.Value)
	d.Dist = container.Replicated
	return d
}

func (v replicated) Update() error { return update(v.Value) }

func (v replicated) Spans() ([][]byte, bool) {
	if s, ok := v.Value.(Spanner); ok {
		return s.Spans()
	}
	return nil, false
}

// Resize hides the distribution from the value.
func (v replicated) Resize(stored Desc) error {
	have := v.Describe()
	if stored.Dist != have.Dist {
		return sameKind(stored, have)
	}
	stored.Dist = container.Local
	err := MakeRoom(v.Value, stored)
	if m, ok := err.(*MismatchError); ok {
		stored.Dist = container.Replicated
		return &MismatchError{Stored: stored, Have: have, Reason: m.Reason}
	}
	return err
}
