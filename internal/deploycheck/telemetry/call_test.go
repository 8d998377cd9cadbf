package telemetry

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/client"
	temporal "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"github.com/pawl-run/pawl/broker/oauthtest"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	measured "github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

var probedAt = regexp.MustCompile(`the worker answers probes" address=(\S+)`)

// scraped returns the page /metrics of the worker that started last.
func scraped(t *testing.T, w *e2etest.World) string {
	t.Helper()
	var at string
	w.Until(func() bool {
		all := probedAt.FindAllStringSubmatch(w.Log.String(), -1)
		if len(all) > 0 {
			at = all[len(all)-1][1]
		}
		return at != ""
	}, "the worker answers probes")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: %d %v", answer.StatusCode, err)
	}
	return string(body)
}

// TestCall makes a write that waits for a person while its worker is replaced. After that its connection needs a new token, and its first attempt fails. The whole
// call is one trace below the span of its caller, and its steps before and after the wait are below one span of the workflow run. The metrics count the call,
// and the log names the trace. Metrics, traces and log have no argument, no output, no secret, no text of an error and no name of a person.
func TestCall(t *testing.T) {
	r := receive(t, "grpc")
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	canary := e2etest.NewCanary()
	auth := oauthtest.New(t)
	v, api := e2etest.NewVault(w), e2etest.NewAPI(t, auth)
	v.AddOAuth("c1", api.Provider(), e2etest.Stale(auth), -time.Minute)
	var runs atomic.Int64
	tool := e2etest.Tool("test__write", func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		out, err := e2etest.FetchAt(ctx, e2etest.In{Text: api.URL}, call)
		if err == nil && runs.Add(1) == 1 {
			return e2etest.Out{}, toolspec.RetryAfter(10*time.Millisecond, "busy")
		}
		out.Text += "out-" + string(canary)
		return out, err
	}, e2etest.Idempotent, e2etest.Risky, e2etest.Connected, e2etest.Attempts(2))
	config := v.Config()
	config.OTLP, config.HealthListen = worker.OTLP{Metrics: true, Traces: true}, "127.0.0.1:0"
	stop := w.WorkWith(config, worker.Tools(tool))

	caller := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0xca, 0x11}, SpanID: trace.SpanID{0xe5}, TraceFlags: trace.FlagsSampled})
	tracing, err := temporal.NewTracingInterceptor(temporal.TracerOptions{Tracer: noop.NewTracerProvider().Tracer("")}) // passes the span of the context on
	if err != nil {
		t.Fatal(err)
	}
	traced, err := client.DialContext(t.Context(), client.Options{
		HostPort: w.Address, Namespace: w.Namespace, Interceptors: []interceptor.ClientInterceptor{tracing},
		ConnectionOptions: client.ConnectionOptions{GetSystemInfoTimeout: e2etest.WaitTimeout},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer traced.Close()
	inv := e2etest.Over(e2etest.Invocation("call_1", "test__write", `{"text":"in-`+string(canary)+`"}`), "c1")
	call, err := pawl.New(traced, pawl.Options{}).Start(trace.ContextWithSpanContext(t.Context(), caller), inv)
	if err != nil {
		t.Fatal(err)
	}
	w.Waiting(call.WorkflowID)
	if body := scraped(t, w); !strings.Contains(body, `pawl_waiting{kind="approval"} 1`) {
		t.Errorf("no approval waits: %s", body)
	}
	stop()
	stop = w.WorkWith(config, worker.Tools(tool))
	w.Approve(call.WorkflowID)
	if result := w.Result(call); !result.OK || result.Attempts != 2 {
		t.Fatalf("the result is %+v", result)
	}
	var body string
	w.Until(func() bool { // the answer of settle reaches the caller before the worker has counted it
		body = scraped(t, w)
		return strings.Contains(body, `pawl_calls_total{code="ok",effect="state_change",tool="test__write"} 1`)
	}, "the call is counted")
	for _, want := range []string{
		`pawl_attempts_total{outcome="done",tool="test__write"} 1`, `pawl_approval_decision_duration_seconds_count{state="approved"} 1`,
		`pawl_broker_leases_total{outcome="leased"} 2`, `pawl_broker_refreshes_total{outcome="stored"} 1`, `pawl_policy_active{digest="`, `pawl_step_duration_seconds_count{step="willAuthorize"}`, `temporal_request_total`, `go_goroutines`,
		`pawl_check{check="worker"} 0`, `pawl_check{check="database"} 0`, `pawl_check{check="temporal"} 0`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("there is no %s", want)
		}
	}
	documented(t, body)
	stop()

	spans, names := r.spans(), map[string]int{}
	for id, s := range spans {
		if s.TraceID() != pcommon.TraceID(caller.TraceID()) {
			delete(spans, id)
			continue
		}
		names[s.Name()]++
	}
	belowCaller(t, spans, pcommon.SpanID(caller.SpanID()))
	for name, least := range map[string]int{
		"RunWorkflow:InvokeTool": 1, "RunActivity:admit": 1, "RunActivity:requestApproval": 1, "RunActivity:reviewDecision": 1, "RunActivity:execute": 2, "RunActivity:settle": 1,
		"broker.lease": 2, "sql LeaseConnection": 2, "sql ReplaceSecret": 1, "sql Settle": 1,
	} {
		if names[name] < least {
			t.Errorf("%d spans %q, want %d: %v", names[name], name, least, names)
		}
	}
	for _, once := range []string{"RunWorkflow:InvokeTool", "broker.refresh"} {
		if names[once] != 1 {
			t.Errorf("there are %d spans %s", names[once], once)
		}
	}
	refreshedOnce(t, spans)
	spansDocumented(t, names)
	if sent := r.metricNames(); !sent["pawl.calls"] || !sent["temporal_workflow_completed"] {
		t.Errorf("metrics sent: %v", sent)
	}
	sent := r.text()
	neverSent(t, w, auth, api, sent, body)
	for _, never := range []string{string(canary), e2etest.Ann, e2etest.Actor, "busy"} {
		if strings.Contains(sent, never) || strings.Contains(body, never) {
			t.Errorf("%q was sent", never)
		}
	}
	if strings.Contains(body, "acme") {
		t.Error("a label has a tenant")
	}
	if !strings.Contains(w.Log.String(), "traceId="+caller.TraceID().String()) {
		t.Error("the log does not name the trace")
	}
}

