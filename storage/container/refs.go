package container

import (
	"fmt"
	"math"
)

const (
	// maxRefs bounds the table of versions; an index into it has 16 bits.
	maxRefs = 1 << 16

	refSize = 16
)

// ref is an entry of the table of versions: a file that has chunks of this one.
// The checksums tell it from every other file.
type ref struct {
	version   uint64
	headerCRC uint32
	footerCRC uint32

	// What the file must have: chunks from begin to end. Not stored.
	begin, end int64
}

func appendRefs(b []byte, refs []ref) []byte {
	b = le.AppendUint32(b, uint32(len(refs)))
	for i := range refs {
		b = le.AppendUint64(b, refs[i].version)
		b = le.AppendUint32(b, refs[i].headerCRC)
		b = le.AppendUint32(b, refs[i].footerCRC)
	}
	return b
}

// references decodes the table of versions, which follows the section records
// if the header says that chunks may be in other files, and checks the chunk
// records that use it.
func (f *footerParser) references() error {
	if f.x.table = f.h.Oldest != 0; f.x.table {
		if err := f.refTable(); err != nil {
			return err
		}
	}
	for i := range f.x.entries {
		e := &f.x.entries[i]
		chunks := f.x.chunksOf(e)
		for c := range chunks {
			if chunks[c].kind != kindReference {
				continue
			}
			if p := f.x.use(&chunks[c]); p != "" {
				return f.damage(e.key, fmt.Sprintf("chunk %d: %s", c, p))
			}
		}
	}
	return nil
}

func (f *footerParser) refTable() error {
	n := f.u32("number of versions")
	if f.bad == "" && (n > maxRefs || int64(n) > int64(len(f.p)-f.off)/refSize) {
		return f.damage("", fmt.Sprintf("%d versions do not fit", n))
	}
	f.x.refs = make([]ref, 0, n)
	oldest := f.h.Oldest
	for range n {
		r := ref{version: f.u64("versions"), headerCRC: f.u32("versions"), footerCRC: f.u32("versions"), begin: math.MaxInt64}
		if r.version < oldest || r.version >= f.h.Version {
			return f.damage("", fmt.Sprintf("version %d in the table of versions (allowed: ascending from %d to %d)", r.version, oldest, f.h.Version-1))
		}
		oldest = r.version + 1
		f.x.refs = append(f.x.refs, r)
	}
	if f.bad != "" {
		return f.damage("", f.bad)
	}
	return nil
}

// use enters what a reference needs of its file; it returns what is wrong with
// the reference, or "".
func (x *index) use(r *chunkRecord) string {
	if int(r.ref) >= len(x.refs) {
		return fmt.Sprintf("is in version %d of the %d in the table of versions", r.ref, len(x.refs))
	}
	if r.offset < preambleSize || r.offset > math.MaxInt64-int64(r.stored) {
		return fmt.Sprintf("is at offset %d of another file", r.offset)
	}
	to := &x.refs[r.ref]
	to.begin = min(to.begin, r.offset)
	to.end = max(to.end, r.offset+int64(r.stored))
	return ""
}
