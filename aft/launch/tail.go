package launch

import (
	"strings"
	"sync"
)

// tail keeps the last lines of a stream.
type tail struct {
	mu   sync.Mutex
	last []string
}

const tailLines = 5

func (t *tail) add(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			t.last = append(t.last, line)
		}
	}
	t.last = t.last[max(0, len(t.last)-tailLines):]
}

// String is the lines in one; "" if there are none.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.last, "; ")
}
