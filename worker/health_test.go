package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/faultkit/tcpproxy"
	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/postgres"
	connrows "github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/internal/seal"
	"github.com/pawl-run/pawl/toolspec/source"
)

var probedAt = regexp.MustCompile(`the worker answers probes" address=(\S+)`)

// probes sends probes to the health listener of a running worker.
type probes struct {
	w    *world
	base string
}

func (r *running) probes() probes {
	r.w.t.Helper()
	r.waitForLog("the worker answers probes")
	return probes{r.w, "http://" + probedAt.FindStringSubmatch(r.w.log.String())[1]}
}

// get returns the status and the body of an answer, or an error if nothing listens.
func (p probes) get(path string) (int, string, error) {
	request, err := http.NewRequestWithContext(context.WithoutCancel(p.w.t.Context()), http.MethodGet, p.base+path, nil)
	if err != nil {
		return 0, "", err
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body), err
}

// waitFor waits until the worker has this status and readiness, and its check with this name has the state and
// the message. The worker is alive all the time.
func (p probes) waitFor(status int, readiness, check string, state health.State, says string) {
	p.w.t.Helper()
	p.w.until(fmt.Sprintf("%s is %s", check, state), func() error {
		if alive, body, err := p.get("/livez"); err != nil || alive != http.StatusOK {
			p.w.t.Fatalf("it is not alive: %d %s %v", alive, body, err)
		}
		got, body, err := p.get("/readyz")
		if err != nil {
			return err
		}
		var report health.Report
		if err := json.Unmarshal([]byte(body), &report); err != nil {
			return err
		}
		for _, c := range report.Checks {
			if got == status && report.Status == readiness && c.Name == check && c.State == state && strings.Contains(c.Message, says) {
				return nil
			}
		}
		return fmt.Errorf("it answers %d %s", got, body)
	})
}

