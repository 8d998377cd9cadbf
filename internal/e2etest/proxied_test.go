package e2etest

import (
	"net/url"
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
)

// proxied puts a proxy before the database: workers that are started from now on go through it, and the test looks past it.
func (w *world) proxied() *tcpproxy.Proxy {
	w.t.Helper()
	u, err := url.Parse(w.database)
	if err != nil {
		w.t.Fatal(err)
	}
	p := proxyTo(w.t, u.Host)
	u.Host = p.Address()
	w.through = u.String()
	return p
}

func proxyTo(t *testing.T, target string) *tcpproxy.Proxy {
	t.Helper()
	p, err := tcpproxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func set(t *testing.T, p *tcpproxy.Proxy, m tcpproxy.Mode) {
	t.Helper()
	if err := p.Set(m); err != nil {
		t.Fatal(err)
	}
}

// retried waits until a step is tried again.
func (w *world) retried(step string) {
	w.t.Helper()
	w.until(func() bool { return w.log.has(`will be tried again" activity=` + step + " ") }, step+" is tried again")
}
