// Package element moves single elements between memory and file: numbers and bools of
// every size (Layout), and times (PutTime, Zones). What they look like in a file is in
// docs/file-format.md. Nothing stored is trusted: what a number in a file asks for grows
// with the bytes that are there (Growing).
package element
