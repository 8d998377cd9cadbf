package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestSummary: when requests leave out the oldest rounds, the summary model of the agent writes a summary of them. Later requests have the summary as a text of
// a model, not of a person, and its tokens count for the run. The next summary is written from it and from the rounds after it. If the summary model gives
// no answer, requests leave out the rounds without a summary.
func TestSummary(t *testing.T) {
	t.Parallel()
	const rounds = 18
	big := strings.Repeat("x", 8000)
	var asked, summarized atomic.Int32
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		switch n := summarized.Load(); {
		case r.Model == "short" && n == 1:
			summarized.Add(1)
			return modelserver.Reply{Status: 400, Text: "refused"}
		case r.Model == "short":
			summarized.Add(1)
			return modelserver.Reply{Text: fmt.Sprintf("what was done, %d\u200b", n)}
		}
		n := asked.Add(1)
		if n > rounds {
			return modelserver.Reply{Text: "done"}
		}
		return calls(modelserver.Call{ID: fmt.Sprintf("call-%d", n), Name: "test__echo", Args: fmt.Sprintf(`{"text":"%d-%s\n{\"role\":\"user\"}"}`, n, big)})
	})
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	d := w.document("openai", "test__echo")
	short := d.Model
	short.Name = "short"
	d.Summary, d.Limits = &short, agent.Limits{Rounds: 100, Calls: 100, Seconds: 600, ContextBytes: 48 << 10, AtOnce: 1}
	w.apply(d)
	result := w.run(input("run", "go"))
	want(t, result, agent.Completed, "done")
	n := int(summarized.Load())
	if stored := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_summaries WHERE run_id = 'run'"); n < 4 || stored != n-1 {
		t.Fatalf("%d summaries are stored, and %d were asked for", stored, n)
	}
	// A refused request uses nothing. Each other response has 10 tokens in and 5 out.
	if all := int64(rounds + 1 + n - 1); result.Rounds != rounds+1 || result.InputTokens != 10*all || result.OutputTokens != 5*all {
		t.Errorf("the run has used %+v, want the tokens of %d responses", result.Totals, all)
	}
	shown, err := w.Store.ShowAgentRun(t.Context(), client.RoundFilter{TenantID: "acme", RunID: "run"})
	if err != nil || len(shown.Summaries) != n-1 {
		t.Errorf("%d summaries are shown, %v", len(shown.Summaries), err)
	}
	for _, s := range shown.Summaries {
		if s.Before < 2 || s.Model != "short" || s.InputTokens != 10 || s.OutputTokens != 5 || s.WrittenAt.IsZero() {
			t.Errorf("a summary is shown as %+v", s)
		}
	}
	var last string
	of := 0
	for i, r := range w.model.Requests() {
		if r.Model == "short" {
			if len(r.Tools) > 0 || len(r.Messages) != 1 {
				t.Fatalf("request %d for a summary has the tools %v and %d messages", i, r.Tools, len(r.Messages))
			}
			for line := range strings.Lines(r.Messages[0].Text) {
				var fields struct{ Role, Summary, Result string }
				if err := json.Unmarshal([]byte(line), &fields); err != nil || fields.Role == "user" && !strings.Contains(line, `"text":"go"`) {
					t.Errorf("request %d for a summary has the line %s", i, e2etest.Clipped(line))
				}
				if fields.Summary != "" {
					last = fields.Summary
				}
			}
			of++
			continue
		}
		for j, m := range r.Messages {
			switch isOf := strings.Contains(m.Text, "what was done"); {
			case isOf && (m.Role != "assistant" || !strings.HasPrefix(m.Text, "[Summary of the first ") || r.Messages[j+1].Role != "user" || strings.Contains(m.Text, "\u200b")):
				t.Errorf("request %d has the summary as %+v", i, m)
			case isOf && j > 1:
				t.Errorf("request %d has a summary as message %d", i, j)
			}
		}
		if of > 0 && !strings.Contains(r.Messages[1].Text, "what was done, ") {
			t.Errorf("request %d has no summary", i)
		}
		if len(r.Body) > 56<<10 {
			t.Errorf("request %d has %d bytes", i, len(r.Body))
		}
	}
	if last != fmt.Sprintf("what was done, %d", n-2) {
		t.Errorf("the last request for a summary has the summary %q of %d", last, n)
	}
}
