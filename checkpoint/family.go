package checkpoint

import (
	"encoding/binary"
	"fmt"

	"github.com/craft-go/craft/cptypes"
	"github.com/craft-go/craft/storage/container"
)

// Checkpoints that are nested in one another are read one after the other, each in
// place, so that what one reads may be what another one has read before, or still
// holds (docs/decisions/0022). A version says which of its values lay in the same
// memory as values of the others: these may be changed with them. From all others
// they get apart.

// relative is a value of another checkpoint of the tree.
type relative struct {
	entry
	of *registry
}

// family are the values of all other checkpoints of the tree, and the names of these.
func (r *registry) family() (values []relative, plain []cptypes.Value, names []string) {
	var visit func(*lineage)
	visit = func(l *lineage) {
		if c := l.reg; c != r {
			names = append(names, c.name)
			for _, e := range c.entries {
				values, plain = append(values, relative{e, c}), append(plain, e.value)
			}
		}
		for _, child := range l.children {
			visit(child)
		}
	}
	visit(r.line.outermost())
	return values, plain, names
}

// kinship says of each checkpoint that was looked at, by its name, which of its keys
// shared memory with which key here.
type kinship map[string]map[[2]string]bool

// of reports whether a key shared memory with any.
func (k kinship) of(key string) bool {
	for _, pairs := range k {
		for p := range pairs {
			if p[0] == key {
				return true
			}
		}
	}
	return false
}

func (k kinship) any() bool {
	for _, pairs := range k {
		if len(pairs) > 0 {
			return true
		}
	}
	return false
}

// noteFamily says in the header which values lie in the same memory as values of other
// checkpoints of the tree. Without the field nothing is known of that.
func (r *registry) noteFamily(h *container.Header) {
	values, plain, names := r.family()
	if len(names) == 0 {
		return
	}
	pairs, all := r.overlaps.Across(r.values, plain, true)
	if !all {
		return
	}
	var b []byte
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, name := range names {
		text(name)
		var keys []string
		for _, p := range pairs {
			if o := values[p[1]]; o.of.name == name {
				keys = append(keys, r.entries[p[0]].key, o.key)
			}
		}
		b = binary.AppendUvarint(b, uint64(len(keys)/2))
		for _, key := range keys {
			text(key)
		}
	}
	if len(b) <= 128<<10 {
		h.Fields = h.Fields.With(container.FieldFamily, b)
	}
}

// parseFamily reads what noteFamily has said, nil: nothing that makes sense.
func parseFamily(b []byte) kinship {
	bad := false
	number := func() uint64 {
		x, n := binary.Uvarint(b)
		if bad = bad || n <= 0; bad {
			return 0
		}
		b = b[n:]
		return x
	}
	text := func() string {
		n := number()
		if bad = bad || n > uint64(len(b)); bad {
			return ""
		}
		s := string(b[:n])
		b = b[n:]
		return s
	}
	out := make(kinship)
	for len(b) > 0 && !bad {
		name := text()
		if out[name] == nil {
			out[name] = make(map[[2]string]bool)
		}
		for n := number(); n > 0 && !bad; n-- {
			mine := text()
			out[name][[2]string{mine, text()}] = true
		}
	}
	if bad {
		return nil
	}
	return out
}

// leaveFamily makes sure that what reads now is not read into memory of values of other
// checkpoints, unless that is how it was.
func (m *arrangement) leaveFamily(late bool) (moved bool, err error) {
	reg, tried := m.reg, m.parted
	values, plain, names := reg.family()
	if len(names) == 0 {
		return false, nil
	}
	move := m.companions(nil)
	for again := true; again; {
		again = false
		pairs, _ := reg.overlaps.Across(reg.values, plain, false)
		for _, p := range pairs {
			mine, o := reg.entries[p[0]], values[p[1]]
			kin, known := m.kin[o.of.name]
			_, taken := o.of.taken[o.key]
			one := cptypes.OneVariable(mine.value, o.value)
			switch {
			case !m.reads(p[0], late) || kin[[2]string{mine.key, o.key}] || one && !(known && taken):
				continue
			case !known:
				if tried[p]++; tried[p] == 1 {
					reg.log.Warn("values of two checkpoints lie in the same memory, and the version does not say whether they did when it was written: reading one changes the other",
						"version", m.version, "key", mine.key, "other", o.of.name, "other_key", o.key)
				}
				continue
			case tried[p] == 0 && !one:
				m.move(move.of(p[0]), o.value, true)
			case tried[p] == 1:
				m.moved = true
				cptypes.Separate([]cptypes.Value{o.value}, mine.value, false)
			case o.of.line.attempt.begun:
				return false, &KeyError{Key: mine.key, Err: fmt.Errorf("%w: it lies in the same memory as key %q of checkpoint %q, and did not when the version was written: give each memory of its own before the restart", cptypes.ErrShared, o.key, o.of.name)}
			default:
				continue // it is read later, if at all
			}
			tried[p]++
			again, moved = true, true
		}
	}
	return moved, nil
}
