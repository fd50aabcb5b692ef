package pipe

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// past is a deadline that ends whatever waits.
var past = time.Unix(1, 0)

// headStart is how long an address is tried before the next one is.
const headStart = 250 * time.Millisecond

// Dial connects to a process at the first of its addresses where it is, and proves who this
// one is; without one it returns what came of each. An address that does not answer does not
// hold up those behind it for long.
func Dial(ctx context.Context, cfg Config, to uint32, addresses []Address) (*Writer, []error) {
	cfg, err := cfg.validated()
	if err != nil {
		return nil, slices.Repeat([]error{err}, len(addresses))
	}
	errs := make([]error, len(addresses))
	search, found := context.WithCancel(ctx)
	defer found()
	d := dialler{cfg: cfg, to: to, found: found}
	var all sync.WaitGroup
	for i, a := range addresses {
		ended := make(chan struct{})
		all.Go(func() {
			defer close(ended)
			if err := d.try(search, a); err != nil {
				errs[i] = fmt.Errorf("process %d at %s: %w", to, a.Address, err)
			}
		})
		select {
		case <-ended:
		case <-time.After(headStart):
		case <-search.Done():
		}
	}
	all.Wait()
	return d.writer, errs
}

// dialler looks for a process at several addresses at once.
type dialler struct {
	cfg   Config
	to    uint32
	found context.CancelFunc

	mu     sync.Mutex // one handshake at a time: the process takes one connection
	writer *Writer
}

// try connects to one address. A connection waits while another one is in its handshake.
func (d *dialler) try(ctx context.Context, a Address) error {
	connecting, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	conn, err := d.cfg.connect(connecting, a.Network, a.Address)
	cancel()
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	ctx, cancel = context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	if err := d.shake(ctx, conn); err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("handshake: %w", context.Cause(ctx))
		}
		return err
	}
	d.found()
	return nil
}

// shake does the handshake on a connection.
func (d *dialler) shake(ctx context.Context, conn net.Conn) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := d.cfg.watch(conn); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(past) })
	w, err := d.cfg.introduce(conn, d.to)
	if !stop() && err == nil {
		w.Close()
		err = ctx.Err()
	}
	if err == nil {
		d.writer = w
	}
	return err
}

// connect tries again while the other side has too many connections to accept, and,
// for as long as a connection may be silent, while there is no way to its host: a
// link that is down for a moment breaks no connection either.
func (c Config) connect(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	began := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		conn, err := d.DialContext(ctx, network, address)
		again := errors.Is(err, unix.EAGAIN) || noRoute(err) && time.Since(began) < c.Silence
		if err == nil || !again {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// introduce is the dialler's side of the handshake.
func (c Config) introduce(conn net.Conn, to uint32) (*Writer, error) {
	sock, err := newSocket(conn)
	if err != nil {
		return nil, err
	}
	h := hello{from: c.Self, to: to}
	_, _ = rand.Read(h.nonce[:]) // never fails
	w := &Writer{to: to, sock: sock}
	var memory *os.File
	if local, ok := conn.(*net.UnixConn); ok {
		if err := sameUser(local); err != nil {
			return nil, err
		}
		if c.Ring > 0 {
			if w.ring, memory, err = newRing(c.Ring); err != nil {
				c.Log.Debug("pipe without shared memory", "to", to, "err", err)
			} else {
				h.ring = uint32(c.Ring)
				defer memory.Close()
			}
		}
	}
	verdict, err := c.prove(conn, h, memory)
	if w.ring != nil && (err != nil || verdict == overSocket) {
		w.ring.unmap()
		w.ring = nil
	}
	if err != nil {
		return nil, err
	}
	if w.ring == nil {
		w.arm = make(chan struct{}, 1)
	}
	return w, nil
}

// prove exchanges the messages, and passes the memory on, if there is any.
func (c Config) prove(conn net.Conn, h hello, memory *os.File) (byte, error) {
	first := h.encode()
	if _, err := conn.Write(first); err != nil {
		return 0, err
	}
	challenge := make([]byte, challengeSize)
	if _, err := io.ReadFull(conn, challenge); err != nil {
		return 0, refused(err)
	}
	if err := c.checkProof(challenge[nonceSize:], "listen", first, challenge[:nonceSize]); err != nil {
		return 0, err
	}
	proof := c.proof("dial", first, challenge)
	var err error
	if memory != nil {
		_, _, err = conn.(*net.UnixConn).WriteMsgUnix(proof, unix.UnixRights(int(memory.Fd())), nil)
	} else {
		_, err = conn.Write(proof)
	}
	if err != nil {
		return 0, err
	}
	var verdict [1]byte
	if _, err := io.ReadFull(conn, verdict[:]); err != nil {
		return 0, refused(err)
	}
	if v := verdict[0]; v == overSocket || (v == overRing && memory != nil) {
		return v, nil
	}
	return 0, fmt.Errorf("%w: verdict %d", ErrRefused, verdict[0])
}

// refused explains a connection that was closed in the middle of the handshake.
func refused(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("%w: it has closed the connection: other job, secret, number or user", ErrRefused)
	}
	return err
}
