package health_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/internal/health"
)

func fine(context.Context) []health.Check {
	return []health.Check{{Name: health.Temporal, State: health.OK}, {Name: health.Database, State: health.OK}}
}

// TestAFloodOfProbes: probes share one set of checks per second.
func TestAFloodOfProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := health.NewBoard()
		var sets, wrong atomic.Int32
		b.Started(func(ctx context.Context) []health.Check {
			sets.Add(1)
			<-time.After(200 * time.Millisecond)
			return fine(ctx)
		})
		flood := func() {
			var all sync.WaitGroup
			for range 1000 {
				all.Go(func() {
					if b.Report(t.Context()).Status != health.Ready {
						wrong.Add(1)
					}
				})
			}
			all.Wait()
		}
		flood()
		flood()
		if sets.Load() != 1 || wrong.Load() != 0 {
			t.Errorf("two floods made %d sets of checks; %d probes were not answered with ready", sets.Load(), wrong.Load())
		}
		<-time.After(time.Second)
		flood()
		if sets.Load() != 2 {
			t.Errorf("after a second there were %d sets of checks", sets.Load())
		}
	})
}

// TestAHangingCheck: a probe is answered although a check does not end.
func TestAHangingCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := health.NewBoard()
		release := make(chan struct{})
		b.Started(func(ctx context.Context) []health.Check { <-release; return fine(ctx) })
		go b.Report(t.Context())
		synctest.Wait()
		began := time.Now()
		if r := b.Report(t.Context()); r.Status != health.NotReady || len(r.Checks) != 1 || time.Since(began) > 2*time.Second {
			t.Errorf("after %s: %+v", time.Since(began), r)
		}
		close(release)
	})
}

func TestReports(t *testing.T) {
	t.Parallel()
	b := health.NewBoard()
	b.Wait(health.Database, "the database is away")
	if r := b.Report(t.Context()); r.Status != health.NotReady || len(r.Checks) != 6 || r.Checks[1] != (health.Check{Name: health.Database, State: health.Failed, Message: "the database is away"}) {
		t.Errorf("while it starts: %+v", r)
	}
	b.Wait(health.Database, "")
	if r := b.Report(t.Context()); r.Status != health.NotReady || r.Checks[1].State != health.Waiting {
		t.Errorf("while it starts: %+v", r)
	}
	b.Started(func(ctx context.Context) []health.Check {
		return append(fine(ctx), health.Check{Name: health.Sources, State: health.Degraded})
	})
	r := b.Report(t.Context())
	if r.Status != health.ReadyDegraded || len(r.Checks) != 4 || r.Checks[0].Name != health.Worker || r.Checks[1].Name != health.Database {
		t.Errorf("with a degraded part: %+v", r)
	}
	b.Stopping()
	b.Stopping()
	if r := b.Report(t.Context()); r.Status != health.NotReady || r.Checks[0].Message != "the worker is stopping" {
		t.Errorf("while it stops: %+v", r)
	}
	var none *health.Board // of a worker without a listener
	none.Wait(health.Database, "x")
	none.Started(fine)
	none.Stopping()
}

func TestHandler(t *testing.T) {
	t.Parallel()
	b := health.NewBoard()
	ask := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		health.Handler(b, http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		return w
	}
	var r health.Report
	if w := ask(http.MethodGet, "/readyz"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Content-Type") != "application/json" || json.Unmarshal(w.Body.Bytes(), &r) != nil || r.Status != health.NotReady {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	b.Started(fine)
	for path, want := range map[string]int{"/readyz": 200, "/livez": 200, "/version": 200, "/metrics": 404, "/debug/pprof": 404} {
		if w := ask(http.MethodGet, path); w.Code != want {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if w := ask(http.MethodPost, "/readyz"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

// TestListen: an address without a host is one of the loopback interface.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0", ":0", "127.0.0.1:0"} {
		at, stop, err := health.Listen(t.Context(), address, health.NewBoard(), http.NotFoundHandler())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		if tcp, ok := at.(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
			t.Errorf("%q listens at %s", address, at)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.String()+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Large", strings.Repeat("a", 64<<10))
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // the server may close the connection before it has read all
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("a large header: %d", answer.StatusCode)
		}
	}
}
