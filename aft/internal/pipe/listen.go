package pipe

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Listener is where other processes of the job connect to.
type Listener struct {
	cfg    Config
	local  *net.UnixListener
	tcp    net.Listener // nil: none
	host   string       // and port: this host as others call it
	remove func()

	mu      sync.Mutex
	closed  bool
	pending map[net.Conn]*handshake
}

// handshake is a connection that has not proved itself.
type handshake struct {
	via     net.Listener
	since   time.Time
	greeted bool // it has said hello, as diallers do at once
}

// Listen listens for processes of this host and, if tcp is not empty, for those of
// others, who call this host as tcp does (such as "10.0.0.1:0" or "n01:0").
func Listen(cfg Config, tcp string) (*Listener, error) {
	cfg, err := cfg.validated()
	if err != nil {
		return nil, err
	}
	l := &Listener{cfg: cfg, host: tcp, pending: make(map[net.Conn]*handshake)}
	l.local, l.remove, err = listenLocal(cfg)
	if err != nil {
		return nil, fmt.Errorf("listen for processes of this host: %w", err)
	}
	if tcp != "" {
		l.tcp, err = listenHosts(tcp)
		if err != nil {
			l.Close()
			return nil, fmt.Errorf("listen for processes of other hosts at %s: %w", tcp, err)
		}
	}
	return l, nil
}

// Addresses are where this process can be reached: from its host, and from
// others ("" if it does not listen for them; see Reachable).
func (l *Listener) Addresses() (local, tcp string) {
	local = l.local.Addr().String()
	if l.tcp != nil {
		tcp = hostAddresses(l.tcp, l.host, l.cfg.Timeout)
	}
	return local, tcp
}

// Serve calls take for each process that has proved itself, before that process
// knows it, until Close. take may be called by several goroutines at once.
func (l *Listener) Serve(take func(*Reader)) {
	var loops sync.WaitGroup
	loops.Go(func() { l.accept(l.local, take) })
	if l.tcp != nil {
		loops.Go(func() { l.accept(l.tcp, take) })
	}
	loops.Wait()
}

// accept takes no more connections than may be pending: the others wait in the
// kernel.
func (l *Listener) accept(from net.Listener, take func(*Reader)) {
	var handshakes sync.WaitGroup
	defer handshakes.Wait()
	free := make(chan struct{}, l.cfg.Pending)
	var warn sync.Once
	for {
		l.awaitRoom(from, free)
		conn, err := from.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // such as too many open files: others may end
			warn.Do(func() { l.cfg.Log.Warn("cannot accept connections at the moment", "err", err) })
			l.dropSlow(from)
			time.Sleep(10 * time.Millisecond)
			<-free
			continue
		}
		handshakes.Go(func() {
			defer func() { <-free }()
			l.welcome(from, conn, take)
		})
	}
}

// awaitRoom takes a place for one more handshake. When all are taken, the slow
// ones have to go: silent strangers must not keep out the processes of the job,
// who would be taken for dead.
func (l *Listener) awaitRoom(from net.Listener, free chan struct{}) {
	for {
		select {
		case free <- struct{}{}:
			return
		default:
		}
		select {
		case free <- struct{}{}:
			return
		case <-time.After(l.dropSlow(from)):
		}
	}
}

// dropSlow ends the handshakes that have taken too long while others wait, and
// returns when to look again.
func (l *Listener) dropSlow(from net.Listener) time.Duration {
	now := time.Now()
	next := l.cfg.Timeout / 400
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn, h := range l.pending {
		patience := l.cfg.Timeout / 400
		if h.greeted {
			patience *= 10
		}
		left := patience - now.Sub(h.since)
		switch {
		case h.via != from:
		case left > 0:
			next = min(next, left)
		default:
			delete(l.pending, conn)
			_ = conn.SetDeadline(past)
		}
	}
	return next
}

func (l *Listener) welcome(from net.Listener, conn net.Conn, take func(*Reader)) {
	_ = conn.SetDeadline(time.Now().Add(l.cfg.Timeout))
	if !l.begin(from, conn) {
		_ = conn.Close()
		return
	}
	if err := l.handshake(conn, take); err != nil {
		l.settle(conn)
		_ = conn.Close()
		l.cfg.Log.Debug("connection dropped", "from", conn.RemoteAddr().String(), "err", err)
	}
}

