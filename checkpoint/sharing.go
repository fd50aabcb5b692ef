package checkpoint

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// Values that lie in the same memory are stored one by one, and a restart would read
// one over another (docs/decisions/0022). A version says which of its values did: those
// may do so after a restart, too, if what is stored of them agrees. Others get memory of
// their own, and where that cannot be, what is stored must agree as well.

// sharing is a list of groups of values, by their indices.
type sharing [][]int

// groups puts together what overlaps.
func groups(pairs [][2]int) sharing {
	var out sharing
	at := make(map[int]int) // index in out
	for _, p := range pairs {
		a, inA := at[p[0]]
		b, inB := at[p[1]]
		switch {
		case inA && inB && a != b:
			for _, i := range out[b] {
				at[i] = a
			}
			out[a], out[b] = append(out[a], out[b]...), nil
			continue
		case !inA && inB:
			a = b
		case !inA:
			a = len(out)
			out = append(out, nil)
		}
		for _, i := range p {
			if _, is := at[i]; !is {
				at[i] = a
				out[a] = append(out[a], i)
			}
		}
	}
	return out
}

// maxSharing is how many bytes a header may say about shared memory.
const maxSharing = 512 << 10

// encode writes, for each group, the number of its values and their indices. In front of
// them are those values that were not looked at whole, each as a group behind an empty
// one; if there is too much to say, an empty group alone says that nothing is known.
func (s sharing) encode(unseen []int) []byte {
	var b []byte
	for _, i := range unseen {
		b = binary.AppendUvarint(append(b, 0, 1), uint64(i))
	}
	for _, group := range s {
		if len(group) == 0 {
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(group)))
		for _, i := range group {
			b = binary.AppendUvarint(b, uint64(i))
		}
	}
	if len(b) > maxSharing {
		return []byte{0}
	}
	return b
}

// decodeSharing leaves out what makes no sense: then there is one group less.
func decodeSharing(b []byte) sharing {
	next := func() int {
		x, n := binary.Uvarint(b)
		if n <= 0 || x > 1<<31 {
			b = nil
			return -1
		}
		b = b[n:]
		return int(x)
	}
	var s sharing
	for len(b) > 0 {
		n := next()
		var group []int
		for len(group) < n && len(b) > 0 {
			group = append(group, next())
		}
		s = append(s, group)
	}
	return s
}

// noteSharing says in the header which values lie in the same memory.
func (r *registry) noteSharing(h *container.Header) {
	pairs := r.overlaps.Find(r.values, true, nil)
	if b := groups(pairs).encode(r.overlaps.Unseen()); len(b) > 0 {
		h.Fields = h.Fields.With(container.FieldSharing, b)
	}
}

// storedSharing is what a version says about which of its values shared memory.
type storedSharing struct {
	group  map[string]int  // the number of a key's group
	unseen map[string]bool // keys of values that were not looked at whole
	none   bool            // nothing was looked at
}

// parseSharing reads what noteSharing has said of the values with these keys, by their
// order in the part.
func parseSharing(field []byte, keys []string) storedSharing {
	n := storedSharing{group: make(map[string]int), unseen: make(map[string]bool)}
	for g, group := range decodeSharing(field) {
		for _, i := range group {
			switch {
			case i < 0 || i >= len(keys):
			case n.none: // there was an empty group before
				n.unseen[keys[i]] = true
			default:
				n.group[keys[i]] = g + 1
			}
		}
		n.none = len(group) == 0
	}
	return n
}

// together reports whether two values, or parts of one, are known to have shared memory.
func (n storedSharing) together(a, b string) bool { return n.group[a] != 0 && n.group[a] == n.group[b] }

// unknown reports whether they may have, without the version saying so.
func (n storedSharing) unknown(a, b string) bool {
	return !n.together(a, b) && (n.none || n.unseen[a] || n.unseen[b])
}

