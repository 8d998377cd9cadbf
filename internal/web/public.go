package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/traceparent"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// maxSameHost is the number of redirects within a host that are followed.
const maxSameHost = 5

// Public implements capability.PublicHTTP.
type Public struct{ transport *http.Transport }

// NewPublic returns a Public. Of o it uses the ports, whose default is 443.
func NewPublic(o Options) *Public {
	if len(o.Ports) == 0 {
		o.Ports = []uint16{443}
	}
	return newPublic(newGuard(o.Ports), nil)
}

// newPublic returns a Public that connects through a guard. trust has the certificates of tests.
func newPublic(g *guard, trust *tls.Config) *Public {
	if trust == nil {
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	// Without Proxy, the transport ignores the proxy variables of the environment.
	return &Public{&http.Transport{
		DialContext: g.DialContext, TLSClientConfig: trust, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeaders,
		TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
		MaxIdleConns: 32, MaxIdleConnsPerHost: 2, MaxConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
	}}
}

// Client returns a client without a jar of cookies.
func (p *Public) Client() *http.Client {
	return &http.Client{Transport: httpsOnly{p.transport}, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		reads := []string{http.MethodGet, http.MethodHead}
		if len(via) > maxSameHost || req.URL.Scheme != "https" || req.URL.Host != via[0].URL.Host || !slices.Contains(reads, via[0].Method) {
			return http.ErrUseLastResponse
		}
		req.Header.Del("Referer")
		return nil
	}}
}

// Dial connects to a host whose addresses are all public.
func (p *Public) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return p.transport.DialContext(ctx, network, address)
}

// Close closes the connections that are idle.
func (p *Public) Close() { p.transport.CloseIdleConnections() }

// httpsOnly refuses requests of other schemes, and hides the text of the errors of the guard.
type httpsOnly struct{ next http.RoundTripper }

func (h httpsOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" || req.Host != "" && req.Host != req.URL.Host {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, capability.ErrNotPublic
	}
	resp, err := h.next.RoundTrip(traceparent.Request(req))
	var refused *capability.WebError
	if errors.As(err, &refused) && (refused.Fault == capability.WebAddress || refused.Fault == capability.WebPort) {
		return nil, fmt.Errorf("%w: %s", capability.ErrNotPublic, refused.Text)
	}
	return resp, err
}
