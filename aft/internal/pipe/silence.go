package pipe

import (
	"errors"
	"net"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// watch lets the system break a connection when the other host does not answer for
// longer than Silence: data that it does not acknowledge, and, where there is none
// under way, questions whether it is there. A process that is only slow is not
// concerned, as long as it takes what has come.
func (c Config) watch(conn net.Conn) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || c.Silence <= 0 {
		return nil
	}
	err := tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: true, Idle: max(time.Second, c.Silence/2), Interval: max(time.Second, c.Silence/4),
	})
	if err != nil {
		return err
	}
	return control(tcp, func(fd int) error { return limitSilence(fd, c.Silence) })
}

// IsSilence reports whether an error of Dial, a Writer or a Reader says that the other
// host does not answer, which tells nothing of its processes: either host may be cut off.
func IsSilence(err error) bool {
	if errors.Is(err, unix.ETIMEDOUT) || noRoute(err) {
		return true
	}
	var dial *net.OpError
	var name *net.DNSError // who tells the addresses does not answer: that is another host
	return errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout() && !errors.As(err, &name)
}

// noRoute reports whether the system knows no way to a host at the moment.
func noRoute(err error) bool {
	none := []error{unix.EHOSTUNREACH, unix.EHOSTDOWN, unix.ENETUNREACH, unix.ENETDOWN}
	return slices.ContainsFunc(none, func(e error) bool { return errors.Is(err, e) })
}
