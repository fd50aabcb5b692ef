package pipe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestListenAtNames: what this machine believes of its own name may be a loopback
// address, as Debian has it, nothing at all, or of a network that nobody else is on: it
// is reached by what others know too.
func TestListenAtNames(t *testing.T) {
	for _, name := range []string{"localhost", "no-such-host.invalid"} {
		l, err := Listen(config(t, 1), name+":0")
		require.NoError(t, err)
		defer l.Close()
		_, tcp := l.Addresses()
		all := Reachable("n07", tcp)
		_, port, err := net.SplitHostPort(l.tcp.Addr().String())
		require.NoError(t, err)
		require.Equal(t, Address{"tcp", "n07:" + port, true}, all[0], name)
		require.NotContains(t, tcp, "127.")
		for _, a := range all[1:] {
			require.True(t, strings.HasSuffix(a.Address, ":"+port), a)
			require.False(t, a.Named)
		}
	}
	l, err := Listen(config(t, 1), "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, tcp := l.Addresses()
	require.Equal(t, []Address{{"tcp", l.tcp.Addr().String(), false}}, Reachable("n07", tcp), "a number is what was meant")
	require.Equal(t, []Address{{"tcp", "[fe::1]:7", true}}, Reachable("fe::1", ":7"))
	_, err = Listen(config(t, 1), "192.0.2.7:0")
	require.ErrorIs(t, err, unix.EADDRNOTAVAIL)
	require.ErrorContains(t, err, "list it with a name")
}

// TestAddressesInTurn: neither a stranger that says nothing nor an address where nobody
// is keeps a dialler from the address that is right; it makes one connection.
func TestAddressesInTurn(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, nobody.Close())
	cfg := config(t, 1)
	l, err := Listen(cfg, "127.0.0.1:0")
	require.NoError(t, err)
	taken := make(chan *Reader, 10)
	served := make(chan struct{})
	go func() {
		defer close(served)
		l.Serve(func(r *Reader) { taken <- r })
	}()
	_, right := l.Addresses()

	cfg.Self = 2
	cfg.Timeout = 2 * headStart
	w, errs := Dial(t.Context(), cfg, 1, []Address{
		{"tcp", nobody.Addr().String(), true}, {"tcp", silent.Addr().String(), false}, {"tcp", right, false}, {"tcp", right, false},
	})
	require.NotNil(t, w, errs)
	w.Close()
	l.Close()
	<-served
	require.Len(t, taken, 1)
	(<-taken).Close()

	w, errs = Dial(t.Context(), cfg, 1, []Address{{"tcp", nobody.Addr().String(), true}, {"tcp", right, false}})
	require.Nil(t, w)
	for i, a := range []string{nobody.Addr().String(), right} {
		require.ErrorIs(t, errs[i], unix.ECONNREFUSED)
		require.ErrorContains(t, errs[i], a)
	}
}

// TestSilenceOfAHost: whether it does not answer is told by its name.
func TestSilenceOfAHost(t *testing.T) {
	named, other := Address{"tcp", "n07:1", true}, Address{"tcp", "10.0.0.7:1", false}
	silent, refused := fmt.Errorf("x: %w", unix.EHOSTUNREACH), fmt.Errorf("x: %w", unix.ECONNREFUSED)
	unknown := &net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}
	for _, c := range []struct {
		addresses []Address
		errs      []error
		silent    bool
	}{
		{[]Address{named}, []error{silent}, true},
		{[]Address{named}, []error{refused}, false},
		{[]Address{named}, []error{unknown}, false},
		{[]Address{other}, []error{silent}, true},
		{[]Address{other, named}, []error{silent, refused}, false},
		{[]Address{other, named}, []error{refused, silent}, true},
		{[]Address{other, named}, []error{silent, unknown}, true},
		{[]Address{named, other}, []error{refused, silent}, false},
	} {
		require.Equal(t, c.silent, Silence(c.addresses, c.errs) != nil, "%v %v", c.addresses, c.errs)
	}
}

// TestResolverThatDoesNotAnswer is waited for no longer than anything else.
func TestResolverThatDoesNotAnswer(t *testing.T) {
	cfg := config(t, 1)
	cfg.Timeout = time.Second
	usual := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = usual })
	asked := make(chan time.Duration, 100)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		until, _ := ctx.Deadline()
		asked <- time.Until(until)
		return nil, errors.New("no answer")
	}}
	l, err := Listen(cfg, "n07.invalid:0")
	require.NoError(t, err)
	defer l.Close()
	_, tcp := l.Addresses()
	require.NotEmpty(t, tcp)
	require.LessOrEqual(t, <-asked, cfg.Timeout)
}
