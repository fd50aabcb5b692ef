package control

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// signals are those that the root has sent since the last look.
func (s *script) signals() (out []int) {
	for _, m := range s.messages(KindSignal) {
		out = append(out, m.Signal.Number)
	}
	s.sent = nil
	return out
}

func (s *script) unread() { s.do(s.r.Unread(s.now)) }

const sigterm = int(syscall.SIGTERM)

// TestUnread: output without a reader asks the ranks to end, once; they are waited for as
// long as they print nothing, and for unreadPatience if they do.
func TestUnread(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.unread()
	require.Equal(t, s.now.Add(unreadGrace), s.r.unread.due, "the signal that has ended the reader may come")
	require.False(t, s.r.Next().After(s.r.unread.due))
	require.Empty(t, s.signals())
	s.wait(unreadGrace)
	require.Equal(t, []int{sigterm}, s.signals())
	require.Len(t, s.notes, 1)
	require.Contains(t, s.notes[0], "broken pipe")
	for range 4 {
		s.wait(unreadPatience / 5)
		s.unread()
	}
	require.Empty(t, s.signals())
	s.wait(unreadPatience)
	require.Nil(t, s.end, "they are silent")
	require.Empty(t, s.signals())
	s.unread()
	require.Equal(t, 1, s.end.Code)
	require.Contains(t, s.end.Report, "they still print")
	require.True(t, s.r.Unheard())
	s.do(s.r.Unread(s.now))
}

// TestUnreadAfterASignal: who was asked to end is not asked again because the reader has
// ended, too; who goes on for long is.
func TestUnreadAfterASignal(t *testing.T) {
	for _, first := range []bool{false, true} {
		s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
		if first { // the end of the reader is seen before the signal
			s.unread()
		}
		s.do(s.r.Signal(s.now, int(syscall.SIGINT)))
		s.unread()
		s.wait(2 * unreadGrace)
		s.unread()
		s.wait(unreadPatience - 3*time.Second)
		s.unread()
		require.Equal(t, []int{int(syscall.SIGINT)}, s.signals())
		require.False(t, s.r.Unheard())

		s.wait(2 * time.Second)
		s.unread()
		s.wait(unreadGrace)
		require.Equal(t, []int{sigterm}, s.signals(), "an hour after SIGHUP, say, which had it save")
		require.Nil(t, s.end)
		require.True(t, s.r.Unheard())
	}
}

// TestUnreadAfterAnotherSignal: one that does not ask for the end does not count.
func TestUnreadAfterAnotherSignal(t *testing.T) {
	s := running(t, RootConfig{Size: 2, Nodes: nodesOf(1, 0)})
	s.do(s.r.Signal(s.now, int(syscall.SIGUSR1)))
	s.sent = nil
	s.unread()
	s.wait(unreadGrace)
	require.Equal(t, []int{sigterm}, s.signals())
}

// TestUnreadOfAJobThatEnds before anybody is asked.
func TestUnreadOfAJobThatEnds(t *testing.T) {
	s := launched(t, RootConfig{Size: 1, Nodes: nodesOf(1, 0)})
	s.unread()
	s.exit(0, 0)
	require.Equal(t, End{}, *s.end)
	require.True(t, s.r.Unheard())
	require.Empty(t, s.signals())
}
