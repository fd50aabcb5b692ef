package cptypes

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/craft-go/craft/storage/container"
)

// moment is a time.Time: see putTime for how it is stored. Unlike
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

// checkZone refuses the offsets that putTime has no room for: no zone on earth
// is 68 years away from another.
func checkZone(t time.Time) error {
	if _, offset := t.Zone(); int64(offset) <= math.MinInt32 || int64(offset) > math.MaxInt32 {
		return fmt.Errorf("cptypes: %w: a time whose zone is %d seconds east of UTC: allowed are 32 bits; use In or UTC", ErrUnsupported, offset)
	}
	return nil
}

func (v *moment) Update() error { return checkZone(*v.t) }

func (v *moment) Describe() Desc { return Desc{Elem: container.Opaque, Type: "time.Time"} }

func (v *moment) Size() int64 { return timeBytes }

func (v *moment) Resize(stored Desc) error { return sameKind(stored, v.Describe()) }

func (v *moment) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	b := make([]byte, timeBytes)
	putTime(b, *v.t)
	n, err := w.Write(b)
	return int64(n), err
}

func (v *moment) ReadFrom(r io.Reader) (int64, error) {
	b := make([]byte, timeBytes)
	n, err := io.ReadFull(r, b)
	if err != nil {
		return int64(n), short(err, int64(n), timeBytes)
	}
	t, err := new(zones).time(b)
	if err == nil {
		*v.t = t
	}
	return timeBytes, err
}

func (v *moments) Update() error {
	for i, t := range *v.t {
		if err := checkZone(t); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

func (v *moments) Describe() Desc { return Desc{Elem: container.Opaque, Type: "[]time.Time"} }

func (v *moments) Size() int64 { return 8 + timeBytes*int64(len(*v.t)) }

func (v *moments) Resize(stored Desc) error { return sameKind(stored, v.Describe()) }

func (v *moments) WriteTo(w io.Writer) (int64, error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	out := &counted{w: w}
	err := writeRecords(out, len(*v.t), timeBytes, func(b []byte, i int) { putTime(b, (*v.t)[i]) })
	return out.n, err
}

func (v *moments) ReadFrom(r io.Reader) (int64, error) {
	src := &watched{r: r}
	n, err := readCount(src)
	if err != nil {
		return src.n, err
	}
	var zone zones
	all := make([]time.Time, 0, min(n, trusted/timeBytes))
	err = readRecords(src, n, timeBytes, func(b []byte) error {
		t, err := zone.time(b)
		all = append(all, t)
		return err
	})
	if err == nil && (n > 0 || *v.t != nil) {
		*v.t = all
	}
	return src.n, err
}
