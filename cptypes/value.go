package cptypes

import (
	"io"

	"github.com/craft-go/craft/storage/container"
)

// Value is all that a type needs to be checkpointed: WriteTo stores it, and
// ReadFrom, which gets a reader bounded to what WriteTo wrote, restores it.
type Value interface {
	io.WriterTo
	io.ReaderFrom
}

// Desc, Box and the element types are those of the file format.
type (
	Desc = container.Desc
	Box  = container.Box
)

// The optional abilities of a Value (docs/decisions/0005). All types of this
// package have those that make sense for them.
type (
	// Updater is called before the value is written, for data that must first
	// be fetched (from a device, a library).
	Updater interface{ Update() error }

	// Describer says what the bytes mean. It is asked again for every version.
	Describer interface{ Describe() Desc }

	// Sizer says how many bytes WriteTo would write now.
	Sizer interface{ Size() int64 }

	// Spanner gives the value's memory as raw little-endian bytes in stored
	// order: WriteTo would write exactly these. Reading goes into the same
	// memory. The spans are valid until the value is resized. A nil slice with
	// ok == false: not possible on this machine (byte order), use WriteTo.
	// They are asked for at any time after Commit, also before the value is read, in a
	// struct even before Resize: what has no memory yet has no spans. (Of a variable
	// that is all zero, with pointers, a restart does not ask.)
	Spanner interface {
		Spans() (spans [][]byte, ok bool)
	}

	// Resizer makes room for what is stored, before it is read into Spans or
	// ReadFrom; it returns a *MismatchError if the stored value has another
	// type or a shape that cannot be taken.
	Resizer interface{ Resize(stored Desc) error }

	// BoxReader is a value that holds a box of a global array. ReadBox reads
	// the overlap of stored.Box with the value's own box from src, which gives
	// the stored box's elements in row-major order. Boxes that do not overlap
	// are fine and read nothing.
	BoxReader interface {
		ReadBox(stored Desc, src io.ReaderAt) error
	}
)

// What values of this package can do: those that know their size, and of these the ones that
// check their variable and may give its memory.
type (
	measured interface {
		Value
		Describer
		Sizer
		Resizer
	}
	spanned interface {
		measured
		Updater
		Spanner
	}
)
