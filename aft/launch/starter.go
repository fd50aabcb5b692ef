package launch

import (
	"os/exec"
	"runtime"
	"sync"
)

// starter starts processes that are to be signalled when this one ends. The
// system sends that signal when the thread ends that has started them, so all
// are started by one thread, which lives until close.
type starter struct {
	requests chan startRequest
	done     sync.WaitGroup
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newStarter() *starter {
	s := &starter{requests: make(chan startRequest)}
	s.done.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for r := range s.requests {
			r.result <- r.cmd.Start()
		}
	})
	return s
}

func (s *starter) start(cmd *exec.Cmd) error {
	r := startRequest{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.result
}

// close ends the thread: no process may be left that it has started.
func (s *starter) close() {
	close(s.requests)
	s.done.Wait()
}
