package pipe

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestSilenceBehindData: the system says once that the other host does not answer, and from then
// on that the connection has ended. A reader that hears of it beside bytes can ask again.
func TestSilenceBehindData(t *testing.T) {
	for _, room := range []int{100, peekSize} { // read ahead, and not
		t.Run(fmt.Sprint(room), func(t *testing.T) {
			cfg := config(t, 1)
			cfg.Silence = 50 * time.Millisecond
			w, r := pair(t, cfg, "tcp")
			_, err := w.TryWrite([]byte("headbehind"), nil)
			require.NoError(t, err)
			require.Eventually(t, func() bool { n, err := w.Unsent(); return n == 0 && err == nil }, deadline, time.Millisecond)

			nothing := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
			require.NoError(t, control(w.sock.conn.(syscall.Conn), func(fd int) error {
				return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: &nothing[0]})
			}))
			r.sock.ring(bell) // never acknowledged
			require.Eventually(t, func() (ended bool) {
				require.NoError(t, r.sock.raw.Control(func(fd uintptr) { ended = ready(fd, 0) }))
				return ended
			}, deadline, time.Millisecond)

			b, err := r.Peek(4)
			require.NoError(t, err)
			require.Equal(t, "headbehind", string(b))
			r.Discard(4)
			buf := make([]byte, room)
			n, _ := r.TryRead(buf)
			require.Equal(t, "behind", string(buf[:n]))
			for range 2 {
				n, err = r.TryRead(buf)
				require.Zero(t, n)
				require.True(t, IsSilence(err), "%v", err)
				_, err = r.Peek(1)
				require.True(t, IsSilence(err), "%v", err)
			}
		})
	}
}
