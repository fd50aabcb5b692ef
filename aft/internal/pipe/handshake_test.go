package pipe

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listening is a listener whose pipes are counted; it is closed with the test.
func listening(t testing.TB, cfg Config) (l *Listener, taken chan *Reader) {
	l, err := Listen(cfg, "127.0.0.1:0")
	require.NoError(t, err)
	taken = make(chan *Reader, 10)
	var serving sync.WaitGroup
	serving.Go(func() { l.Serve(func(r *Reader) { taken <- r }) })
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return l, taken
}

func TestStrangersAreRefused(t *testing.T) {
	cfg := config(t, 1)
	l, taken := listening(t, cfg)
	local, tcp := l.Addresses()
	stranger := func(change func(c *Config)) Config {
		c := cfg
		c.Self = 2
		change(&c)
		return c
	}
	for name, c := range map[string]Config{
		"secret": stranger(func(c *Config) { c.Secret = bytes.Repeat([]byte{8}, SecretSize) }),
		"job":    stranger(func(c *Config) { c.Job = "another" }),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dialOne(timeout(t), c, 1, "unix", local)
			require.ErrorIs(t, err, ErrRefused)
			_, err = dialOne(timeout(t), c, 1, "tcp", tcp)
			require.ErrorIs(t, err, ErrRefused)
		})
	}
	t.Run("number", func(t *testing.T) {
		_, err := dialOne(timeout(t), stranger(func(*Config) {}), 3, "unix", local)
		require.ErrorIs(t, err, ErrRefused)
	})
	require.Empty(t, taken)
}

// exchange says the parts one after the other, and reads an answer of the given
// length after each.
func exchange(t *testing.T, address string, answers []int, parts ...[]byte) error {
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(deadline)))
	for i, p := range parts {
		if _, err := conn.Write(p); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, make([]byte, answers[i])); err != nil {
			return err
		}
	}
	return nil
}

func TestWrongProofs(t *testing.T) {
	cfg := config(t, 1)
	cfg.Timeout = 200 * time.Millisecond
	l, taken := listening(t, cfg)
	_, tcp := l.Addresses()
	good := hello{from: 2, to: 1}.encode()
	other := hello{from: 2, to: 5}.encode()
	wrongRing := hello{from: 2, to: 1, ring: 12345}.encode()
	for name, parts := range map[string][][]byte{
		"silence":           {{}},
		"half a hello":      {good[:20]},
		"http":              {[]byte("GET / HTTP/1.1\r\nHost: craft\r\nUser-Agent: somebody's scanner\r\n\r\n")},
		"another process":   {other},
		"impossible ring":   {wrongRing},
		"no proof":          {good, {}},
		"half a proof":      {good, make([]byte, 10)},
		"a proof of zeroes": {good, make([]byte, proofSize)},
	} {
		t.Run(name, func(t *testing.T) {
			err := exchange(t, tcp, []int{challengeSize, 1}, parts...)
			require.Error(t, err)
			require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the listener did not end it")
		})
	}
	require.Empty(t, taken)
}

// TestReflectedProof: the listener's own proof cannot be used as the dialler's.
func TestReflectedProof(t *testing.T) {
	l, taken := listening(t, config(t, 1))
	_, tcp := l.Addresses()
	good := hello{from: 2, to: 1}.encode()
	conn, err := net.Dial("tcp", tcp)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(good)
	require.NoError(t, err)
	challenge := make([]byte, challengeSize)
	_, err = io.ReadFull(conn, challenge)
	require.NoError(t, err)
	_, err = conn.Write(challenge[nonceSize:])
	require.NoError(t, err)
	_, err = io.ReadFull(conn, challenge[:1])
	require.Error(t, err)
	require.Empty(t, taken)
}

func TestListenerMustProveItselfToo(t *testing.T) {
	fake, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer fake.Close()
	go func() {
		conn, err := fake.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.ReadFull(conn, make([]byte, helloSize))
		_, _ = conn.Write(make([]byte, challengeSize))
		_, _ = io.ReadFull(conn, make([]byte, proofSize))
		_, _ = conn.Write([]byte{overSocket}) // it would take anybody
	}()
	_, err = dialOne(timeout(t), config(t, 2), 1, "tcp", fake.Addr().String())
	require.ErrorIs(t, err, ErrRefused)
}