// separate gives the values that are read now memory of their own, and finds those that
// stay together with another one.
func (m *arrangement) separate(late bool) error {
	reg, then := m.reg, m.then
	reads := func(i int) bool { return m.reads(i, late) }
	tried := make(map[[2]int]int)
	m.with, m.within = make(map[string]string), make(map[string]bool)
	for again := true; again; {
		again = false
		pairs := reg.overlaps.Find(reg.values, false, m.absent)
		move, done := m.companions(pairs), make(map[departure]bool)
		for _, p := range pairs {
			a, b := reg.entries[p[0]], reg.entries[p[1]]
			switch {
			case !reads(p[0]) && !reads(p[1]):
			case tried[p] >= 2 && (m.absent(p[0]) || m.absent(p[1])):
				again = m.leavesAlone(p, tried, move) || again
			case then.together(a.key, b.key), tried[p] >= 2:
				if p[0] == p[1] {
					m.within[a.key] = true
				}
				if reads(p[0]) && reads(p[1]) && (a.key != b.key || m.with[a.key] == "") {
					m.with[a.key], m.with[b.key] = b.key, a.key
				}
			default:
				again = true
				m.part(p, tried[p], move, done, late)
				if tried[p]++; tried[p] == 1 && !m.absent(p[0]) && !m.absent(p[1]) && then.unknown(a.key, b.key) {
					reg.log.Warn("values, or parts of one, lie in the same memory, and the version does not say whether they did when it was written: there was too much to look at; each gets memory of its own",
						"version", m.version, "key", a.key, "other_key", b.key)
				}
			}
		}
	}
	moved, err := m.leaveFamily(late)
	if err != nil || len(tried)+len(m.with) == 0 && !moved {
		return err
	}
	return m.makeRooms(late) // the resizing of one may have been that of another
}

// leaveEmpty parts variables that refer to nothing of size yet from those that the version lacks,
// which would get the size with them.
func (m *arrangement) leaveEmpty(late bool) {
	empty := make(map[int]bool)
	for i, e := range m.reg.entries {
		if m.reads(i, late) && slices.Contains(cptypes.DescOf(e.value).Shape, 0) {
			empty[i] = true
		}
	}
	if len(empty) == 0 || len(m.stored) == len(m.reg.entries) {
		return
	}
	for _, p := range m.reg.overlaps.Find(m.reg.values, false, m.absent) {
		for k, i := range p {
			if other := p[1-k]; empty[i] && m.absent(other) {
				m.move([]int{i}, m.reg.values[other], true)
			}
		}
	}
}

// departure is what was done about values that are to be in other memory than another one.
type departure struct {
	first, from int // of the companions, and the other one
	read        bool
}

// part moves one of two values, at the second try the other one, and with it what it is to
// stay together with. Done are those that were moved, and what from, since the pairs were found.
func (m *arrangement) part(p [2]int, tried int, move companions, done map[departure]bool, late bool) {
	if p[0] == p[1] {
		m.moved = true
		cptypes.SeparateParts(m.reg.entries[p[0]].value)
		return
	}
	which := m.movesFirst(p) ^ tried
	all := move.of(p[which])
	d := departure{all[0], p[1-which], m.reads(p[which], late)}
	if !done[d] {
		done[d] = true
		m.move(all, m.reg.values[d.from], d.read)
	}
}

// leavesAlone moves a value that the version lacks away from one that it has by itself, where
// it could not be with those that are to stay in its memory: rather that it is apart from them
// than that it changes. That it changes is said.
func (m *arrangement) leavesAlone(p [2]int, tried map[[2]int]int, move companions) (moved bool) {
	lacks, has := p[0], p[1]
	if m.absent(p[1]) {
		lacks, has = has, lacks
	}
	a, b := m.reg.entries[lacks], m.reg.entries[has]
	if tried[p] == 2 && move[lacks] != nil {
		tried[p] = 3
		m.move([]int{lacks}, b.value, false)
		return true
	}
	if tried[p] < 4 && !cptypes.OneVariable(a.value, b.value) {
		m.reg.log.Warn("a value that the version lacks lies in the same memory as one that it has, and cannot be put apart: it changes with that",
			"version", m.version, "key", a.key, "other_key", b.key)
	}
	tried[p] = 4
	return false
}

func (m *arrangement) move(which []int, from cptypes.Value, read bool) {
	m.moved = true
	var values []cptypes.Value
	for _, i := range which {
		values = append(values, m.reg.values[i])
	}
	cptypes.Separate(values, from, read)
}

// movesFirst says which of two values is moved, if it can be: one that is read rather than
// one that is not, unless it shared memory, which it might leave, when it was stored.
func (m *arrangement) movesFirst(p [2]int) int {
	free := func(i int) bool {
		key := m.reg.entries[i].key
		return !m.absent(i) && m.then.group[key] == 0 && !m.kin.of(key)
	}
	switch {
	case free(p[1]):
		return 1
	case free(p[0]), m.absent(p[0]):
		return 0
	}
	return 1
}

