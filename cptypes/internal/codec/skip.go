package codec

import (
	"io"
	"math"
)

// skip leaves out bytes.
func (d *decoder) skip(n int) error {
	for {
		k := min(n, d.n-d.i)
		d.i += k
		if n -= k; n == 0 {
			return nil
		}
		if err := d.need(1); err != nil {
			return err
		}
	}
}

// skipMany leaves out n values of a stored type.
func (d *decoder) skipMany(node int, n uint64) error {
	size := d.types[node].size
	if size >= 0 {
		if size > 0 && n > uint64(math.MaxInt)/uint64(size) {
			return d.short(io.EOF)
		}
		return d.skip(int(n) * int(size))
	}
	for range n { // each takes at least a byte
		if err := d.skipType(node); err != nil {
			return err
		}
	}
	return nil
}

// skipType leaves out a value of a stored type.
func (d *decoder) skipType(node int) error {
	t := &d.types[node]
	if t.size >= 0 {
		return d.skip(int(t.size))
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer func() { d.depth-- }()
	switch t.kind {
	case kindStruct:
		for _, f := range t.fields {
			if err := d.skipType(f.node); err != nil {
				return within("."+f.name, err)
			}
		}
		return nil
	case kindArray:
		return d.skipMany(t.elem, uint64(t.length))
	case kindString, kindCustom:
		n, err := d.length()
		if err != nil {
			return err
		}
		return d.skip(n)
	}
	n, err := d.uvarint()
	if err != nil || n == 0 {
		return err
	}
	switch t.kind {
	case kindPointer:
		if n != 1 {
			return corruptf("a pointer is nil (0) or not (1), not %d", n)
		}
		return d.skipType(t.elem)
	case kindMap:
		if err := d.skipMany(t.key, n-1); err != nil {
			return err
		}
	}
	return d.skipMany(t.elem, n-1)
}
