package container

// AppendDigests appends the digests of the sections of the last successful
// Encode, in their order: what Info.Digest says when the file is read.
func (e *Encoder) AppendDigests(dst []uint64) []uint64 {
	for i := range e.x.entries {
		dst = append(dst, uint64(e.x.entries[i].digest))
	}
	return dst
}
