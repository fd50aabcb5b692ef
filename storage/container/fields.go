package container

import (
	"fmt"
	"slices"
)

// FieldID names a tagged field of a header. The numbers are those of
// docs/file-format.md, which says what is in each; one that was ever used is not
// used for anything else.
type FieldID uint16

const (
	// FieldExtents: which values had the extent that they had when the program was
	// ready to write (checkpoint/extents.go).
	FieldExtents FieldID = 1
	// FieldSharing: which values of the part lay in the same memory
	// (checkpoint/sharing.go).
	FieldSharing FieldID = 2
	// FieldOrigin: the version that the attempt was restored from; an attempt that has
	// read nothing has no such field (storage.Origin).
	FieldOrigin FieldID = 3
	// FieldFamily: which values of the part lay in the same memory as values of the
	// checkpoints that it is nested with (checkpoint/family.go).
	FieldFamily FieldID = 4
	// FieldSettled: the newest version of the checkpoint around it that was known to be
	// complete (checkpoint/nested.go).
	FieldSettled FieldID = 5
	// FieldLevels: the names of the levels below the parallel file system that the
	// version was to have (storage.Planned).
	FieldLevels FieldID = 6
	// FieldUnsynced: the files of the version were published without waiting until a crash of
	// the machine cannot take them back (CRAFT_SYNC=none).
	FieldUnsynced FieldID = 7
	// FieldBranch: the way back that the branch of the version began with; a version of a
	// computation that was not taken back has no such field (storage.Branch).
	FieldBranch FieldID = 8
	// FieldFinished: the run had come to its end with the version, a byte of 1.
	FieldFinished FieldID = 10
)

const (
	maxFields     = 256
	maxFieldBytes = 1 << 20 // of all fields of a header together
)

// Field is a tagged field of a header: what a reader may do without. Readers leave
// fields alone that they do not know.
type Field struct {
	ID   FieldID
	Data []byte
}

// Fields are the tagged fields of a header, each at most once, ascending by ID.
// Since format 1.2.
type Fields []Field

// Get returns the bytes of a field, which must not be changed, and whether it is
// there. What is in them is not to be trusted.
func (f Fields) Get(id FieldID) ([]byte, bool) {
	i, found := f.search(id)
	if !found {
		return nil, false
	}
	return f[i].Data, true
}

// With returns the fields with this one added or replaced; f stays as it is.
func (f Fields) With(id FieldID, data []byte) Fields {
	i, found := f.search(id)
	end := i
	if found {
		end++
	}
	return slices.Concat(f[:i], Fields{{id, data}}, f[end:])
}

func (f Fields) search(id FieldID) (int, bool) {
	return slices.BinarySearchFunc(f, id, func(x Field, id FieldID) int { return int(x.ID) - int(id) })
}

// problem says why the fields cannot be stored; "" if they can.
func (f Fields) problem() string {
	if len(f) > maxFields {
		return fmt.Sprintf("%d tagged fields (allowed: up to %d)", len(f), maxFields)
	}
	bytes := 0
	for i, x := range f {
		if i > 0 && f[i-1].ID >= x.ID {
			return fmt.Sprintf("tagged field %d behind field %d (allowed: ascending, each once)", x.ID, f[i-1].ID)
		}
		if bytes += len(x.Data); bytes > maxFieldBytes {
			return fmt.Sprintf("tagged fields of more than %d bytes", maxFieldBytes)
		}
	}
	return ""
}

func (f Fields) append(b []byte) []byte {
	b = le.AppendUint16(b, uint16(len(f)))
	for _, x := range f {
		b = le.AppendUint16(b, uint16(x.ID))
		b = le.AppendUint32(b, uint32(len(x.Data)))
		b = append(b, x.Data...)
	}
	return b
}

// parseFields reads what append has written. Memory grows with the bytes that are
// there, not with the number that they state.
func parseFields(c *cursor) Fields {
	var f Fields
	for n := int(c.u16("tagged fields")); n > 0 && c.bad == ""; n-- {
		id := FieldID(c.u16("tagged field"))
		f = append(f, Field{id, slices.Clone(c.take(int(c.u32("tagged field")), "tagged field"))})
	}
	return f
}
