// Package cptypes holds the checkpointable values: what a program can give to
// Checkpoint.Add, and how it is stored (paper section 2.2, where the base class
// is CpBase).
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
//	a marshaler       opaque: MarshalBinary                -            no
//
// The bytes are little-endian and in row-major order. A type with bools has no
// Spans, as a byte other than 0 and 1 must not get into a Go bool; nor has any
// type on a machine with another byte order. Lengths are a uint64 for the
// number of parts and one for each part; see docs/file-format.md.
//
// A type of the program's own is stored in one of three ways: it implements
// Value itself; a wrapper does; or an adapter is registered with Register, so
// that Of takes the type itself. cptypestest checks such types.
//
// Constructors declare more than a type can say, and are used inline in Add;
// their errors come out of Of:
//
//	Matrix              a dense matrix in a slice
//	Replicated          the same value on every rank
//	Partitioned         this rank's part of a global slice
//	PartitionedMatrix   this rank's block of rows of a global matrix
//	PartitionedBox      this rank's box of a global array of any dimension
//
// # Invariants
//
//   - Size, Spans and the shape in Describe agree with what WriteTo writes, as
//     long as the variable is not changed in between.
//   - Resize either fits the variable to what is stored or returns a
//     *MismatchError and leaves it alone. It trusts the stored shape as far as
//     it can be addressed: the caller makes sure that the bytes are there. A
//     slice keeps its memory if its capacity suffices, like append; nil and
//     empty are both length 0, and a nil slice that gets length 0 stays nil.
//   - ReadFrom reads what Resize was told, or what the variable holds now, and
//     no further (marshalers, and strings without Resize, take all there is).
//     Lengths that are stored among the bytes are not trusted: memory grows
//     with what the reader really holds.
//   - A variable whose ReadFrom or ReadBox failed may hold part of the new
//     value, but always a valid one.
//
// Values are not safe for concurrent use; Of, Register and Cover are.
package cptypes
