package program

import (
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
)

// profile writes a processor profile of this rank to <prefix>.<process id>.
func profile(prefix string) (stop func(), err error) {
	if prefix == "" {
		return func() {}, nil
	}
	f, err := os.Create(fmt.Sprintf("%s.%d", prefix, os.Getpid()))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close() // only a profile
	}, nil
}
