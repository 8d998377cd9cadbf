package e2etest

import (
	"net/url"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/worker"
)

// Intercepted returns the configuration of a worker of this world with an interceptor in its connection to Temporal.
func (w *World) Intercepted(i grpc.UnaryClientInterceptor) worker.Config {
	c := w.Config()
	c.Temporal.ConnectionOptions.DialOptions = append(c.Temporal.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(i))
	return c
}

// Proxied puts a proxy in front of the database for workers that are started after this call. The test itself does not use the proxy.
func (w *World) Proxied() *tcpproxy.Proxy {
	w.T.Helper()
	u, err := url.Parse(w.Database)
	if err != nil {
		w.T.Fatal(err)
	}
	p := ProxyTo(w.T, u.Host)
	u.Host = p.Address()
	w.through = u.String()
	return p
}

// ProxyTo starts a proxy that ends with the test.
func ProxyTo(t *testing.T, target string) *tcpproxy.Proxy {
	t.Helper()
	p, err := tcpproxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// SetProxy changes the mode of a proxy.
func SetProxy(t *testing.T, p *tcpproxy.Proxy, m tcpproxy.Mode) {
	t.Helper()
	if err := p.Set(m); err != nil {
		t.Fatal(err)
	}
}

// Retried waits until a step is tried again.
func (w *World) Retried(step string) {
	w.T.Helper()
	w.Until(func() bool { return w.Log.Has(`will be tried again" activity=` + step + " ") }, step+" is tried again")
}

// answerLoser forwards all requests. After the chosen request it drops all answers on the same connection.
type answerLoser struct {
	which func(request []byte) bool
	over  *atomic.Bool // the request was chosen, on this connection or another
	on    atomic.Bool  // the request was chosen on this connection
}

// LoseAnswer drops the answer to the next request for which which returns true, on connections that are made after this call. chosen reports whether there was
// such a request. Requests to Temporal are compressed, so which must choose them by their size or time.
func LoseAnswer(p *tcpproxy.Proxy, which func(request []byte) bool) (chosen func() bool) {
	over := &atomic.Bool{}
	p.Watch(func() tcpproxy.Watch { return &answerLoser{which: which, over: over} })
	return over.Load
}

// Request implements tcpproxy.Watch.
func (d *answerLoser) Request(piece []byte) tcpproxy.Verdict {
	if d.which(piece) && d.over.CompareAndSwap(false, true) {
		d.on.Store(true)
	}
	return tcpproxy.Forward
}

// Answer implements tcpproxy.Watch.
func (d *answerLoser) Answer([]byte) tcpproxy.Verdict {
	if d.on.Load() {
		return tcpproxy.Drop
	}
	return tcpproxy.Forward
}
