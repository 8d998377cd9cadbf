package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func started(tb testing.TB) *Telemetry {
	tb.Helper()
	tel, err := Start(tb.Context(), Options{Scraped: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tel.Close(context.WithoutCancel(tb.Context())) })
	return tel
}

func scrape(tb testing.TB, tel *Telemetry) string {
	tb.Helper()
	answer := httptest.NewRecorder()
	tel.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		tb.Fatalf("/metrics: %d %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// begin is a run of an activity that is answered.
func (t *Telemetry) ran(ctx context.Context, name string, in, out any, err error) {
	registry, _ := t.Observe(nil).(contract.Observer)
	_, done := registry.Begin(ctx, name, in)
	done(out, err)
}

func settle(tool string, r toolspec.Result, stages ...contract.StageEvent) contract.SettleIn {
	return contract.SettleIn{ToolID: tool, Effect: toolspec.ReadOnly, Result: r, Stages: stages}
}

// TestToolLabels: the label tool has the tools that the worker has, up to a bound, and nothing that a caller has made up.
func TestToolLabels(t *testing.T) {
	l := newToolLabels(2)
	if got := l.label("core__ls"); got != other {
		t.Errorf("before the tools are known: %q", got)
	}
	l.know(func(id string) bool { return strings.HasPrefix(id, "core__") })
	for _, tc := range [][2]string{
		{"made__up", other}, {"core__ls", "core__ls"}, {"core__echo", "core__echo"}, {"core__third", other}, {"core__ls", "core__ls"},
		{"tenant-acme_x__y", tenantTool}, {"mcp__tenant-acme_x__y", tenantTool}, {"", other},
	} {
		if got := l.label(tc[0]); got != tc[1] {
			t.Errorf("%q is %q, want %q", tc[0], got, tc[1])
		}
	}
}

// TestCounts: what activities answer is what the metrics say.
func TestCounts(t *testing.T) {
	tel := started(t)
	tel.KnowTools(func(string) bool { return true })
	done := contract.SettleOut{Outcome: contract.Done}
	tel.ran(t.Context(), "settle", settle("core__ls", toolspec.Result{OK: true, StartedAtMs: 1000, EndedAtMs: 5000},
		contract.StageEvent{Stage: "requestApproval", Outcome: "ok", AtMs: 1000}, contract.StageEvent{Stage: "reviewDecision", Outcome: "open", AtMs: 1500},
		contract.StageEvent{Stage: "reviewDecision", Outcome: "approved", AtMs: 41_000},
		contract.StageEvent{Stage: "willAcquire", Outcome: "wait", AtMs: 42_000}, contract.StageEvent{Stage: "willAcquire", Outcome: "wait", AtMs: 43_000},
		contract.StageEvent{Stage: "willAcquire", Outcome: "ok", AtMs: 45_000}), done, nil)
	tel.ran(t.Context(), "settle", settle("core__ls", toolspec.Result{OK: true}), contract.SettleOut{Outcome: contract.Superseded}, nil)
	tel.ran(t.Context(), "admit", contract.AdmitIn{}, contract.AdmitOut{Outcome: contract.Done, Epoch: 2}, nil)
	tel.ran(t.Context(), "admit", contract.AdmitIn{}, contract.AdmitOut{Outcome: contract.Done, Epoch: 1}, nil)
	tel.ran(t.Context(), "checkAttempt", contract.CheckIn{}, contract.CheckOut{Outcome: contract.Lost}, nil)
	tel.ran(t.Context(), "willAcquire", hook.StageInput{}, hook.Verdict{Outcome: hook.Waited}, nil)
	tel.ran(t.Context(), "execute", contract.ExecuteIn{}, contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{}}, nil)
	tel.ran(t.Context(), "execute", contract.ExecuteIn{}, contract.ExecuteOut{}, errors.New("canary-4711"))
	tel.ran(t.Context(), "agentAsk", contract.AgentAskIn{}, contract.AgentAskOut{Fault: &contract.AgentFault{OverBudget: true}}, nil)
	tel.ran(t.Context(), "agentAsk", contract.AgentAskIn{}, contract.AgentAskOut{Fault: &contract.AgentFault{}}, nil)
	tel.ran(t.Context(), "sweepCalls", contract.SweepCallsIn{}, contract.SweepCallsOut{Cancelled: 3}, nil)
	body := scrape(t, tel)
	for _, want := range []string{
		`pawl_calls_total{code="ok",effect="read_only",tool="core__ls"} 1`, `pawl_call_duration_seconds_sum{effect="read_only"} 4`,
		`pawl_approval_decision_duration_seconds_sum{state="approved"} 40`, `pawl_capacity_wait_duration_seconds_sum{step="willAcquire"} 3`,
		`pawl_takeovers_total 1`, `pawl_claims_lost_total 1`, `pawl_capacity_waits_total{step="willAcquire"} 1`, `pawl_attempts_total{outcome="refused",tool="other"} 1`, `pawl_agent_rounds_total{outcome="fault"} 1`,
		`pawl_step_failures_total{step="execute"} 1`, `pawl_sweeps_total 1`, `pawl_swept_total{code="cancelled"} 3`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if t.Failed() {
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "pawl_") && !strings.Contains(line, "bucket") {
				t.Log(line)
			}
		}
	}
	if strings.Contains(body, "canary") {
		t.Error("it has the text of an error")
	}
}

