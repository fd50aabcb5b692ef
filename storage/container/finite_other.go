//go:build !amd64

package container

// hasOver reports whether an exponent in p, a multiple of 64 bytes, goes over.
func hasOver(p []byte, unsigned, exponent uint64) bool {
	return hasOverPlain(p, unsigned, exponent)
}
