package jobs

import (
	"github.com/craft-go/craft/checkpoint"
	"github.com/craft-go/craft/internal/env"
)

// Modes are all of them.
var Modes = []checkpoint.AsyncMode{checkpoint.AsyncOff, checkpoint.AsyncCopy, checkpoint.AsyncZeroCopy}

// ModeUsage explains the flag -async.
const ModeUsage = "`mode` in which checkpoints are written: off, by the computation itself; copy, in the\n" +
	"background from a copy; zero-copy, in the background from the vectors themselves. Without the\n" +
	"flag $CRAFT_WRITE_ASYNC and $CRAFT_WRITE_ASYNC_ZERO_COPY decide"

// modeOfEnvironment is the mode that the environment asks for.
func modeOfEnvironment() checkpoint.AsyncMode {
	var asked struct {
		Copy     bool `envconfig:"WRITE_ASYNC"`
		ZeroCopy bool `envconfig:"WRITE_ASYNC_ZERO_COPY"`
	}
	switch err := env.Load(&asked); {
	case err != nil: // checkpoint.New will say it
		return checkpoint.AsyncOff
	case asked.ZeroCopy:
		return checkpoint.AsyncZeroCopy
	case asked.Copy:
		return checkpoint.AsyncCopy
	}
	return checkpoint.AsyncOff
}
