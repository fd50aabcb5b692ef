package async

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func newTestWriter(t *testing.T) *Writer {
	threads, err := NewThreads(nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	return NewWriter(threads)
}

func TestWriterRunsOneJobAtATime(t *testing.T) {
	w := newTestWriter(t)
	hold := make(chan struct{})
	broken := errors.New("broken")
	ticket, err := w.Start(func(context.Context) error { <-hold; return broken })
	require.NoError(t, err)
	_, err = w.Start(func(context.Context) error { return nil })
	require.ErrorIs(t, err, ErrBusy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ticket.Wait(ctx), context.Canceled)
	close(hold)
	require.ErrorIs(t, ticket.Wait(t.Context()), broken)
	require.ErrorIs(t, ticket.Wait(ctx), broken, "a job that has ended needs no time")

	ticket, err = w.Start(func(context.Context) error { panic("my own fault") })
	require.NoError(t, err)
	var p *PanicError
	require.ErrorAs(t, ticket.Wait(t.Context()), &p)
	require.Contains(t, p.Error(), "my own fault")

	require.NoError(t, w.Close(time.Hour))
	require.NoError(t, w.Close(time.Hour))
	_, err = w.Start(func(context.Context) error { return nil })
	require.ErrorIs(t, err, ErrClosed)
}

func TestCloseGivesUpInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestWriter(t)
		ticket, err := w.Start(func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, w.Close(time.Minute))
		require.Equal(t, time.Minute, time.Since(began))
		require.ErrorIs(t, ticket.Err(), ErrDrain)
	})
	synctest.Test(t, func(t *testing.T) {
		w := newTestWriter(t)
		hold := make(chan struct{})
		_, err := w.Start(func(context.Context) error { <-hold; return nil })
		require.NoError(t, err)
		require.ErrorIs(t, w.Close(time.Minute), ErrHangs)
		close(hold)
	})
}

func TestParseCPUList(t *testing.T) {
	for list, want := range map[string][]int{"": nil, " ": nil, "0": {0}, "0,2-3": {0, 2, 3}, "3_1_1": {1, 3}, " 4 - 6 , 5 ": {4, 5, 6}} {
		cpus, err := ParseCPUList(list)
		require.NoError(t, err, list)
		require.Equal(t, want, cpus, list)
	}
	for _, list := range []string{"a", "1-", "-1", "3-2", "0x1", ",", "1,,b", "99999999999999999999", "0-70000"} {
		_, err := ParseCPUList(list)
		require.ErrorIs(t, err, ErrCPUList, list)
		require.ErrorContains(t, err, list)
	}
	require.Equal(t, "0,2-4,9", formatCPUs([]int{0, 2, 3, 4, 9}))
}

func FuzzParseCPUList(f *testing.F) {
	f.Add("0,2-3")
	f.Fuzz(func(t *testing.T, list string) {
		cpus, err := ParseCPUList(list)
		if err != nil {
			return
		}
		again, err := ParseCPUList(formatCPUs(cpus))
		require.NoError(t, err)
		require.Equal(t, cpus, again)
	})
}

func TestThreadsAreBound(t *testing.T) {
	if runtime.GOOS != "linux" {
		_, err := NewThreads([]int{0}, nil)
		require.ErrorIs(t, err, ErrCPUList)
		return
	}
	allowed, err := affinity()
	require.NoError(t, err)
	last := allowed[len(allowed)-1]
	threads, err := NewThreads([]int{last}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	bound := make(chan []int)
	go threads.Do(func() {
		cpus, err := affinity()
		if err != nil {
			t.Error(err)
		}
		for began := threadTime(); threadTime()-began < time.Millisecond; {
		}
		bound <- cpus
	})
	require.Equal(t, []int{last}, <-bound)
	after, err := affinity()
	require.NoError(t, err)
	require.Equal(t, allowed, after, "other threads stay free")
	require.Eventually(t, func() bool { return threads.Used() >= time.Millisecond }, 10*time.Second, time.Millisecond)

	_, err = NewThreads([]int{maxCPU}, nil)
	require.ErrorIs(t, err, ErrCPUList)
	require.ErrorContains(t, err, "65535")
}
