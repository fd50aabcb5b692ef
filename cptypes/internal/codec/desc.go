package codec

import (
	"encoding/binary"

	"github.com/craft-go/craft/storage/container"
)

// AppendDesc encodes what is stored in front of a value that describes itself: element type
// (byte), dimensions and extents (uvarints), name of the type (uvarint length, bytes).
func AppendDesc(b []byte, d container.Desc) []byte {
	b = append(b, byte(d.Elem))
	b = binary.AppendUvarint(b, uint64(len(d.Shape)))
	for _, n := range d.Shape {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.AppendUvarint(b, uint64(len(d.Type)))
	return append(b, d.Type...)
}

// CutDesc decodes it, and returns what is behind it.
func CutDesc(b []byte) (d container.Desc, rest []byte, ok bool) {
	c := cursor{b: b}
	d.Elem = container.Elem(c.byte())
	d.Shape = make([]int64, c.count())
	for i := range d.Shape {
		d.Shape[i] = c.extent()
	}
	d.Type = c.text()
	return d, c.b, !c.bad
}
