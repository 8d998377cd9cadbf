package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"code.dny.dev/ssrf"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// public is the address that stands for the public web in these tests. Only the constructor of tests allows it.
const public = "127.0.0.1"

// hostile is a small web: a server whose pages try to mislead a fetch, and a listener to which nothing may come.
type hostile struct {
	t    *testing.T
	http *httptest.Server
	tls  *httptest.Server
	// forbidden gets each connection to another address than public.
	forbidden net.Listener

	mu sync.Mutex
	// names are the answers of DNS, the last of which is repeated.
	names map[string][][]netip.Addr
	// seen are the requests, as host and path. arrived are the addresses of connections to forbidden.
	seen    []string
	headers []http.Header
	arrived []string
}

// newHostile starts the servers. handle serves every host.
func newHostile(t *testing.T, handle http.HandlerFunc) *hostile {
	t.Helper()
	h := &hostile{t: t, names: map[string][][]netip.Addr{}}
	record := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.seen = append(h.seen, r.Host+r.URL.RequestURI())
		h.headers = append(h.headers, r.Header.Clone())
		h.mu.Unlock()
		if r.URL.Path == robotsPath && !strings.HasPrefix(r.Host, "robots") {
			http.NotFound(w, r)
			return
		}
		handle(w, r)
	})
	h.http, h.tls = httptest.NewServer(record), httptest.NewTLSServer(record)
	var err error
	if h.forbidden, err = net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := h.forbidden.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = h.forbidden.Close()
		h.http.CloseClientConnections()
		h.tls.CloseClientConnections()
		h.http.Close()
		h.tls.Close()
	})
	return h
}

// fetcher returns a fetcher of this web: the ports 80 and 443 of public are those of the servers, and every
// other address is the forbidden listener.
func (h *hostile) fetcher(ports ...uint16) *Fetcher {
	if ports == nil {
		ports = []uint16{80, 443}
	}
	g := newGuard(ports, ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix(public+"/32")))
	g.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		answers, ok := h.names[host]
		if !ok {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		if len(answers) > 1 {
			h.names[host] = answers[1:]
		}
		return append([]netip.Addr{}, answers[0]...), nil
	}
	g.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		to := h.forbidden.Addr().String()
		switch address {
		case public + ":80":
			to = h.http.Listener.Addr().String()
		case public + ":443":
			to = h.tls.Listener.Addr().String()
		default:
			h.mu.Lock()
			h.arrived = append(h.arrived, address)
			h.mu.Unlock()
		}
		return new(net.Dialer).DialContext(ctx, network, to)
	}
	roots := x509.NewCertPool()
	roots.AddCert(h.tls.Certificate())
	f := newFetcher(g, "1.2.3", &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	h.t.Cleanup(f.Close)
	return f
}

// name sets the answers of DNS for a host: each is a list of addresses.
func (h *hostile) name(host string, answers ...string) {
	for _, answer := range answers {
		var addrs []netip.Addr
		for text := range strings.FieldsSeq(answer) {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		h.names[host] = append(h.names[host], addrs)
	}
}

// requests returns and forgets the requests but for those of robots.txt.
func (h *hostile) requests() (seen []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.seen {
		if !strings.HasSuffix(s, robotsPath) {
			seen = append(seen, s)
		}
	}
	h.seen, h.headers = nil, nil
	return seen
}

// faultOf returns the fault of an error.
func faultOf(err error) capability.WebFault {
	var e *capability.WebError
	if errors.As(err, &e) {
		return e.Fault
	}
	return ""
}

// fetch fetches a URL for the tenant acme.
func fetch(t *testing.T, f *Fetcher, url string) (capability.WebPage, error) {
	t.Helper()
	return f.Fetch(t.Context(), capability.WebRequest{URL: url, TenantID: "acme", Form: capability.WebMarkdown})
}

// short is a time limit for tests of slow servers.
const short = 300 * time.Millisecond
