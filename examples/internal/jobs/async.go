package jobs

import (
	"flag"
	"fmt"

	"github.com/craft-go/craft/checkpoint"
)

// Mode says who writes checkpoints, as checkpoint.WithAsync takes it.
type Mode string

const (
	Off      Mode = "off"       // the computation itself
	Copy     Mode = "copy"      // a background writer, from a copy
	ZeroCopy Mode = "zero-copy" // a background writer, from the program's own memory
)

// Modes are all of them.
var Modes = []Mode{Off, Copy, ZeroCopy}

const modeUsage = "`mode` in which checkpoints are written: off, by the computation itself; copy, in the\n" +
	"background from a copy; zero-copy, in the background from the vectors themselves. Without the\n" +
	"flag $CRAFT_WRITE_ASYNC and $CRAFT_WRITE_ASYNC_ZERO_COPY decide (default %s)"

// AsyncFlag adds the flag -async, which sets a mode.
func AsyncFlag(f *flag.FlagSet, mode *Mode) {
	f.Func("async", fmt.Sprintf(modeUsage, *mode), func(text string) error { return oneOf(mode, text, Modes) })
}

// modeOfEnvironment is the mode that the environment asks for.
func modeOfEnvironment() Mode {
	env, err := checkpoint.LoadConfig()
	switch {
	case err != nil: // checkpoint.New will say it
		return Off
	case env.WriteAsyncZeroCopy:
		return ZeroCopy
	case env.WriteAsync:
		return Copy
	}
	return Off
}
