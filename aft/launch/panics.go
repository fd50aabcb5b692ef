package launch

import (
	"bytes"
	"strings"
)

// panicCode is the exit code of a Go program that panics.
const panicCode = 2

// longestPanic is how much of it is reported, in bytes.
const longestPanic = 200

// panicLine is the last line of data with which a Go program that panics begins to
// say why; "": there is none.
func panicLine(data []byte) string {
	at := -1
	for _, start := range []string{"panic: ", "fatal error: "} {
		if i := bytes.LastIndex(data, []byte("\n"+start)); i >= 0 {
			at = max(at, i+1)
		} else if bytes.HasPrefix(data, []byte(start)) {
			at = max(at, 0)
		}
	}
	if at < 0 {
		return ""
	}
	line, _, _ := bytes.Cut(data[at:], []byte("\n"))
	line = bytes.TrimSuffix(line, []byte(" [recovered, repanicked]")) // by the zone, always
	return strings.ToValidUTF8(string(line[:min(len(line), longestPanic)]), "")
}
