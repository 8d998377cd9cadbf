package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// TestEarlierConversation: a run can begin with a conversation that already has calls and results. The model reads them in their order and under ids that
// match, and their tools do not run again (TS-08).
func TestEarlierConversation(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"openai", "responses", "anthropic", "gemini", "ollama"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, format, func(r modelserver.Request) modelserver.Reply {
				if r.Answers == 1 {
					return calls(call("test__echo", "new"))
				}
				return modelserver.Reply{Text: "done"}
			})
			var runs e2etest.Ledger
			w.work(e2etest.Tool("test__echo", runs.Counted(e2etest.Echo)))
			w.apply(w.document(format, "test__echo"))
			in := input("run", "earlier")
			part := func(kind conversation.PartType, id string) conversation.Part {
				p := conversation.Part{Type: kind, ToolCallID: id}
				if kind == conversation.ToolCall {
					p.ToolName, p.Args = "test__echo", json.RawMessage(`{"text":"`+id+`"}`)
				} else {
					p.Result = json.RawMessage(`{"text":"old ` + id + `"}`)
				}
				return p
			}
			in.Messages = append(in.Messages,
				conversation.Message{Role: conversation.Assistant, Content: []conversation.Part{part(conversation.ToolCall, "c1"), part(conversation.ToolCall, "c2")}},
				conversation.Message{Role: conversation.Tool, Content: []conversation.Part{part(conversation.ToolResult, "c1")}},
				conversation.Message{Role: conversation.Tool, Content: []conversation.Part{part(conversation.ToolResult, "c2")}},
				conversation.Message{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go on"}}},
			)
			want(t, w.run(in), agent.Completed, "done")
			if len(runs.Counts) != 1 || runs.Of("r1-0") != 1 || w.codes("run") != "ok" {
				t.Errorf("the runs of tools are %v, and the calls %s", runs.Counts, w.codes("run"))
			}
			messages := w.asks("earlier")[1].Messages
			if len(messages) != 6 {
				t.Fatalf("the model read %+v", messages)
			}
			old, results := messages[1].Calls, messages[2].Results
			if len(old) != 2 || len(results) != 2 || old[0].ID != results[0].CallID || old[1].ID != results[1].CallID ||
				!strings.Contains(results[0].Text, "old c1") || !strings.Contains(results[1].Text, "old c2") || messages[3].Text != "go on" ||
				!strings.Contains(messages[5].Results[0].Text, "new") {
				t.Errorf("the model read %+v", messages)
			}
		})
	}
}

// TestContext: when the messages exceed their limit, the oldest outputs become references with which the model can read them again, and the newest outputs
// stay whole. If that is not enough, the oldest rounds are left out. The first messages of the run stay (OC-01).
func TestContext(t *testing.T) {
	t.Parallel()
	const rounds = 60
	big := strings.Repeat("x", 3000)
	w := newWorld(t, "openai", func() func(modelserver.Request) modelserver.Reply {
		n := 0
		return func(modelserver.Request) modelserver.Reply {
			if n++; n > rounds {
				return modelserver.Reply{Text: "done"}
			}
			return calls(modelserver.Call{ID: fmt.Sprintf("call-%d", n), Name: "test__echo", Args: fmt.Sprintf(`{"text":"%d-%s"}`, n, big[:100+2900*(n%2)])})
		}
	}())
	w.work(e2etest.Tool("test__echo", e2etest.Echo))
	d := w.document("openai", "test__echo")
	d.Limits = agent.Limits{Rounds: 100, Calls: 100, Seconds: 600, ContextBytes: 64 << 10, AtOnce: 1}
	w.apply(d)
	want(t, w.run(input("run", "go")), agent.Completed, "done")
	asks := w.asks("go")
	if len(asks) != rounds+1 {
		t.Fatalf("the model was asked %d times", len(asks))
	}
	trimmed, left := 0, 0
	for i, r := range asks {
		last := r.Messages[len(r.Messages)-1]
		if i > 0 && !strings.Contains(last.Results[0].Text, fmt.Sprintf(`"%d-`, i)) {
			t.Errorf("request %d: the newest output is %s", i, e2etest.Clipped(last.Results[0].Text))
		}
		// The limit is for the messages alone, so a whole request is a little larger.
		if most := 68 << 10; len(r.Body) > most {
			t.Errorf("request %d has %d bytes, more than %d", i, len(r.Body), most)
		}
		whole := false
		for _, m := range r.Messages {
			if m.Role == "user" && strings.Contains(m.Text, "left out") {
				left++
			}
			for _, result := range m.Results {
				switch isTrimmed := strings.Contains(result.Text, `"truncated":true`); {
				case isTrimmed && whole:
					t.Errorf("request %d: an output is trimmed behind one that is whole", i)
				case isTrimmed:
					if trimmed++; !strings.Contains(result.Text, "output_ref") {
						t.Errorf("request %d: an output is replaced by %s", i, result.Text)
					}
				case len(result.Text) > 1000:
					whole = true
				}
			}
		}
	}
	if trimmed == 0 || left == 0 {
		t.Errorf("%d outputs are trimmed, and %d requests leave rounds out", trimmed, left)
	}
	// The cache of the provider is of use only while the beginning of the requests stays the same.
	changed := 0
	for i := 1; i < len(asks); i++ {
		before, now := asks[i-1].Messages, asks[i].Messages
		for j := range before {
			if j >= len(now) || e2etest.AsJSON(before[j]) != e2etest.AsJSON(now[j]) {
				changed++
				break
			}
		}
	}
	if changed > rounds/3 {
		t.Errorf("the beginning changed in %d of %d requests", changed, rounds)
	}
}
