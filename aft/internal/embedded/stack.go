package embedded

import (
	"runtime"
	"strings"
)

// startedFrame is in the stack of a goroutine that was started by Zone.Go.
const startedFrame = "/aft.(*goroutines).start"

// onMain reports whether this is the goroutine of main, which is the first one.
func onMain() bool {
	text := make([]byte, 64)
	return strings.HasPrefix(string(text[:runtime.Stack(text, false)]), "goroutine 1 [")
}

// goroutine is the beginning of this goroutine's stack.
func goroutine() string {
	text := make([]byte, 64)
	head, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), "[")
	return head
}

// bodyStack is the stack of the goroutine that runs the zone, whose stack begins so, and of those that its
// body has started with Zone.Go; if none is found, those of all goroutines.
func bodyStack(zone string) string {
	const most = 1 << 20
	text := make([]byte, most)
	all := strings.ToValidUTF8(string(text[:runtime.Stack(text, true)]), "?")
	started := startedFrame + " in " + strings.TrimSpace(zone) + "\n"
	var body, others []string
	for one := range strings.SplitSeq(all, "\n\n") {
		switch {
		case zone != "" && strings.HasPrefix(one, zone):
			body = append(body, one)
		case zone != "" && strings.Contains(one, started):
			others = append(others, one)
		}
	}
	if len(body) == 0 {
		return all
	}
	return strings.Join(append(others, body...), "\n")
}