// belowCaller checks that every span has its parent in the trace, or is a child of the caller.
func belowCaller(t *testing.T, spans map[pcommon.SpanID]ptrace.Span, callerID pcommon.SpanID) {
	t.Helper()
	if len(spans) == 0 {
		t.Fatal("no span was sent")
	}
	for id, s := range spans {
		above, ok := spans[s.ParentSpanID()]
		switch {
		case s.ParentSpanID() == callerID:
		case !ok:
			t.Errorf("%s %s has the parent %q, which is not there", s.Name(), id, s.ParentSpanID())
		case strings.HasPrefix(s.Name(), "StartActivity:") && above.Name() != "RunWorkflow:InvokeTool",
			strings.HasPrefix(s.Name(), "RunActivity:") && above.Name() != "Start"+strings.TrimPrefix(s.Name(), "Run"),
			s.Name() == "broker.lease" && above.Name() != "RunActivity:execute",
			s.Name() == "broker.refresh" && above.Name() != "broker.lease",
			strings.HasPrefix(s.Name(), "sql ") && !strings.HasPrefix(above.Name(), "RunActivity:") && !strings.HasPrefix(above.Name(), "broker."):
			t.Errorf("%s is below %s", s.Name(), above.Name())
		}
		if s.Status().Message() != "" || s.Events().Len() > 0 {
			t.Errorf("%s has a text: %q, and %d events", s.Name(), s.Status().Message(), s.Events().Len())
		}
	}
}

