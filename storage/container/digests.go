package container

// AppendDigests appends the digests of the sections of the last Encode, in their
// order: what Info.Digest says when the file is read. There are none if it
// failed.
func (e *Encoder) AppendDigests(dst []uint64) []uint64 {
	if !e.done {
		return dst
	}
	for i := range e.x.entries {
		dst = append(dst, uint64(e.x.entries[i].digest))
	}
	return dst
}
