package e2etest

import (
	"net/url"
	"sync/atomic"
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

// deaf lets one request through and none of its connection's answers from then on, until somebody cuts it.
type deaf struct {
	which func(request []byte) bool
	over  *atomic.Bool // some connection has turned deaf
	on    atomic.Bool  // this one has
}

// loseAnswer makes the next request that is meant go unanswered, on connections made from now on. heard says whether it was sent.
// Temporal's requests are compressed: go by their size or their time.
func loseAnswer(p *tcpproxy.Proxy, which func(request []byte) bool) (heard func() bool) {
	over := &atomic.Bool{}
	p.Watch(func() tcpproxy.Watch { return &deaf{which: which, over: over} })
	return over.Load
}

// Request looks for the one that is meant.
func (d *deaf) Request(piece []byte) tcpproxy.Verdict {
	if d.which(piece) && d.over.CompareAndSwap(false, true) {
		d.on.Store(true)
	}
	return tcpproxy.Forward
}

// Answer loses what follows it.
func (d *deaf) Answer([]byte) tcpproxy.Verdict {
	if d.on.Load() {
		return tcpproxy.Drop
	}
	return tcpproxy.Forward
}