// TestProbesWhileTheWorkerStarts: the worker answers probes before it has a database, and the answer says for
// which server it waits.
func TestProbesWhileTheWorkerStarts(t *testing.T) {
	t.Parallel()
	own := devstacktest.OwnPostgres(t)
	w := newWorldOn(t, own.URL())
	store := w.open()
	if _, err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := own.StopImmediate(t.Context()); err != nil {
		t.Fatal(err)
	}
	temporal := proxyTo(t, w.config.Temporal.HostPort)
	if err := temporal.Set(tcpproxy.Refuse); err != nil {
		t.Fatal(err)
	}
	w.config.HealthListen, w.config.PolicyFile, w.config.Temporal.HostPort = "127.0.0.1:0", w.file("policy.yaml", rules), temporal.Address()
	r := w.start()
	p := r.probes()
	p.waitFor(503, health.NotReady, health.Database, health.Failed, "no server listens at the address of PAWL_DATABASE_URL")
	if err := own.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.waitFor(503, health.NotReady, health.Temporal, health.Failed, "no server listens at TEMPORAL_ADDRESS")
	if err := temporal.Set(tcpproxy.Pass); err != nil {
		t.Fatal(err)
	}
	p.waitFor(200, health.Ready, health.Worker, health.OK, "the worker runs")
	_, body, err := p.get("/readyz")
	if err != nil || strings.Contains(body, passwordOf(t, own.URL())) || strings.Contains(body, "127.0.0.1") || strings.Contains(body, "acme") {
		t.Errorf("it says %s, %v", body, err)
	}
	if status, body, err := p.get("/version"); err != nil || status != http.StatusOK || !strings.Contains(body, `"schemaVersion":`) || !strings.Contains(body, `"planVersion":`) {
		t.Errorf("/version: %d %s %v", status, body, err)
	}
	if status, _, err := p.get("/"); err != nil || status != http.StatusNotFound {
		t.Errorf("/: %d, %v", status, err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if _, _, err := p.get("/livez"); err == nil {
		t.Error("it answers after its end")
	}
}

// TestProbesOfARunningWorker: servers, a source and the policy go away and come back.
func TestProbesOfARunningWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u, err := url.Parse(w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	database, temporal := proxyTo(t, u.Host), proxyTo(t, w.config.Temporal.HostPort)
	u.Host = database.Address()
	w.config.DatabaseURL, w.config.Temporal.HostPort, w.config.HealthListen = u.String(), temporal.Address(), "127.0.0.1:0"
	d := make(offering, 1)
	d.tools(tool("test__a"))
	r := w.start(Sources(d))
	p := r.probes()
	p.waitFor(503, health.NotReady, health.Policy, health.Failed, "no policy is active, so every call is denied: run `pawl policy apply FILE`")
	w.config.PolicyFile = w.file("policy.yaml", rules)
	policy, err := readPolicy(w.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.ApplyPolicy(t.Context(), policy, "user:ann"); err != nil {
		t.Fatal(err)
	}
	p.waitFor(200, health.Ready, health.Policy, health.OK, "a policy is active")
	for _, server := range []struct {
		proxy *tcpproxy.Proxy
		check string
		says  string
	}{
		{temporal, health.Temporal, "no server listens at TEMPORAL_ADDRESS"},
		{database, health.Database, "no server listens at the address of PAWL_DATABASE_URL"},
	} {
		if err := server.proxy.Set(tcpproxy.Refuse); err != nil {
			t.Fatal(err)
		}
		server.proxy.Cut()
		p.waitFor(503, health.NotReady, server.check, health.Failed, server.says)
		if err := server.proxy.Set(tcpproxy.Pass); err != nil {
			t.Fatal(err)
		}
		p.waitFor(200, health.Ready, server.check, health.OK, "")
	}
	d <- source.Offer{Fault: "s3same of a server"}
	p.waitFor(200, health.ReadyDegraded, health.Sources, health.Degraded, "(extension d)")
	if _, body, err := p.get("/readyz"); err != nil || strings.Contains(body, "s3same") {
		t.Errorf("it says %s, %v", body, err)
	}
	d.tools(tool("test__a"))
	p.waitFor(200, health.Ready, health.Sources, health.OK, "")
}

// stubborn is a source that stops only when release is closed.
type stubborn struct{ release chan struct{} }

func (stubborn) Info() source.Info { return source.Info{Kind: source.Extension, Name: "stubborn"} }

func (s stubborn) Run(_ context.Context, offer func(source.Offer)) error {
	offer(source.Offer{})
	<-s.release
	return nil
}

// TestProbesWhileTheWorkerStops: a worker that stops is alive, and not ready.
func TestProbesWhileTheWorkerStops(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile, w.config.HealthListen = w.file("policy.yaml", rules), "127.0.0.1:0"
	slow := stubborn{make(chan struct{})}
	r := w.start(Sources(slow))
	p := r.probes()
	p.waitFor(200, health.Ready, health.Worker, health.OK, "")
	r.cancel()
	p.waitFor(503, health.NotReady, health.Worker, health.Failed, "the worker is stopping")
	close(slow.release)
	if err := r.waitForEnd(); err != nil {
		t.Error(err)
	}
}

func TestHealthListenIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, address := range []string{"nowhere", "127.0.0.1", "127.0.0.1:99999", "203.0.113.1:80"} {
		w.config.HealthListen = address
		w.start().expectError("config: PAWL_HEALTH_LISTEN")
	}
}

// TestTheKeyRingOfConnections: a worker that lacks keys of stored credentials is degraded, and says so at its start.
func TestTheKeyRingOfConnections(t *testing.T) {
	t.Parallel()
	ring, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal.New()
	if err != nil {
		t.Fatal(err)
	}
	used := []postgres.KeyUse{{KeyID: ring.Primary(), Secrets: 2}}
	for name, c := range map[string]struct {
		sealer broker.Sealer
		uses   []postgres.KeyUse
		state  health.State
		says   string
	}{
		"nothing":            {nil, nil, health.OK, "no connection needs one"},
		"no ring":            {nil, used, health.Degraded, "this worker has no key ring: set PAWL_KEYRING_FILE"},
		"the ring":           {ring, used, health.OK, "has the keys"},
		"another ring":       {other, used, health.Degraded, "lacks a key"},
		"a ring without use": {other, nil, health.OK, "has the keys"},
	} {
		if got := keyRingCheck(connections{sealer: c.sealer}, c.uses); got.State != c.state || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	w := newWorld(t)
	w.config.PolicyFile, w.config.HealthListen = w.file("policy.yaml", rules), "127.0.0.1:0"
	p := broker.Provider{ID: "test", Kind: broker.Bearer, Hosts: []string{"api.example.com"}}
	at := broker.At("acme", "c1", p, p.Hosts, 1)
	sealed, keyID, err := ring.Seal([]byte("s3same"), at)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.AddConnection(t.Context(), connrows.AddRow{Provider: p, Hosts: p.Hosts, Sealed: broker.Sealed{Binding: at, KeyID: keyID, Bytes: sealed}}, "user:ann"); err != nil {
		t.Fatal(err)
	}
	r := w.start()
	r.probes().waitFor(200, health.ReadyDegraded, health.KeyRing, health.Degraded, "this worker has no key ring")
	if !w.log.Has("calls with connections fail", "set PAWL_KEYRING_FILE") {
		t.Errorf("the log says nothing of it:\n%s", w.log)
	}
}

// TestCheckValues: a check that failed has a value. A check that waits for the failed part has no value. A
// worker that starts is not ready.
func TestCheckValues(t *testing.T) {
	got := maps.Collect(checkValues(health.Report{Checks: []health.Check{
		{Name: health.Worker, State: health.Waiting}, {Name: health.Database, State: health.Failed}, {Name: health.Policy, State: health.Waiting},
		{Name: health.KeyRing, State: health.Degraded}, {Name: health.Temporal, State: health.OK},
	}}))
	want := map[string]int{health.Worker: 2, health.Database: 2, health.KeyRing: 1, health.Temporal: 0}
	if !maps.Equal(got, want) {
		t.Errorf("the values are %v, want %v", got, want)
	}
}
