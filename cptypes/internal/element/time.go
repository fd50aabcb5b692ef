package element

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// TimeBytes is the size of a time, which is stored as
//
//	seconds      int64   since 1970-01-01 00:00:00 UTC
//	nanoseconds  uint32  less than 10^9
//	offset       int32   of the time zone, in seconds east of UTC; -2^31: UTC
//
// The instant is kept exactly. Of the zone only the offset is: it comes back as
// time.Local if that has this offset at the time, else without a name. The
// reading of the monotonic clock is dropped.
const TimeBytes = 16

const zoneUTC = math.MinInt32

// PutTime stores a time that CheckZone accepts.
func PutTime(b []byte, t time.Time) {
	binary.LittleEndian.PutUint64(b, uint64(t.Unix()))
	binary.LittleEndian.PutUint32(b[8:], uint32(t.Nanosecond()))
	offset := int32(zoneUTC)
	if t.Location() != time.UTC {
		_, seconds := t.Zone()
		offset = int32(seconds)
	}
	binary.LittleEndian.PutUint32(b[12:], uint32(offset))
}

// Zones makes times. It remembers the last zone, so that a million times of one
// zone share it.
type Zones struct {
	offset int
	zone   *time.Location
}

// Time is the stored one.
func (z *Zones) Time(b []byte) (time.Time, error) {
	nanoseconds := binary.LittleEndian.Uint32(b[8:])
	if nanoseconds >= 1e9 {
		return time.Time{}, fmt.Errorf("cptypes: %w: a time has %d nanoseconds", ErrCorrupt, nanoseconds)
	}
	t := time.Unix(int64(binary.LittleEndian.Uint64(b)), int64(nanoseconds))
	offset := int(int32(binary.LittleEndian.Uint32(b[12:])))
	if offset == zoneUTC {
		return t.UTC(), nil
	}
	if _, local := t.Zone(); local == offset {
		return t, nil
	}
	if z.zone == nil || z.offset != offset {
		z.offset, z.zone = offset, time.FixedZone("", offset)
	}
	return t.In(z.zone), nil
}

// CheckZone refuses the offsets that PutTime has no room for: no zone on earth
// is 68 years away from another.
func CheckZone(t time.Time) error {
	if _, offset := t.Zone(); int64(offset) <= math.MinInt32 || int64(offset) > math.MaxInt32 {
		return fmt.Errorf("cptypes: %w: a time whose zone is %d seconds east of UTC: allowed are 32 bits; use In or UTC", ErrUnsupported, offset)
	}
	return nil
}