// TestRefreshHasNothingOfItsCaller: a tool can put a hook of httptrace into the context of its request. The request for a token must not meet
// that hook, and goes on when the tool has ended.
func TestRefreshHasNothingOfItsCaller(t *testing.T) {
	tel := &Telemetry{tracer: sdktrace.NewTracerProvider().Tracer(scope)}
	for name, caller := range map[string]trace.TraceFlags{"sampled": trace.FlagsSampled, "not sampled": 0} {
		ctx, cancel := context.WithCancel(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{}))
		above := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: caller})
		refresh, end := tel.Refresh(trace.ContextWithSpanContext(ctx, above))
		cancel()
		if httptrace.ContextClientTrace(refresh) != nil || refresh.Err() != nil {
			t.Errorf("%s: the refresh has the hook or the end of its caller", name)
		}
		if got := trace.SpanContextFromContext(refresh); above.IsSampled() != (got.TraceID() == above.TraceID()) {
			t.Errorf("%s: the trace of the refresh is %s", name, got.TraceID())
		}
		end(nil)
	}
}

type rows struct {
	asked atomic.Int64
	err   error
}

func (r *rows) Backlogs(ctx context.Context, _ string, _ int) (reads.Backlogs, error) {
	r.asked.Add(1)
	if _, bounded := ctx.Deadline(); !bounded {
		return reads.Backlogs{}, errors.New("no deadline")
	}
	now := time.Now()
	since := now.Add(-time.Minute)
	return reads.Backlogs{Approvals: 2, ApprovalsSince: &since, Endings: 1, Quota: 4, Places: 5, Shared: 6, Now: now}, r.err
}

func (*rows) Stat() db.Stat { return db.Stat{Max: 7, InUse: 2, Idle: 3} }

// TestGauges: what waits is counted once for many scrapes, and no more after the stop. A database that is away costs its metrics only.
func TestGauges(t *testing.T) {
	tel, store := started(t), &rows{}
	tel.Policy("d1")
	stop, err := tel.Watch(store, "default", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	scrape(t, tel)
	body := scrape(t, tel)
	for _, want := range []string{
		`pawl_waiting{kind="approval"} 2`, `pawl_waiting_age_seconds{kind="approval"} 60`, `pawl_waiting{kind="outbox"} 0`, `pawl_waiting{kind="ending"} 1`,
		`pawl_waiting{kind="quota"} 4`, `pawl_waiting{kind="place"} 5`, `pawl_waiting{kind="shared_read"} 6`,
		`pawl_db_pool_connections{state="used"} 2`, `pawl_db_pool_max 7`, `pawl_policy_active{digest="d1"} 1`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("there is no %s in %s", want, body)
		}
	}
	if n := store.asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	stop()
	scrape(t, tel)
	away := started(t)
	if _, err := away.Watch(&rows{err: errors.New("away")}, "default", slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if body := scrape(t, away); strings.Contains(body, "pawl_waiting{") || !strings.Contains(body, "pawl_db_pool_max 7") {
		t.Errorf("while the database is away: %s", body)
	}
}

// TestLogs: a line has the ids of the call and of the trace, each once.
func TestLogs(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(Logs(slog.NewJSONHandler(&out, nil)))
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	tel := started(t)
	registry, _ := tel.Observe(nil).(contract.Observer)
	ctx, _ = registry.Begin(ctx, "willAuthorize", hook.StageInput{Facts: hook.Facts{InvocationID: "inv", ToolCallID: "call_1", Context: toolspec.Context{RunID: "run_1"}}})
	log.With("runId", "temporal's").WarnContext(ctx, "a", "invocationId", "own")
	var line map[string]string
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["toolCallId"] != "call_1" || line["traceId"] != "01000000000000000000000000000000" || line["runId"] != "temporal's" || line["invocationId"] != "own" ||
		strings.Count(out.String(), "runId") != 1 {
		t.Errorf("the line is %s", out.String())
	}
	out.Reset()
	log.WarnContext(t.Context(), "b")
	if strings.Contains(out.String(), "Id") {
		t.Errorf("the line is %s", out.String())
	}
}

// TestConfigured: the variables of OpenTelemetry say what is sent.
func TestConfigured(t *testing.T) {
	for _, tc := range []struct {
		env             []string
		metrics, traces bool
		fault           bool
	}{
		{env: nil},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"}, metrics: true, traces: true},
		{env: []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://x"}, traces: true},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_TRACES_EXPORTER", "none"}, metrics: true},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_SDK_DISABLED", "true"}},
		{env: []string{"OTEL_METRICS_EXPORTER", "console"}, fault: true},
		{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"}, fault: true},
	} {
		t.Run(strings.Join(tc.env, " "), func(t *testing.T) {
			metrics, traces, err := Configured(func(name string) string {
				if i := slices.Index(tc.env, name); i >= 0 {
					return tc.env[i+1]
				}
				return ""
			})
			if (err != nil) != tc.fault || !tc.fault && (metrics != tc.metrics || traces != tc.traces) {
				t.Errorf("got %t, %t, %v", metrics, traces, err)
			}
		})
	}
}

// TestTypesOfStrangers: a workflow of a type that the worker does not have makes no series of its own.
func TestTypesOfStrangers(t *testing.T) {
	t.Parallel()
	tel, err := Start(t.Context(), Options{Scraped: true, Types: []string{"InvokeTool"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tel.Close(context.WithoutCancel(t.Context())) })
	o, err := tel.Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"InvokeTool", "ann@example.com", "none"} {
		o.MetricsHandler.WithTags(map[string]string{"workflow_type": name}).WithTags(map[string]string{"x": "y"}).Counter("temporal_starts").Inc(1)
	}
	page := scrape(t, tel)
	for _, want := range []string{`workflow_type="InvokeTool"`, `workflow_type="other"`, `workflow_type="none"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	if strings.Contains(page, "ann@") {
		t.Error("the type of a stranger is a label")
	}
}
