package agentruns

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
)

// TestTextOnce: the last text of a run is printed once, also if a call came after it.
func TestTextOnce(t *testing.T) {
	t.Parallel()
	for _, call := range []bool{false, true} {
		var text, lines strings.Builder
		p := printer{text: &text, lines: &lines}
		p.event(toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: "An earlier text."})
		p.event(toolspec.RunEvent{Kind: toolspec.RunCallStart, ToolID: "core__ls"})
		p.event(toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: "I shall write "})
		p.event(toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: "it."})
		if call {
			p.event(toolspec.RunEvent{Kind: toolspec.RunCallStart, ToolID: "core__write_file"})
		}
		p.end(agent.Result{Outcome: agent.Cancelled, Text: "I shall write it."})
		if got := text.String(); got != "An earlier text.\nI shall write it.\n" {
			t.Errorf("with a call after it (%t): %q", call, got)
		}
		text.Reset()
		p.end(agent.Result{Outcome: agent.Completed, Text: "Another text."})
		if text.String() != "Another text.\n" {
			t.Errorf("a text that was not printed: %q", text.String())
		}
	}
}
