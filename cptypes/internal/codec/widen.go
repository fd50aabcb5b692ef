package codec

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/craft-go/craft/storage/container"
)

// widen reads a number that was stored with fewer bits than it has now.
func (d *decoder) widen(o *op, q unsafe.Pointer) error {
	from := container.Elem(o.from)
	if err := d.need(from.Size()); err != nil {
		return err
	}
	b := d.buf[d.i:]
	d.i += from.Size()
	var wide [16]byte // as it would be stored now
	switch from {
	case container.Float32:
		widenFloat(wide[:], b)
	case container.Complex64:
		widenFloat(wide[:], b)
		widenFloat(wide[8:], b[4:])
	default:
		x := uint64(b[0])
		switch from.Size() {
		case 2:
			x = uint64(binary.LittleEndian.Uint16(b))
		case 4:
			x = uint64(binary.LittleEndian.Uint32(b))
		}
		if unused := 64 - 8*from.Size(); signedElem(from) {
			x = uint64(int64(x<<unused) >> unused)
		}
		binary.LittleEndian.PutUint64(wide[:], x)
	}
	return o.conv.Decode(q, wide[:], 1)
}

func widenFloat(dst, src []byte) {
	x := math.Float32frombits(binary.LittleEndian.Uint32(src))
	binary.LittleEndian.PutUint64(dst, math.Float64bits(float64(x)))
}
