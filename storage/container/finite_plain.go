package container

// hasOverPlain is hasOver without instructions of one kind of processor, a word at a time.
func hasOverPlain(p []byte, unsigned, exponent uint64) bool {
	for ; len(p) > 0; p = p[64:] {
		w := (*[64]byte)(p)
		over := le.Uint64(w[0:])&unsigned + exponent
		over |= le.Uint64(w[8:])&unsigned + exponent
		over |= le.Uint64(w[16:])&unsigned + exponent
		over |= le.Uint64(w[24:])&unsigned + exponent
		over |= le.Uint64(w[32:])&unsigned + exponent
		over |= le.Uint64(w[40:])&unsigned + exponent
		over |= le.Uint64(w[48:])&unsigned + exponent
		over |= le.Uint64(w[56:])&unsigned + exponent
		if over&^unsigned != 0 {
			return true
		}
	}
	return false
}
