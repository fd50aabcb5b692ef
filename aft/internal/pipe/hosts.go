package pipe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// mostAddresses bounds what a listener announces; more than a few are never of use.
const mostAddresses = 16

// listenHosts listens for processes of other hosts. address is this host as the others
// call it, and a port. A number is taken as it is.
//
// What this machine believes of its own name may be of no use to others: Debian writes
// "127.0.1.1 name" into /etc/hosts, where containers run it may be an address of a
// network that ends in this machine, and it may be an alias that only the agent
// understands. So it listens on every address, and who dials chooses: see Reachable.
func listenHosts(address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err != nil {
		host = ""
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if errors.Is(err, unix.EADDRNOTAVAIL) {
		err = fmt.Errorf("%w: this machine does not have that address; list it with a name, or with an address that it has", err)
	}
	return l, err
}

// hostAddresses is where others reach the listener of a host, separated by blanks, the
// most likely one first. One that starts with a colon belongs to the host's name as the
// dialler knows it. A resolver that does not answer within the limit knows nothing.
func hostAddresses(l net.Listener, address string, limit time.Duration) string {
	at := l.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() {
		return at.String()
	}
	port := fmt.Sprint(at.Port)
	name, _, _ := net.SplitHostPort(address) // it listens there
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	known, _ := net.DefaultResolver.LookupHost(ctx, name) // none: it is not known here
	var own, others []string
	interfaces, _ := net.InterfaceAddrs() // the name is left
	for _, a := range interfaces {
		n, ok := a.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case slices.Contains(known, n.IP.String()):
			own = append(own, net.JoinHostPort(n.IP.String(), port))
		default:
			others = append(others, net.JoinHostPort(n.IP.String(), port))
		}
	}
	all := append(append(own, ":"+port), others...)
	return strings.Join(all[:min(len(all), max(mostAddresses, len(own)+1))], " ")
}

// Reachable are the addresses to dial of a process on a host: tcp is the second result
// of its Listener.Addresses.
func Reachable(host, tcp string) []Address {
	var all []Address
	for _, a := range strings.Fields(tcp) {
		port, named := strings.CutPrefix(a, ":")
		if named {
			a = net.JoinHostPort(host, port)
		}
		all = append(all, Address{"tcp", a, named})
	}
	return all
}

// Address is where a process may be.
type Address struct {
	Network, Address string
	Named            bool // the name of its host, as this one knows it
}

// Silence is the error that says that the host of a process does not answer, of those
// that came of its addresses; nil: that is not so. The host's name decides: other addresses
// may be of networks that are not this host's. If there is none, or who tells the
// addresses does not answer, the first one does.
func Silence(addresses []Address, errs []error) error {
	named := slices.IndexFunc(addresses, func(a Address) bool { return a.Named })
	var unknown *net.DNSError
	if named < 0 || errors.As(errs[named], &unknown) {
		named = 0
	}
	if !IsSilence(errs[named]) {
		return nil
	}
	return errs[named]
}
