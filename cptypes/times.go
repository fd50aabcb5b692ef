package cptypes

import (
	"encoding/binary"
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

func (v *moments) WriteTo(w io.Writer) (total int64, err error) {
	if err := v.Update(); err != nil {
		return 0, err
	}
	buf := make([]byte, 8, min(v.Size(), convertBytes))
	binary.LittleEndian.PutUint64(buf, uint64(len(*v.t)))
	for _, t := range *v.t {
		if len(buf)+timeBytes > cap(buf) {
			n, err := w.Write(buf)
			total += int64(n)
			if err != nil {
				return total, err
			}
			buf = buf[:0]
		}
		buf = buf[:len(buf)+timeBytes]
		putTime(buf[len(buf)-timeBytes:], t)
	}
	n, err := w.Write(buf)
	return total + int64(n), err
}

func (v *moments) ReadFrom(r io.Reader) (int64, error) {
	head := make([]byte, 8)
	k, err := io.ReadFull(r, head)
	total := int64(k)
	if err != nil {
		return total, short(err, total, 8)
	}
	n := binary.LittleEndian.Uint64(head)
	if n > math.MaxInt64/timeBytes {
		return total, fmt.Errorf("cptypes: %w: %d times", ErrCorrupt, n)
	}
	var zone zones
	all := make([]time.Time, 0, min(n, trusted/timeBytes))
	buf := make([]byte, min(n*timeBytes, convertBytes))
	for left := n; left > 0; {
		b := buf[:min(left*timeBytes, uint64(len(buf)))]
		k, err := io.ReadFull(r, b)
		total += int64(k)
		if err != nil {
			return total, short(err, total, 8+int64(n)*timeBytes)
		}
		for ; len(b) > 0; b = b[timeBytes:] {
			t, err := zone.time(b)
			if err != nil {
				return total, err
			}
			all = append(all, t)
			left--
		}
	}
	if n > 0 || *v.t != nil {
		*v.t = all
	}
	return total, nil
}
