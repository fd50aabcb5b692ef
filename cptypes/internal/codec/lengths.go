package codec

import "unsafe"

// Lengths passes on the lengths of the slices in the variable at p, by their paths: those in
// structs in it, and behind pointers, but not those in elements of slices and maps.
func (c *Codec) Lengths(p unsafe.Pointer, each func(path string, n int)) { c.root.lengths(p, "", each) }

func (pr *program) lengths(p unsafe.Pointer, path string, each func(path string, n int)) {
	for i := range pr.code {
		o := &pr.code[i]
		q := unsafe.Add(p, o.off)
		switch o.kind {
		case opSlice:
			each(path+o.path, (*sliceHeader)(q).len)
		case opPointer:
			if to := *(*unsafe.Pointer)(q); to != nil && !o.sub.recursive {
				o.sub.lengths(to, path+o.path, each)
			}
		}
	}
}
