package embedded

import (
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/craft-go/craft/aft/internal/control"
	"github.com/craft-go/craft/aft/internal/pipe"
)

// deafening has what comes to a listener's connections dropped before a message is taken, as on a
// link that is cut.
type deafening struct {
	receiver
	t    testing.TB
	port *atomic.Int32
}

func (d deafening) announce(e envelope, m announced) {
	nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(d.t, err)
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		require.NoError(d.t, err)
		_, unconnected := unix.Getpeername(fd)
		local, _ := unix.Getsockname(fd)
		if at, is := local.(*unix.SockaddrInet4); is && unconnected == nil && at.Port == int(d.port.Load()) {
			require.NoError(d.t, unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing[0]}))
		}
	}
	d.receiver.announce(e, m)
}

// TestSilenceWhileSending: the system says once that the other host does not answer, to whoever asks
// first, and of a broken pipe to who writes then: the root is to hear of the silence.
func TestSilenceWhileSending(t *testing.T) {
	told := make(chan error, 1)
	silence := func(c *wireConfig) { c.Host, c.Silence = fmt.Sprint("host", c.Self), 500*time.Millisecond }
	a, from := startNode(t, 1, t.Name(), func(c *wireConfig) {
		silence(c)
		c.Suspect = func(_ control.Proc, why error) { told <- why }
	})
	var port atomic.Int32
	b, to := startNode(t, 2, t.Name(), func(c *wireConfig) {
		silence(c)
		c.Receiver = deafening{c.Receiver, t, &port}
	})
	port.Store(int32(netip.MustParseAddrPort(to.TCP).Port()))
	b.wire.addPeers([]control.Peer{from})
	a.wire.addPeers([]control.Peer{to})
	const length = 32 << 20 // more than the system takes
	b.irecv(1, 1, make([]byte, length))
	a.isend(2, 1, make([]byte, length))

	l := a.wire.known(2)
	require.Eventually(t, l.armed.Load, wireDeadline, time.Millisecond)
	l.mu.Lock() // nobody writes
	require.Eventually(t, func() bool { return len(told) > 0 || readsNoMore() }, wireDeadline, time.Millisecond)
	l.mu.Unlock()
	select {
	case why := <-told:
		require.True(t, pipe.IsSilence(why), "%v", why)
	case <-time.After(wireDeadline):
		require.FailNow(t, "nobody is suspected")
	}
}

// readsNoMore reports whether a writer knows why it has ended, and waits for who may be writing.
func readsNoMore() bool {
	all := make([]byte, 1<<20)
	goroutines := strings.Split(string(all[:runtime.Stack(all, true)]), "\n\n")
	return slices.ContainsFunc(goroutines, func(g string) bool {
		return strings.Contains(g, "pipe.(*Writer).Run") && strings.Contains(g, "(*WaitGroup).Wait")
	})
}
