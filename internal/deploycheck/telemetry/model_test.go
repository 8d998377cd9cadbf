package telemetry

import (
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/worker"
)

// TestModel: each request of a run to its model is a span below the step that asks, with the attributes of the semantic conventions. The
// request that the provider refuses has the status. Nothing that the person, the model or the tool has said is sent.
func TestModel(t *testing.T) {
	r := receive(t, "http/protobuf")
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	canary := string(e2etest.NewCanary())
	model := modelserver.Serve(t, "anthropic", modelserver.Script(
		modelserver.Reply{
			Before: []modelserver.Reply{{Status: 529, Text: "overloaded " + canary}},
			Calls:  []modelserver.Call{{Name: "test__echo", Args: `{"text":"args-` + canary + `"}`}}, Usage: wire.Usage{Input: 40, CacheRead: 60, Output: 9},
		},
		modelserver.Reply{Text: "text-" + canary},
	))
	config := w.Config()
	config.OTLP, config.HealthListen, config.ModelURLs = worker.OTLP{Metrics: true, Traces: true}, "127.0.0.1:0", []string{model.URL.String()}
	stop := w.WorkWith(config, worker.Tools(e2etest.Tool("test__echo", e2etest.Echo)))
	document := agent.Document{
		Name: "helper", Version: "1", Instructions: "Say nothing of " + canary, Tools: []string{"test__echo"},
		Model:  agent.Model{Format: "anthropic", Name: "claude-x", URL: model.URL.String(), MaxTokens: 1000},
		Limits: agent.Limits{Rounds: 20, Calls: 50, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1},
	}
	if _, err := w.Store.ApplyAgent(t.Context(), document, "e2etest"); err != nil {
		t.Fatal(err)
	}
	run := w.StartRun(agent.Input{
		Agent: "helper", Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: e2etest.Actor},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "said-" + canary}}}},
	})
	if result := w.RunResult(run); result.Outcome != agent.Completed || result.Rounds != 2 {
		t.Fatalf("the run ended %+v", result)
	}
	var body string
	w.Until(func() bool { // the answer of the run comes before the worker has counted it
		body = scraped(t, w)
		return strings.Contains(body, `pawl_agent_runs_total{outcome="completed"} 1`)
	}, "the run is counted")
	const of = `gen_ai_operation_name="chat",gen_ai_provider_name="anthropic",gen_ai_request_model="claude-x"`
	for _, want := range []string{
		`gen_ai_client_operation_duration_seconds_count{` + of + `} 2`, `gen_ai_client_operation_duration_seconds_count{error_type="529",` + of + `} 1`,
		`gen_ai_client_token_usage_sum{` + of + `,gen_ai_token_type="input"} 110`, `gen_ai_client_token_usage_sum{` + of + `,gen_ai_token_type="output"} 14`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	documented(t, body)
	stop()

	spans, names := r.spans(), map[string]int{}
	for _, s := range spans {
		names[s.Name()]++
	}
	spansDocumented(t, names)
	answered, refused, ran := 0, 0, 0
	for _, s := range spans {
		switch {
		case s.Name() == "RunActivity:execute":
			ran++
			if attribute(s, "gen_ai.operation.name") != "execute_tool" || attribute(s, "gen_ai.tool.name") != "test__echo" || attribute(s, "gen_ai.tool.call.id") == nil {
				t.Errorf("the attempt has the attributes %v", s.Attributes().AsRaw())
			}
		case s.Name() != "chat claude-x":
		default:
			if above := spans[s.ParentSpanID()]; above.Name() != "RunActivity:agentAsk" || s.Kind() != ptrace.SpanKindClient {
				t.Errorf("a request is a span of kind %s below %q", s.Kind(), above.Name())
			}
			if attribute(s, "gen_ai.provider.name") != "anthropic" || attribute(s, "gen_ai.request.model") != "claude-x" {
				t.Errorf("a request has the attributes %v", s.Attributes().AsRaw())
			}
			switch {
			case attribute(s, "error.type") == "529":
				refused++
			case attribute(s, "gen_ai.response.model") == "claude-x" && attribute(s, "gen_ai.usage.output_tokens") != nil:
				answered++
			default:
				t.Errorf("a request has the attributes %v", s.Attributes().AsRaw())
			}
		}
	}
	if answered != 2 || refused != 1 || ran != 1 {
		t.Errorf("%d requests are answered, %d refused, %d attempts: %v", answered, refused, ran, names)
	}
	for _, never := range []string{canary, e2etest.Actor} {
		if strings.Contains(r.text(), never) || strings.Contains(body, never) {
			t.Errorf("%q was sent", never)
		}
	}
}
