// Package codec writes variables of any Go type as streams of bytes, with a description of
// the type in front, and reads them into variables of a type that may be a later one. It is
// what package cptypes stores structs and maps by. The format is in docs/file-format.md,
// "Structs and maps"; what a change of a type may be, in the documentation of cptypes.
//
//	New    type --compiler--> schema ----\
//	                                      planner --> program of ops (offset, what to do)
//	Read   stored bytes ----> schema ----/
//
// A program for writing is made of the type's own schema, one for reading of the stored
// schema and the type. Both are run on the memory of the variable, from where it begins: an
// op copies bytes, converts numbers, or follows a pointer, a slice or a map. The same
// programs lead a Walk through the memory that a variable refers to.
//
// What types have code of their own, and what that does, the caller says: Customs.
//
// Invariants:
//
//   - Equal values are equal bytes: maps are sorted by their encoded keys.
//   - No stored length or number is trusted: memory grows with the bytes that are there, and
//     an error leaves a valid value.
//   - What is read goes where others see it (into a variable that a pointer leads to, a map,
//     large slices of plain data), unless it has been read into before, or must be avoided.
//
// Errors begin with cptypes, as these are what its users see.
package codec
