package launch

import (
	"context"
	"fmt"
	"os"
)

// Option changes what Self runs.
type Option func(*Config)

// Self lets a program start itself as a job of n ranks, with the arguments that
// it was called with:
//
//	code, started, err := launch.Self(ctx, *np)
//	if started {
//		... // report err; exit with code
//	}
//	... // alone (n is 0) or a rank
//
// In a process that has a role, and for n = 0, it does nothing, except that a
// daemon runs here if Daemon was not called. n < 0 is an error.
func Self(ctx context.Context, n int, opts ...Option) (code int, started bool, err error) {
	if code, ok := Daemon(); ok {
		return code, true, nil
	}
	if n == 0 || IsRank() {
		return 0, false, nil
	}
	exe, err := os.Executable()
	if err != nil {
		return 1, true, fmt.Errorf("cannot start this program again: %w", err)
	}
	cfg := Config{Program: exe, Args: os.Args[1:], Ranks: n}
	for _, o := range opts {
		o(&cfg)
	}
	code, err = Run(ctx, cfg)
	return code, true, err
}
