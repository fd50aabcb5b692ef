// Package testsignal is for tests that send signals to programs that they start.
package testsignal

import (
	"os"
	"os/signal"
	"syscall"
)

// Restore makes signals that this process was started to ignore (by nohup, or in
// the background of a shell) have their usual effect on the processes that it
// starts. This process itself goes on ignoring them.
func Restore() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM} {
		if signal.Ignored(s) {
			// A handler is reset by exec, unlike an ignored signal.
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}