func (l *Listener) begin(from net.Listener, conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.pending[conn] = &handshake{via: from, since: time.Now()}
	}
	return !l.closed
}

// greet notes that a connection has said hello.
func (l *Listener) greet(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.pending[conn]; h != nil {
		h.greeted = true
	}
}

// settle takes a connection out of its handshake, unless that was ended by Close
// or by dropSlow.
func (l *Listener) settle(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, there := l.pending[conn]
	delete(l.pending, conn)
	return there && !l.closed
}

// handshake is the listener's side.
func (l *Listener) handshake(conn net.Conn, take func(*Reader)) error {
	local, isLocal := conn.(*net.UnixConn)
	if isLocal {
		if err := sameUser(local); err != nil {
			return err
		}
	}
	if err := l.cfg.watch(conn); err != nil {
		return err
	}
	first := make([]byte, helloSize)
	if _, err := io.ReadFull(conn, first); err != nil {
		return err
	}
	h, err := decodeHello(first)
	if err != nil {
		return err
	}
	if h.to != l.cfg.Self {
		return fmt.Errorf("%w: it looks for process %d", ErrRefused, h.to)
	}
	l.greet(conn)
	challenge := l.cfg.challenge(first)
	if _, err := conn.Write(challenge); err != nil {
		return err
	}
	proof, fds, err := readProof(conn)
	defer func() {
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
	}()
	if err != nil {
		return err
	}
	if err := l.cfg.checkProof(proof, "dial", first, challenge); err != nil {
		return err
	}
	return l.admit(conn, h, fds, take)
}

// admit makes the reader of a process that has proved itself.
func (l *Listener) admit(conn net.Conn, h hello, fds []int, take func(*Reader)) error {
	sock, err := newSocket(conn)
	if err != nil {
		return err
	}
	r := &Reader{from: h.from, sock: sock}
	verdict := overSocket
	if h.ring != 0 && len(fds) == 1 && l.cfg.Ring > 0 {
		if r.ring, err = openRing(fds[0], int(h.ring)); err != nil {
			l.cfg.Log.Debug("pipe without shared memory", "from", h.from, "err", err)
		} else {
			verdict = overRing
		}
	}
	if !l.settle(conn) {
		r.Abort()
		return ErrClosed
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		r.Abort()
		return err
	}
	// Taken before the other side knows it: what it has written by the time
	// that anybody hears of its end can be read. If the verdict does not reach
	// it, the reader's owner notices, as at any other end. One byte on a
	// connection that has carried next to nothing does not block.
	take(r)
	_, _ = conn.Write([]byte{verdict})
	return nil
}

// readProof reads the dialler's last message and the files that come with it.
func readProof(conn net.Conn) (proof []byte, fds []int, err error) {
	proof = make([]byte, proofSize)
	local, ok := conn.(*net.UnixConn)
	if !ok {
		_, err = io.ReadFull(conn, proof)
		return proof, nil, err
	}
	oob := make([]byte, unix.CmsgLen(4)) // room for one; the system closes what does not fit
	for done := 0; done < proofSize; {
		n, oobn, _, _, err := local.ReadMsgUnix(proof[done:], oob)
		fds = append(fds, descriptors(oob[:oobn])...)
		if err != nil {
			return nil, fds, err
		}
		if n == 0 {
			return nil, fds, io.ErrUnexpectedEOF
		}
		if len(fds) > 1 {
			return nil, fds, fmt.Errorf("%w: it sends file after file", ErrRefused)
		}
		done += n
	}
	return proof, fds, nil
}

// descriptors takes the files out of a control message; the caller closes them.
func descriptors(oob []byte) (fds []int) {
	messages, _ := unix.ParseSocketControlMessage(oob) // a wrong one: there are none
	for i := range messages {
		got, _ := unix.ParseUnixRights(&messages[i])
		fds = append(fds, got...)
	}
	return fds
}

// Close ends Serve and the handshakes. Pipes that were taken stay.
func (l *Listener) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	_ = l.local.Close()
	if l.tcp != nil {
		_ = l.tcp.Close()
	}
	for conn := range l.pending {
		_ = conn.SetDeadline(past)
	}
	l.remove()
}
