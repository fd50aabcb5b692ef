package container

import (
	"context"
	"io"
	"slices"

	"github.com/zeebo/xxh3"
)

// minReferenced is the raw size from which a chunk may be a reference: below it,
// the chunk takes hardly more than the reference to it.
const minReferenced = 1 << 10

// EncodeDelta is Encode with references: of what d knows to be stored already in
// versions that keep all promises of this grade it stores only where it is. d may be
// nil: that is Encode. After an error d is as before.
func (e *Encoder) EncodeDelta(ctx context.Context, w io.Writer, h Header, sections []Section, d *Delta, grade uint64) (Stats, error) {
	if d == nil {
		return e.Encode(ctx, w, h, sections)
	}
	oldest, ok := d.begin(&h, grade, w)
	if !ok {
		return Stats{}, invalidf("EncodeDelta is called while another one with the same Delta runs")
	}
	encoded := false
	defer func() { d.end(encoded) }() // also when a Source panics
	if oldest == 0 || h.Oldest == 0 || h.Oldest > oldest {
		h.Oldest = oldest
	} // else the caller knows a version that holds for the parts of all ranks
	stats, err := e.encodeFile(ctx, w, h, sections, &d.run)
	encoded = err == nil
	return stats, err
}

// deltaRun is the part of an EncodeDelta that deals with references. It is kept
// for the next one.
type deltaRun struct {
	base *view // that of an older version; nil: none, the version is full
	// repeats: the chunks of base are repeated, not referred to.
	repeats bool
	next    *view // being made

	// The encoding goroutine's.
	section []location // those of base for the current section
	geom    geometry

	// The writer's.
	used  []bool   // files of base that are referred to
	index []uint16 // their places in the files of next
}

// begin chooses what to refer to. The oldest version that may be is returned; 0:
// none.
func (d *Delta) begin(h *Header, grade uint64, w io.Writer) (oldest uint64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.busy {
		return 0, false
	}
	d.busy = true
	d.drop()
	of := identity{h.Name, h.Attempt, h.Rank, h.Size}
	if of != d.of || len(d.views) > 0 && d.views[0].version >= h.Version {
		d.forget()
		d.of = of
	}
	r := &d.run
	*r = deltaRun{next: d.take(), used: r.used[:0], index: r.index[:0]}
	d.current = r.next
	r.next.version, r.next.grade = h.Version, grade
	if repeat := d.repeat; repeat != 0 {
		d.repeat = 0
		if to, can := w.(Repeater); can && to.Base(repeat) {
			r.base = d.fullView(repeat)
		}
		r.repeats = r.base != nil
		return 0, true
	}
	for _, v := range d.views {
		if grade&^v.grade == 0 && len(v.files) < maxRefs {
			r.base = v
			break
		}
	}
	if r.base == nil {
		return 0, true
	}
	r.used = append(r.used, make([]bool, len(r.base.files))...)
	r.index = append(r.index, make([]uint16, len(r.base.files))...)
	return r.base.files[0].version, true
}

func (d *Delta) end(encoded bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
	d.run.base, d.run.section = nil, nil
	if !encoded {
		d.drop()
	}
}

// enter makes section i the current one. Chunks at which nobody has looked, as it has to
// be done with this one, are not known.
func (r *deltaRun) enter(i int, e *entry) {
	r.section = nil
	if r.base == nil {
		return
	}
	if s := r.base.find(i, e.key); s != nil && (e.inspected == Opaque || e.inspected == s.inspected) {
		r.section, r.geom = r.base.chunks[s.first:][:s.geom.chunks()], s.geom
	}
}

// find returns the section with a key, which mostly is section i.
func (v *view) find(i int, key string) *viewSection {
	if i < len(v.sections) && v.sections[i].key == key {
		return &v.sections[i]
	}
	if v.byKey == nil {
		v.byKey = make(map[string]int, len(v.sections))
		for i := range v.sections {
			v.byKey[v.sections[i].key] = i
		}
	}
	if i, ok := v.byKey[key]; ok {
		return &v.sections[i]
	}
	return nil
}

// known returns where chunk c of the current section, with n raw bytes, was
// last; nil if that is not known.
func (r *deltaRun) known(c, n, chunkSize int) *location {
	if c >= len(r.section) || r.geom.chunkSize != chunkSize || r.geom.rawLen(c) != n {
		return nil
	}
	l := &r.section[c]
	if l.hash == (xxh3.Uint128{}) {
		return nil
	}
	return l
}

// add enters a chunk that has been written. The writer calls it in order.
func (r *deltaRun) add(rec *chunkRecord, hash xxh3.Uint128) {
	to := *rec
	if rec.kind == kindReference {
		r.used[rec.ref] = true
	} else {
		to.kind, to.there = kindReference, rec.kind // in which file, finish says
	}
	r.next.chunks = append(r.next.chunks, location{hash, to})
}

// finish completes the new view but for its own file, and gives x the table of
// versions: the files that are referred to.
func (r *deltaRun) finish(x *index) {
	v := r.next
	x.refs = x.refs[:0]
	for i, used := range r.used {
		if used {
			r.index[i] = uint16(len(x.refs))
			x.refs = append(x.refs, r.base.files[i])
		}
	}
	for i := range x.chunks {
		if rec := &x.chunks[i]; rec.kind == kindReference {
			rec.ref = r.index[rec.ref]
			v.chunks[i].reference.ref = rec.ref
		} else {
			v.chunks[i].reference.ref = uint16(len(x.refs))
		}
	}
	v.files = append(v.files, x.refs...)
	v.sections = slices.Grow(v.sections, len(x.entries))
	for i := range x.entries {
		e := &x.entries[i]
		v.sections = append(v.sections, viewSection{e.key, e.geom, e.first, e.inspected})
	}
}

// seal enters the new version's own file.
func (r *deltaRun) seal(headerCRC, footerCRC uint32) {
	v := r.next
	v.files = append(v.files, ref{version: v.version, headerCRC: headerCRC, footerCRC: footerCRC})
}
