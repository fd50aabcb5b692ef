package container

import "fmt"

// endMagic ends a file.
const endMagic = "\x8bTFARC\r\n"

const trailerSize = 48

// trailer says where the footer is. It is at the end of the file.
type trailer struct {
	footerOffset int64
	footerLen    int64
	fileSize     int64
	footerCRC    uint32
	headerCRC    uint32 // the one at the end of the header: binds it to this footer
}

func (t *trailer) append(b []byte) []byte {
	start := len(b)
	b = le.AppendUint64(b, uint64(t.footerOffset))
	b = le.AppendUint64(b, uint64(t.footerLen))
	b = le.AppendUint64(b, uint64(t.fileSize))
	b = le.AppendUint32(b, t.footerCRC)
	b = le.AppendUint32(b, t.headerCRC)
	b = le.AppendUint32(b, 0) // flags
	b = le.AppendUint32(b, checksum(b[start:]))
	return append(b, endMagic...)
}

// parseTrailer decodes the last trailerSize bytes of a file of the given size,
// whose header ends at headerEnd and has the given checksum.
func parseTrailer(p []byte, size, headerEnd int64, headerCRC uint32) (trailer, error) {
	damage := func(format string, args ...any) (trailer, error) {
		return trailer{}, &DamageError{Offset: size - trailerSize, Reason: fmt.Sprintf("trailer: "+format, args...)}
	}
	if string(p[40:]) != endMagic {
		return damage("no end mark: truncated, or something behind the end")
	}
	if le.Uint32(p[36:]) != checksum(p[:36]) {
		return damage("checksum")
	}
	t := trailer{
		footerOffset: int64(le.Uint64(p)),
		footerLen:    int64(le.Uint64(p[8:])),
		fileSize:     int64(le.Uint64(p[16:])),
		footerCRC:    le.Uint32(p[24:]),
		headerCRC:    le.Uint32(p[28:]),
	}
	if flags := le.Uint32(p[32:]); flags != 0 {
		return trailer{}, unsupportedf("trailer has flags %#x, which this program does not know", flags)
	}
	if t.fileSize != size {
		return damage("file has %d bytes, it was written with %d", size, t.fileSize)
	}
	if t.headerCRC != headerCRC {
		return damage("belongs to another header")
	}
	end := size - trailerSize
	if t.footerOffset < headerEnd || t.footerLen < footerPrefixSize || t.footerOffset > end || t.footerLen != end-t.footerOffset {
		return damage("footer of %d bytes at %d does not fit between the header's end %d and the trailer", t.footerLen, t.footerOffset, headerEnd)
	}
	return t, nil
}
