package container

import "io"

// Repeater is a writer that has files of earlier versions, of which it takes bytes itself.
type Repeater interface {
	io.Writer
	// Base reports whether it has the file of an earlier version, which Repeat is about from now on.
	Base(version uint64) bool
	// Repeat is Write of n bytes at off of that file.
	Repeat(off int64, n int) error
}

// RepeatOf has the next EncodeDelta refer to no version. What it knows to be in the file of this one,
// which refers to none, its writer is told to repeat, if it is a Repeater.
func (d *Delta) RepeatOf(version uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.repeat = version
}

// fullView is what is known of a version that refers to no other; nil if nothing is. The lock is held.
func (d *Delta) fullView(version uint64) *view {
	for _, v := range d.views {
		if v.version == version && len(v.files) == 1 {
			return v
		}
	}
	return nil
}

// repeated makes the record of a chunk that the base has, as if it were stored anew.
func (j *job) repeated() chunkRecord {
	in := j.known.reference
	j.from = in.offset
	return chunkRecord{stored: in.stored, kind: in.there, crc: in.crc, rawCRC: in.rawCRC}
}

// repeat takes bytes of the base.
func (o *output) repeat(off int64, n int) error {
	if err := o.flush(); err != nil {
		return err
	}
	o.off += int64(n)
	return o.w.(Repeater).Repeat(off, n)
}