// loadTogether reads the values that lie in the same memory as another one, and makes
// sure that each still holds what was read.
func (r *restoration) loadTogether(ctx context.Context) error {
	seed, sums := maphash.MakeSeed(), make(map[string]uint64)
	sum := func(e entry) uint64 {
		var h maphash.Hash
		h.SetSeed(seed)
		_, _ = e.value.WriteTo(&h) // of what does not give all its bytes those that it does
		return h.Sum64()
	}
	for _, e := range r.reg.entries {
		if r.mem.with[e.key] == "" {
			continue
		}
		if have, stored := cptypes.DescOf(e.value), r.mem.stored[e.key].Desc; stored.Dist != container.Partitioned && !slices.Equal(have.Shape, stored.Shape) {
			return r.mem.sameMemory(e.key)
		}
		if err := r.loadAlone(ctx, e); errors.Is(err, cptypes.ErrLength) {
			return r.mem.sameMemory(e.key) // with the other one it got that one's length
		} else if err != nil {
			return err
		}
		if s := sum(e); s == sum(e) { // else its bytes say nothing
			sums[e.key] = s
		}
	}
	for _, e := range r.reg.entries {
		if before, ok := sums[e.key]; ok && sum(e) != before {
			return r.mem.sameMemory(e.key)
		}
	}
	return nil
}

// loadAlone reads one value. If parts of it lie in the same memory, other ones than when it was
// stored, they are put apart.
func (r *restoration) loadAlone(ctx context.Context, e entry) error {
	for parted := false; ; parted = true {
		if err := r.loadKeys(ctx, func(key string) bool { return key == e.key }); err != nil {
			return err
		}
		if !r.mem.within[e.key] {
			return nil
		}
		ok, err := r.holds(ctx, e)
		if !ok && parted { // one that has other fields now may differ all the same
			ok = len((&cptypes.Overlaps{}).Find([]cptypes.Value{e.value}, false, nil)) == 0
		}
		switch {
		case err != nil:
			return err
		case ok && parted:
			r.reg.log.Warn("parts of a value lay in the same memory, and not so when it was stored, or its type has changed since: what is stored is restored, each part with memory of its own", "key", e.key)
			return nil
		case ok:
			return nil
		case parted:
			r.mem.with[e.key] = e.key
			return r.mem.sameMemory(e.key)
		}
		r.mem.moved = true
		cptypes.SeparateParts(e.value)
	}
}

// holds reports whether a value of which parts lie in the same memory has become what is
// stored of it: that they did so when it was stored does not say which parts.
func (r *restoration) holds(ctx context.Context, e entry) (is bool, err error) {
	info := r.mem.stored[e.key]
	if info.Desc.Dist == container.Partitioned && r.redistribute {
		return false, nil // it cannot be told
	}
	err = r.withSection(ctx, e.key, func(section *container.SectionReader) error {
		c := comparing{r: section.NewReader(ctx), left: info.Size}
		_, err := e.value.WriteTo(&c)
		is = err == nil && !c.differs && c.left == 0
		return err
	})
	if errors.Is(err, cptypes.ErrShared) { // what was made for one part is in another one, too
		return false, nil
	}
	return is, err
}

// comparing takes bytes and compares them with those of a reader.
type comparing struct {
	r       io.Reader
	left    int64 // bytes that r still has
	buf     []byte
	differs bool
}

func (c *comparing) Write(p []byte) (int, error) {
	const piece = 64 << 10
	if c.differs = c.differs || int64(len(p)) > c.left; c.differs {
		return len(p), nil
	}
	for rest := p; len(rest) > 0 && !c.differs; {
		c.buf = slices.Grow(c.buf[:0], piece)[:min(piece, len(rest))]
		if _, err := io.ReadFull(c.r, c.buf); err != nil {
			return 0, err
		}
		c.differs = !bytes.Equal(c.buf, rest[:len(c.buf)])
		rest = rest[len(c.buf):]
	}
	c.left -= int64(len(p))
	return len(p), nil
}

// sameMemory refuses values that cannot all be what is stored.
func (m *arrangement) sameMemory(key string) error {
	other := m.with[key]
	if other == key {
		return &KeyError{Key: key, Err: fmt.Errorf("%w: parts of it lie in the same memory, and what is stored of them differs: give each memory of its own before the restart, where a nil pointer or slice will do", cptypes.ErrShared)}
	}
	return &KeyError{Key: key, Err: fmt.Errorf("%w: it lies in the same memory as key %q, and what is stored of them differs: give each memory of its own before the restart", cptypes.ErrShared, other)}
}