func TestListenerThatDoesNotAnswer(t *testing.T) {
	fake, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer fake.Close()
	cfg := config(t, 2)
	cfg.Timeout = 50 * time.Millisecond
	_, err = dialOne(t.Context(), cfg, 1, "tcp", fake.Addr().String())
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// TestPendingConnectionsAreBounded: more silent connections than are allowed do
// not get in, and a process of the job need not wait for the end of their time.
func TestPendingConnectionsAreBounded(t *testing.T) {
	cfg := config(t, 1)
	cfg.Timeout = 2 * deadline // the silent ones are dropped after a small part of it
	cfg.Pending = 2
	l, taken := listening(t, cfg)
	_, tcp := l.Addresses()
	for range 3 {
		conn, err := net.Dial("tcp", tcp)
		require.NoError(t, err)
		defer conn.Close()
	}
	pending := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.pending)
	}
	require.Eventually(t, func() bool { return pending() == 2 }, deadline, time.Millisecond)
	from := cfg
	from.Self, from.Timeout = 2, deadline
	w, err := dialOne(timeout(t), from, 1, "tcp", tcp)
	require.NoError(t, err)
	w.Close()
	(<-taken).Abort()
}

// TestNamesCannotBeTaken: what another user can guess of a listener's name is not
// the name.
func TestNamesCannotBeTaken(t *testing.T) {
	cfg := config(t, 1)
	first, err := Listen(cfg, "")
	require.NoError(t, err)
	defer first.Close()
	second, err := Listen(cfg, "") // the job and the number are the same
	require.NoError(t, err)
	defer second.Close()
	a, _ := first.Addresses()
	b, _ := second.Addresses()
	require.NotEqual(t, a, b)
}

func TestCloseEndsHandshakes(t *testing.T) {
	l, err := Listen(config(t, 1), "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		l.Serve(func(*Reader) {})
		close(served)
	}()
	_, tcp := l.Addresses()
	conn, err := net.Dial("tcp", tcp)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(hello{from: 2, to: 1}.encode())
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, challengeSize))
	require.NoError(t, err)
	l.Close()
	select {
	case <-served:
	case <-time.After(5 * time.Second): // less than a handshake may take
		require.FailNow(t, "Serve waits for a handshake")
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := config(t, 1)
	for name, change := range map[string]func(c *Config){
		"secret of 31 bytes":   func(c *Config) { c.Secret = c.Secret[1:] },
		"no name":              func(c *Config) { c.Job = "" },
		"long name":            func(c *Config) { c.Job = string(bytes.Repeat([]byte{'x'}, 65)) },
		"name with a slash":    func(c *Config) { c.Job = "a/b" },
		"ring of a gigabyte":   func(c *Config) { c.Ring = 1 << 30 },
		"name with a zero":     func(c *Config) { c.Job = "a\x00b" },
		"name with line feeds": func(c *Config) { c.Job = "a\n" },
	} {
		c := good
		change(&c)
		_, err := Listen(c, "")
		require.ErrorIs(t, err, ErrConfig, name)
		_, err = dialOne(t.Context(), c, 1, "unix", "@nobody")
		require.ErrorIs(t, err, ErrConfig, name)
	}
	_, err := Listen(good, "not an address")
	require.ErrorContains(t, err, "not an address")
}

func TestDialNobody(t *testing.T) {
	_, err := dialOne(timeout(t), config(t, 2), 1, "unix", "@craft-nobody-1")
	require.ErrorContains(t, err, "process 1")
}

func FuzzHello(f *testing.F) {
	f.Add(hello{from: 1, to: 2, ring: minRing}.encode())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decodeHello(b)
		if err != nil {
			require.ErrorIs(t, err, ErrRefused)
			return
		}
		require.Equal(t, b, h.encode())
	})
}
