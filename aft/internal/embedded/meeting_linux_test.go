package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/craft-go/craft/aft/comm/driver"
	"github.com/craft-go/craft/aft/launch"
	"github.com/craft-go/craft/internal/demand"
	"github.com/craft-go/craft/internal/testseed"
)

// endedCode is that of ranks that have ended as they were asked to.
const endedCode = 75

// countCalls is a program that sends nothing, and does a call every few moments until it is asked to end. The last rank is
// the one that gets the signal.
func countCalls(ctx context.Context, s driver.Session, name string) error {
	place := s.Place()
	asks, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return err
	}
	lane := s.(driver.Meeter).Point().Join(demand.World)
	for call := uint64(1); ctx.Err() == nil; call++ {
		if call == asks && place.Original == place.Comm.Size()-1 {
			demand.This.Ask(demand.Demand{Cause: demand.Deadline, Source: "SIGTERM", Left: time.Hour})
		}
		time.Sleep(time.Duration(1+place.Original) * 300 * time.Microsecond)
		m, err := lane.Call(ctx)
		switch {
		case err != nil:
			return err
		case m != nil && m.Ends() != nil:
			fmt.Println("call", call)
			os.Exit(endedCode)
		}
	}
	return errors.New("nobody has asked it to end")
}

// Processes that never communicate end at the same call, with the code that all of them have; who is still on the way
// to it is not disturbed by those who have exited.
func TestProcessesMeet(t *testing.T) {
	random := testseed.Rand(t)
	for _, ranks := range []int{1, 2, 5} {
		var out, log bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		code, _ := launch.Run(ctx, launch.Config{
			Program: os.Args[0], Args: []string{"calls", strconv.Itoa(1 + random.IntN(200))}, Ranks: ranks, Nodes: min(2, ranks),
			Stdout: &out, Stderr: &log, NoSignals: true, Timing: launch.Timing{Lease: time.Minute},
		})
		require.Equal(t, endedCode, code, log.String())
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, ranks)
		for _, line := range lines {
			require.Equal(t, lines[0], line)
		}
	}
}
