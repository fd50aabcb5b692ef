package pipe

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const deadline = 60 * time.Second

var secret = bytes.Repeat([]byte{7}, SecretSize)

func config(t testing.TB, self uint32) Config {
	return Config{Job: "test-" + randomName(), Secret: secret, Self: self}
}

// bodies are what the bytes can go through: the suite runs on all of them.
var bodies = []struct {
	name    string
	network string
	ring    int
}{
	{"ring", "unix", minRing},
	{"unix", "unix", -1},
	{"tcp", "tcp", -1},
}

// onBodies runs a test on each body.
func onBodies(t *testing.T, test func(t *testing.T, w *Writer, r *Reader)) {
	for _, body := range bodies {
		t.Run(body.name, func(t *testing.T) {
			if body.ring > 0 && runtime.GOOS != "linux" {
				t.Skip("no shared memory")
			}
			cfg := config(t, 1)
			cfg.Ring = body.ring
			w, r := pair(t, cfg, body.network)
			require.Equal(t, body.ring > 0, w.ring != nil)
			require.Equal(t, body.ring > 0, r.ring != nil)
			test(t, w, r)
		})
	}
}

// pair connects process 2 to process 1.
func pair(t testing.TB, cfg Config, network string) (*Writer, *Reader) {
	l, err := Listen(cfg, "127.0.0.1:0")
	require.NoError(t, err)
	taken := make(chan *Reader, 1)
	var serving sync.WaitGroup
	serving.Go(func() { l.Serve(func(r *Reader) { taken <- r }) })
	defer serving.Wait()
	defer l.Close()
	local, tcp := l.Addresses()
	address := map[string]string{"unix": local, "tcp": tcp}[network]
	from := cfg
	from.Self = 2
	w, err := dialOne(t.Context(), from, cfg.Self, network, address)
	require.NoError(t, err)
	r := <-taken
	require.EqualValues(t, 2, r.From())
	require.EqualValues(t, 1, w.to)
	t.Cleanup(w.Close)
	t.Cleanup(r.Abort)
	return w, r
}

// sink is a reader that collects everything in its own goroutine.
type sink struct {
	mu   sync.Mutex
	r    *Reader
	all  []byte
	eof  bool
	take func(r *Reader) ([]byte, error) // how it reads
	err  error                           // that ended it
	done chan error
}

func collect(r *Reader, take func(r *Reader) ([]byte, error)) *sink {
	s := &sink{r: r, take: take, done: make(chan error, 1)}
	go func() { s.done <- r.Run(s.data) }()
	return s
}

func (s *sink) data() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		b, err := s.take(s.r)
		s.all = append(s.all, b...)
		if err == io.EOF {
			s.eof = true
			return
		}
		if err != nil {
			s.err = err
			s.r.Abort()
			return
		}
		if len(b) == 0 && s.r.Sleep() {
			return
		}
	}
}

// wait is what was collected when the pipe has ended.
func (s *sink) wait(t testing.TB) ([]byte, error) {
	select {
	case err := <-s.done:
		return s.all, cmp.Or(s.err, err)
	case <-time.After(deadline):
		require.FailNow(t, "the reader has not ended")
		return nil, nil
	}
}

// source writes everything from its own goroutine, sleeping when there is no room.
type source struct {
	mu    sync.Mutex
	w     *Writer
	space chan struct{}
	done  chan error
}

func feed(w *Writer) *source {
	s := &source{w: w, space: make(chan struct{}, 1), done: make(chan error, 1)}
	go func() {
		s.done <- w.Run(func() {
			select {
			case s.space <- struct{}{}:
			default:
			}
		})
	}()
	return s
}

func (s *source) write(ctx context.Context, head, body []byte, more ...[]byte) error {
	total := len(head) + len(body)
	for _, b := range more {
		total += len(b)
	}
	left := parts{head, body, more}
	for total > 0 {
		s.mu.Lock()
		n, err := s.w.TryWrite(left.first, left.second, left.rest...)
		for total -= n; n > 0; {
			n -= len(left.take(n))
		}
		asleep := err == nil && total > 0 && s.w.Sleep()
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if asleep {
			select {
			case <-s.space:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w.Close()
}

// dialOne is Dial where a process has one address.
func dialOne(ctx context.Context, cfg Config, to uint32, network, address string) (*Writer, error) {
	w, errs := Dial(ctx, cfg, to, []Address{{Network: network, Address: address}})
	return w, errs[0]
}
