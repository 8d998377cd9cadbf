package web

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// wireServer is the metadata service of Azure. Unlike the metadata services of other clouds, it has a
// public address.
var wireServer = netip.MustParsePrefix("168.63.129.16/32")

const (
	// connectTime bounds the lookup of a host and all attempts to connect to it. net/http dials with a
	// context that does not end with the fetch.
	connectTime = 15 * time.Second
	// maxDials bounds the addresses of a host that are dialed.
	maxDials = 8
)

// guard connects to public addresses only.
type guard struct {
	ports []uint16
	safe  *ssrf.Guardian
	// lookup returns the addresses of a host name.
	lookup func(ctx context.Context, host string) ([]netip.Addr, error)
	// dial connects to an address that the guard has checked.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// connectTime is the constant; tests shorten it.
	connectTime time.Duration
}

// newGuard returns a guard for the public web. testOptions are for tests.
func newGuard(ports []uint16, testOptions ...ssrf.Option) *guard {
	options := append([]ssrf.Option{ssrf.WithPorts(ports...), ssrf.WithDeniedV4Prefixes(wireServer)}, testOptions...)
	g := &guard{ports: ports, safe: ssrf.New(options...), connectTime: connectTime}
	g.lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
		// With the dot at its end the name is absolute: no search domain of the worker is tried.
		return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: func(network, address string, c syscall.RawConn) error {
		if g.safe.Safe(network, address, c) != nil {
			return errAddress
		}
		return nil
	}}
	g.dial = dialer.DialContext
	return g
}

var (
	errAddress = &capability.WebError{Fault: capability.WebAddress, Text: "the host has an address that is not public: only pages of the public web can be fetched"}
	errPort    = &capability.WebError{Fault: capability.WebPort, Text: "the port of the URL is not allowed"}
	errNoHost  = &capability.WebError{Fault: capability.WebUnreachable, Text: "the host does not exist"}
)

// DialContext connects to a host. If one address of the host is not public, it connects to none. It
// checks all of them and tries the first maxDials.
func (g *guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errAddress
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || !slices.Contains(g.ports, uint16(number)) {
		return nil, errPort
	}
	ctx, cancel := context.WithTimeout(ctx, g.connectTime)
	defer cancel()
	addrs, err := g.addresses(ctx, host)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, addr := range addrs[:min(len(addrs), maxDials)] {
		conn, err := g.dial(ctx, network, netip.AddrPortFrom(addr, uint16(number)).String())
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// addresses returns the addresses of a host, all of them public.
func (g *guard) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	addrs := []netip.Addr{}
	if addr, err := netip.ParseAddr(host); err == nil {
		addrs = append(addrs, addr)
	} else if addrs, err = g.lookup(ctx, host); err != nil {
		var missing *net.DNSError
		if errors.As(err, &missing) && missing.IsNotFound {
			return nil, errNoHost
		}
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, errNoHost
	}
	for i, addr := range addrs {
		if addr.Is4In6() && addr.Zone() == "" {
			addrs[i] = addr.Unmap() // some resolvers write IPv4 addresses so
		}
		if g.safe.SafeAddr(addrs[i]) != nil {
			return nil, errAddress
		}
	}
	return addrs, nil
}
