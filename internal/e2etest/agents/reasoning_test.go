package agents

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
)

// TestReasoningIsKept: a model reads in a later round what it thought in the earlier ones, in their order. What has the shape of a credential
// is not kept, and neither is the reasoning of an agent without the tool (BT-15).
func TestReasoningIsKept(t *testing.T) {
	for _, format := range []string{"anthropic", "ollama"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			thoughts := []string{"first the fox", "then my key ghp_0123456789abcdefghijklmnopqrstuvwxyz", "last the hen", ""}
			w := newWorld(t, format, func(r modelserver.Request) modelserver.Reply {
				if r.Answers == len(thoughts) {
					return modelserver.Reply{Text: "done", Reasoning: "after the calls"}
				}
				reply := calls(modelserver.Call{Name: "test__echo", Args: `{"text":"a"}`})
				if len(r.Tools) > 1 {
					reply = calls(modelserver.Call{Name: "core__read_reasoning", Args: `{}`})
				}
				reply.Reasoning = thoughts[r.Answers]
				return reply
			})
			w.work(e2etest.Tool("test__echo", e2etest.Echo))
			w.apply(w.document(format, "core__read_reasoning", "test__echo"))
			want(t, w.run(input("with", "go")), agent.Completed, "done")
			last := strings.Join(answersIn(t, w.asks("go")), " ")
			if first, third := strings.Index(last, "first the fox"), strings.Index(last, "last the hen"); first < 0 || third < first || strings.Contains(last, "ghp_") || strings.Contains(last, "after the calls") {
				t.Errorf("the model reads %s", last)
			}
			without := w.document(format, "test__echo")
			without.Version = "2"
			w.apply(without)
			want(t, w.run(input("without", "go")), agent.Completed, "done")
			if kept := e2etest.Query[string](w.World, "SELECT run_id || ': ' || content FROM memories WHERE kind = 'reasoning' ORDER BY number"); strings.Join(kept, ", ") != "with: first the fox, with: last the hen" {
				t.Errorf("kept is %q", kept)
			}
		})
	}
}
