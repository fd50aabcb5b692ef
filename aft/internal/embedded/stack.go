package embedded

import (
	"runtime"
	"strings"
)

// bodyFrame is in the stack of a goroutine that runs the body of a zone.
const bodyFrame = "/aft.(*run).enterBody("

// onMain reports whether this is the goroutine of main, which is the first one.
func onMain() bool {
	text := make([]byte, 64)
	return strings.HasPrefix(string(text[:runtime.Stack(text, false)]), "goroutine 1 [")
}

// bodyStack is the stack of the goroutine that runs the body; if there is none,
// those of all goroutines.
func bodyStack() string {
	const most = 1 << 20
	text := make([]byte, most)
	all := strings.ToValidUTF8(string(text[:runtime.Stack(text, true)]), "?")
	for one := range strings.SplitSeq(all, "\n\n") {
		if strings.Contains(one, bodyFrame) {
			return one
		}
	}
	return all
}
