package launch

import (
	"bytes"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// watched is output that tests wait for.
type watched struct {
	mu   sync.Mutex
	more *sync.Cond
	text []byte
}

func newWatched() *watched {
	w := &watched{}
	w.more = sync.NewCond(&w.mu)
	return w
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	w.more.Broadcast()
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

// await returns the groups of a pattern when the output has it.
func (w *watched) await(t *testing.T, pattern string) []string {
	expression := regexp.MustCompile(pattern)
	late := time.AfterFunc(limit, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.more.Broadcast()
	})
	defer late.Stop()
	deadline := time.Now().Add(limit)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if found := expression.FindSubmatch(w.text); found != nil {
			out := make([]string, len(found))
			for i, f := range found {
				out[i] = string(f)
			}
			return out
		}
		if !time.Now().Before(deadline) {
			t.Errorf("no %q in\n%s", pattern, w.text)
			require.FailNow(t, "timeout")
		}
		w.more.Wait()
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
