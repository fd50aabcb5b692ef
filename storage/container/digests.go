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

// Digest returns the digest that a value of these bytes has in a file with the
// given chunk size.
func Digest(spans [][]byte, chunkSize int) uint64 {
	g := geometry{totalLen(spans), chunkSize}
	d := newDigest(g.size, chunkSize)
	at := memoryCursor{spans: spans}
	for c := range int(g.chunks()) {
		d = d.add(at.next(g.rawLen(c)).checksum())
	}
	return uint64(d)
}
