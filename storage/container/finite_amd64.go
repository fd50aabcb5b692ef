package container

// anyOver is hasOver for n bytes at p, a multiple of 64 and not 0, with what every
// processor of this kind has: two words at a time.
//
//go:noescape
func anyOver(p *byte, n int, unsigned, exponent uint64) bool

// hasOver reports whether an exponent in p, a multiple of 64 bytes, goes over.
func hasOver(p []byte, unsigned, exponent uint64) bool {
	return len(p) > 0 && anyOver(&p[0], len(p), unsigned, exponent)
}
