package outages

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
)

// requests counts the pieces of data that are sent to a server.
type requests struct{ n *atomic.Int64 }

func (r requests) Request([]byte) tcpproxy.Verdict { r.n.Add(1); return tcpproxy.Forward }

func (requests) Answer([]byte) tcpproxy.Verdict { return tcpproxy.Forward }

// TestOverloadedServer: a server that answers twenty requests per second and refuses the others gets sixty calls at the same time. All calls succeed, and the
// number of sent requests stays near the number that the server accepts.
func TestOverloadedServer(t *testing.T) {
	t.Parallel()
	const perSecond, calls = 20, 60
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: []string{
		fmt.Sprintf("frontend.namespaceRPS=%d", perSecond), "frontend.namespaceBurstRatio=1",
	}})
	proxy, err := tcpproxy.Start(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	var sent atomic.Int64
	proxy.Watch(func() tcpproxy.Watch { return requests{&sent} })
	w := e2etest.NewWorldOn(t, proxy.Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	s := newStream(w)
	w.Work(s.tools())
	began := time.Now()
	before := sent.Load()
	for range calls {
		s.invoke(w.Pawl)
	}
	s.verdict(t, 0)
	took, n := time.Since(began), sent.Load()-before
	// A call needs about eight requests. If the calls took less time, the server would have refused none.
	if took < calls*4/perSecond*time.Second {
		t.Errorf("%d calls took %s: the server was not overloaded", calls, took)
	}
	if most := took.Seconds() * perSecond * 5; float64(n) > most {
		t.Errorf("%d pieces were sent in %s, want at most %.0f", n, took, most)
	}
	t.Logf("%d calls in %s, %d pieces sent", calls, took.Round(time.Millisecond), n)
}