// refreshedOnce checks that the spans have one refresh of the token below the first attempt, and below it the statement that stores the new token.
func refreshedOnce(t *testing.T, spans map[pcommon.SpanID]ptrace.Span) {
	t.Helper()
	above := func(s ptrace.Span) ptrace.Span { return spans[s.ParentSpanID()] }
	for _, s := range spans {
		switch s.Name() {
		case "broker.refresh":
			if n := attribute(above(above(s)), "pawl.attempt"); n != int64(1) {
				t.Errorf("the refresh is below the attempt %v", n)
			}
			if o := attribute(s, "pawl.outcome"); o != "stored" {
				t.Errorf("the outcome of the refresh is %v", o)
			}
		case "sql ReplaceSecret":
			if above(s).Name() != "broker.refresh" {
				t.Errorf("the token is stored below %s", above(s).Name())
			}
		}
	}
}

// neverSent checks that the texts and the log have no secret of the world and no secret that the authorization server has received or issued.
func neverSent(t *testing.T, w *e2etest.World, auth *oauthtest.Server, api *e2etest.API, texts ...string) {
	t.Helper()
	if n := len(auth.Requests()); n != 1 {
		t.Errorf("%d requests for a token", n)
	}
	api.Mu.Lock()
	w.Secrets.Never("the new access token", []byte(api.Seen[0]))
	api.Mu.Unlock()
	for i, token := range auth.RefreshTokens() {
		w.Secrets.Never(fmt.Sprint("refresh token ", i), []byte(token))
	}
	for _, text := range append(texts, w.Log.String()) {
		for _, m := range w.Secrets.FindString(text) {
			t.Errorf("%s (%s) was sent", m.Label, m.Form)
		}
	}
}

var (
	metricRow = regexp.MustCompile("(?m)^\\| `((?:pawl|gen_ai)\\.[a-z._]+)` \\| `((?:pawl|gen_ai)_[a-z_]+)` \\|")
	spanRow   = regexp.MustCompile("(?m)^\\| (`[^|]*`) \\|")
	spanName  = regexp.MustCompile("`((?:[A-Za-z]+:|sql |chat |generate_content |broker\\.)[^`]*)`")
	family    = regexp.MustCompile(`(?m)^# TYPE (\S+) `)
)

func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documented compares the metrics in docs/metrics.md with the metrics of the code and with the metrics that a worker serves.
func documented(t *testing.T, body string) {
	t.Helper()
	var names, served []string
	for _, row := range metricRow.FindAllStringSubmatch(page(t), -1) {
		names, served = append(names, row[1]), append(served, row[2])
	}
	made := measured.Names()
	slices.Sort(names)
	slices.Sort(made)
	if !slices.Equal(names, made) {
		t.Errorf("docs/metrics.md has %v, the code has %v", names, made)
	}
	for _, f := range family.FindAllStringSubmatch(body, -1) {
		switch name := f[1]; {
		case strings.HasPrefix(name, "pawl_"), strings.HasPrefix(name, "gen_ai_"):
			if !slices.Contains(served, name) {
				t.Errorf("docs/metrics.md does not have %s", name)
			}
		case !slices.ContainsFunc([]string{"temporal_", "go_", "process_", "target_info", "promhttp_"}, func(p string) bool { return strings.HasPrefix(name, p) }):
			t.Errorf("docs/metrics.md says nothing of %s", name)
		}
	}
}

// spansDocumented checks that docs/metrics.md has every span. In the page, NAME means any name.
func spansDocumented(t *testing.T, names map[string]int) {
	t.Helper()
	var spans []string
	for _, row := range spanRow.FindAllStringSubmatch(page(t), -1) {
		for _, name := range spanName.FindAllStringSubmatch(row[1], -1) {
			spans = append(spans, name[1])
		}
	}
	for name := range names {
		if !slices.ContainsFunc(spans, func(span string) bool {
			prefix, any := strings.CutSuffix(span, "NAME")
			return any && strings.HasPrefix(name, prefix) || name == span
		}) {
			t.Errorf("docs/metrics.md does not have the span %q", name)
		}
	}
}
