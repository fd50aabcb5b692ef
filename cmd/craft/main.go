// Command craft runs programs as jobs of ranks that survive failures, and looks
// into checkpoint directories: which versions there are, what is in them, and
// whether every byte is what was written. It changes nothing there, except that
// craft checkpoint and craft halt leave requests to the job that writes there, craft unlock
// craft restore leaves a note for the next start, craft keep and unkeep set marks, craft unlock
// removes a lock, and craft node clean what deleted checkpoints have left on a node.
//
// docs/cli.md describes its commands, their JSON and the exit codes.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/craft-go/craft/aft/launch"
)

func main() {
	if code, ok := launch.Daemon(); ok {
		os.Exit(code)
	}
	if len(os.Args) > 1 && os.Args[1] == "run" { // a request to end is none to die
		launch.HoldSignals()
	}
	// Nothing needs to be cleaned up, so that other signals may end it at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := newProgram(os.Stdin, os.Stdout, os.Stderr).run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
