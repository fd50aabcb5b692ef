package jobs

import (
	"errors"

	"github.com/craft-go/craft/checkpoint"
)

// Mode says who writes checkpoints, as checkpoint.WithAsync takes it. It is a
// flag.Value.
type Mode string

const (
	Off      Mode = "off"       // the computation itself
	Copy     Mode = "copy"      // a background writer, from a copy
	ZeroCopy Mode = "zero-copy" // a background writer, from the program's own memory
)

// ModeUsage explains the flag -async.
const ModeUsage = "`mode` in which checkpoints are written: off, by the computation itself; copy, in the\n" +
	"background from a copy; zero-copy, in the background from the vectors themselves. Without the\n" +
	"flag $CRAFT_WRITE_ASYNC and $CRAFT_WRITE_ASYNC_ZERO_COPY decide"

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

// String is the value of the flag.
func (m *Mode) String() string { return string(*m) }

// Set accepts one of the modes.
func (m *Mode) Set(text string) error {
	switch Mode(text) {
	case Off, Copy, ZeroCopy:
		*m = Mode(text)
		return nil
	}
	return errors.New("it must be off, copy or zero-copy")
}
