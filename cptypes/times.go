package cptypes

import (
	"fmt"
	"io"
	"time"

	"github.com/craft-go/craft/cptypes/internal/element"
	"github.com/craft-go/craft/storage/container"
)

// moment is a time.Time: see element.PutTime for how it is stored. Unlike
// Time.MarshalBinary it takes offsets of any number of seconds.
type moment struct{ t *time.Time }

// moments is a []time.Time: the number as uint64, then each time.
type moments struct{ t *[]time.Time }

var (
	_ measured = (*moment)(nil)
	_ Updater  = (*moment)(nil)
	_ measured = (*moments)(nil)
	_ Updater  = (*moments)(nil)
)

func (v *moment) Update() error            { return element.CheckZone(*v.t) }
func (v *moment) Describe() Desc           { return Desc{Elem: container.Opaque, Type: "time.Time"} }
func (v *moment) Size() int64              { return element.TimeBytes }
func (v *moment) Resize(stored Desc) error { return sameKind(stored, v.Describe()) }

func (v *moment) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	b := make([]byte, element.TimeBytes)
	element.PutTime(b, *v.t)
	n, err := w.Write(b)
	return int64(n), err
}

func (v *moment) ReadFrom(r io.Reader) (int64, error) {
	b := make([]byte, element.TimeBytes)
	n, err := io.ReadFull(r, b)
	if err != nil {
		return int64(n), element.Short(err, int64(n), element.TimeBytes)
	}
	t, err := new(element.Zones).Time(b)
	if err == nil {
		*v.t = t
	}
	return element.TimeBytes, err
}

func (v *moments) Update() error {
	for i, t := range *v.t {
		if err := element.CheckZone(t); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (v *moments) Describe() Desc           { return Desc{Elem: container.Opaque, Type: "[]time.Time"} }
func (v *moments) Size() int64              { return 8 + element.TimeBytes*int64(len(*v.t)) }
func (v *moments) Resize(stored Desc) error { return sameKind(stored, v.Describe()) }

func (v *moments) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	out := &counted{w: w}
	err := writeRecords(out, len(*v.t), element.TimeBytes, func(b []byte, i int) { element.PutTime(b, (*v.t)[i]) })
	return out.n, err
}

func (v *moments) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	n, err := readCount(src)
	if err != nil {
		return src.n, err
	}
	var zone element.Zones
	all := make([]time.Time, 0, min(n, element.Trusted/element.TimeBytes))
	err = readRecords(src, n, element.TimeBytes, func(b []byte) error {
		t, err := zone.Time(b)
		all = append(all, t)
		return err
	})
	if err == nil && (n > 0 || *v.t != nil) {
		*v.t = all
	}
	return src.n, err
}
