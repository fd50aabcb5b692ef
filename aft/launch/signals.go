package launch

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// catchSignals hands the signals of this process to handle until stop is called.
// What is ignored (nohup) stays ignored.
func catchSignals(handle func(syscall.Signal)) (stop func()) {
	caught := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP} {
		if !signal.Ignored(s) {
			signal.Notify(caught, s)
		}
	}
	over := make(chan struct{})
	var handling sync.WaitGroup
	handling.Go(func() {
		for {
			select {
			case s := <-caught:
				handle(s.(syscall.Signal))
			case <-over:
				return
			}
		}
	})
	return func() {
		signal.Stop(caught)
		close(over)
		handling.Wait()
	}
}
