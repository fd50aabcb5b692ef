package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// TestSlowOpeners: strangers who open connections and say nothing, or a hello and
// nothing more, get few places, and do not keep the processes of the job out.
func TestSlowOpeners(t *testing.T) {
	for name, first := range map[string][]byte{"silent": nil, "greeting": hello{from: 2, to: 1}.encode()} {
		t.Run(name, func(t *testing.T) {
			cfg := config(t, 1)
			l, taken := listening(t, cfg)
			_, tcp := l.Addresses()
			before := openFiles(t)
			const strangers = 500
			for range strangers {
				conn, err := net.Dial("tcp", tcp)
				require.NoError(t, err)
				defer conn.Close()
				_, err = conn.Write(first)
				require.NoError(t, err)
				require.Less(t, openFiles(t), before+strangers+maxPending+10)
			}
			cfg.Self = 2
			w, err := dialOne(timeout(t), cfg, 1, "tcp", tcp)
			require.NoError(t, err)
			w.Close()
			(<-taken).Abort()
			require.LessOrEqual(t, openFiles(t), before+strangers+maxPending+2)
		})
	}
}

// TestPendingLeavesFiles: the fewer files a process may open, the fewer strangers get.
func TestPendingLeavesFiles(t *testing.T) {
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &before))
	defer func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &before)) }()
	for _, c := range []struct {
		files uint64
		want  int
	}{{100, 3}, {1024, 32}, {min(before.Max, 4096), 64}} {
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: c.files, Max: before.Max}))
		got, err := config(t, 1).validated()
		require.NoError(t, err)
		require.Equal(t, c.want, got.Pending)
	}
}

// TestFilesOfStrangers: who has not proved himself hands over one file at most.
func TestFilesOfStrangers(t *testing.T) {
	cfg := config(t, 1)
	cfg.Timeout = deadline
	l, _ := listening(t, cfg)
	local, _ := l.Addresses()
	addr, err := net.ResolveUnixAddr("unix", local)
	require.NoError(t, err)
	conn, err := net.DialUnix("unix", nil, addr)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write(hello{from: 2, to: 1, ring: minRing}.encode())
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, challengeSize))
	require.NoError(t, err)
	before := openFiles(t)
	var null []int
	for range 50 {
		null = append(null, 0)
	}
	for range proofSize - 1 {
		if _, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(null...), nil); err != nil {
			break
		}
	}
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(deadline)))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err, "it is dropped")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.LessOrEqual(t, openFiles(t), before)
}

// TestNoFileToAccept: a listener whose process has no file left drops strangers, and
// goes on when there are some again.
func TestNoFileToAccept(t *testing.T) {
	cfg := config(t, 1)
	l, taken := listening(t, cfg)
	_, tcp := l.Addresses()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	restore := sync.OnceFunc(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) })
	defer restore()
	// The dialler's sockets are there before there is no more room.
	raw, err := net.Dial("tcp", tcp)
	require.NoError(t, err)
	defer raw.Close()
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.pending) == 1 }, deadline, time.Millisecond)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}))
	at := l.tcp.Addr().(*net.TCPAddr)
	require.NoError(t, unix.Connect(fd, &unix.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}))
	require.Eventually(t, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.pending) == 0 }, deadline, time.Millisecond)
	restore()
	cfg.Self = 2
	w, err := dialOne(timeout(t), cfg, 1, "tcp", tcp)
	require.NoError(t, err)
	w.Close()
	(<-taken).Abort()
}
