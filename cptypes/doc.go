// Package cptypes holds the checkpointable values: what a program can give to
// Checkpoint.Add, and how it is stored (paper section 2.2, where the base class
// is CpBase). Mostly that is the address of a variable; constructors say what its type
// does not:
//
//	cp.Add("field", &field)                                    // a []float64
//	cp.Add("seed", cptypes.Replicated(&seed))                  // the same on all ranks
//	cp.Add("x", cptypes.Partitioned(&x, lo, hi, n))            // this rank's part of n elements
//
// Of makes a Value from a pointer to one of these types, T being any integer,
// float, complex or bool type, also a named one:
//
//	pointer to        stored as                            shape        Spans
//	T                 T (int, uint, uintptr: 64 bits)      none         yes
//	[N]T, [N][M]T     T                                    N; N, M      yes
//	[]T               T                                    length       yes
//	[][N]T            T                                    length, N    yes
//	[][]T             T if all rows have the same length   rows, cols   yes
//	                  > 0, else opaque: lengths, T         -            no
//	string            string                               bytes        no
//	[]string, [N]string   opaque: lengths, bytes           -            no
//	time.Time         opaque: seconds, nanoseconds,        -            no
//	                  offset of the zone
//	[]time.Time       opaque: number, times                -            no
//	mat.VecDense, mat.DiagDense    float64                 length       yes
//	mat.Dense         float64                              rows, cols   yes
//	mat.CDense        complex128                           rows, cols   yes
//	mat.SymDense, mat.TriDense, mat.BandDense
//	                  float64: one triangle, or the band   elements     no
//	CSR[T, I]         opaque: lengths, indices, T          rows, cols   no
//	a marshaler       opaque: MarshalBinary                -            no
//	struct, map, and  opaque: a description of the type,   -            no
//	all other slices,   then the data (see below)
//	arrays, pointers
//
// The bytes are little-endian and in row-major order. A type with bools has no
// Spans, as a byte other than 0 and 1 must not get into a Go bool; nor has any
// type on a machine with another byte order. Lengths are a uint64 for the
// number of parts and one for each part; see docs/file-format.md.
//
// # Structs and maps
//
// Structs, maps, and slices, arrays and pointers that are in no other row, to any
// depth, are stored with a description of their type, so that a later program can
// read them although its types have changed:
//
//   - Fields are found by name. Their order does not matter; what the program has
//     no field for is skipped; a field that is not stored keeps what it holds (in
//     elements of slices and maps, which are new, it is zero).
//   - Numbers may have become wider, as long as every value fits: int32 to int64,
//     uint8 to int, float32 to float64. All other changes are a *MismatchError
//     that names the place, such as state.Grid[].Mass; so is a struct that has
//     no field in common with the stored one.
//   - Types may be renamed, but not those that have code of their own (below).
//
// The tag of a field says more: `craft:"mass"` stores it under another name,
// `craft:"mass,was=weight"` reads it also from what was stored as weight, and
// `craft:"-"` leaves it out, neither stored nor touched. Fields that are
// unexported, or of interface, func, chan type, are an error of Of unless they
// are left out: a checkpoint that silently lacks something is a wrong one. An
// embedded struct is a field with its type's name.
//
// A Value, a type with an adapter, a BinaryMarshaler or a GobEncoder inside is
// stored by its own code, and read only by a type of the same name. time.Time is
// kept exactly, but of the zone only the offset, and no monotonic clock.
//
// Nil and empty are told apart. A map that the variable holds is cleared and
// filled in place, and a pointer's variable is read into, so that others that
// hold them see it; slices get new memory, unless they are large and plain data.
// If the variable of a pointer was read into before, a new one is made: a copy, in
// which types with code of their own are zero.
// Each pointer and map must be reached once only: a second time is ErrShared, as
// it would be read back as two, and so is a cycle. (Slices that overlap, and
// pointers into the elements of slices, are not noticed: each is stored for
// itself.) More than 10000 pointers, slices and maps within each other are
// ErrDepth. Equal values are stored as equal bytes; maps are sorted.
//
// # Own types and constructors
//
// A matrix of gonum may also be given as **mat.Dense (and so on): the variable is
// looked at anew each time, and gets a matrix when it is read as nil. An empty
// matrix takes the stored shape, another one must have it. Views into larger
// matrices, vectors with gaps, and the choices of elements below have Spans if
// they consist of runs of at least 4 KiB; else their elements are packed into a
// buffer, and what lies between them is neither stored nor touched.
//
// Of a time the instant and the offset from UTC are kept, not the name of its
// zone, nor the reading of the monotonic clock. Of the generators of
// math/rand/v2, the sources *rand.PCG and *rand.ChaCha8 are marshalers; a
// *rand.Rand is refused, as it does not give its state away.
//
// A type of the program's own is stored in one of three ways: it implements
// Value itself; a wrapper does; or an adapter is registered with Register, so
// that Of takes the type itself. cptypestest checks such types.
//
// A struct has the methods of what is embedded in it, too. It implements Value by what
// it declares itself, WriteTo and ReadFrom, and by what it has of these from an embedded
// interface, whose value it decorates; what it has from any other embedded type would
// store that alone, so that such a struct is stored field by field. So it is with
// MarshalBinary and UnmarshalBinary, GobEncode and GobDecode, which are declared both. A
// type that declares WriteTo also declares those of Describe, Size, Spans, Resize and
// ReadBox that an embedded type with a WriteTo has: else it is an error of Of.
//
// Update of what is stored field by field is called where that is given to Of, also if
// it is that of an embedded type, and not where it lies within another value.
//
// Constructors declare more than a type can say, and are used inline in Add;
// their errors come out of Of:
//
//	Matrix              a dense matrix in a slice
//	MatrixLD            a matrix with padding between rows or columns, row- or column-major
//	Columns             chosen columns of a [][]T (toCpCol in the paper)
//	MatrixColumns       chosen columns of a matrix in a slice
//	Contiguous          neighbouring elements of a slice
//	Vector              blocks of a slice at equal distances
//	Indexed             blocks of a slice anywhere
//	Blocks              several of these, of different types, as one value
//	Replicated          the same value on every rank
//	Partitioned         this rank's part of a global slice
//	PartitionedMatrix   this rank's block of rows of a global matrix
//	PartitionedBox      this rank's box of a global array of any dimension
//
// # Invariants
//
//   - Size, Spans and the shape in Describe agree with what WriteTo writes, as
//     long as the variable is not changed in between.
//   - Spans stands a variable without memory, unless it is all zero: a restart
//     asks for spans also before the value is read.
//   - Resize either fits the variable to what is stored or returns a
//     *MismatchError and leaves it alone. It trusts the stored shape as far as
//     it can be addressed: the caller makes sure that the bytes are there. A
//     slice keeps its memory if it shrinks and gets new memory if it grows; nil
//     and empty are both length 0, and a nil slice that gets length 0 stays nil.
//   - ReadFrom reads what Resize was told, or what the variable holds now, and
//     no further (marshalers, structs and maps, and strings without Resize, take
//     all there is).
//     Lengths that are stored among the bytes are not trusted: memory grows
//     with what the reader really holds.
//   - A variable whose ReadFrom or ReadBox failed may hold part of the new
//     value, but always a valid one.
//
// Values are not safe for concurrent use; Of, Register and Cover are.
package cptypes
