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

// TestLongTextOnce: the final text of a run is printed once, also if the result of the run has only the beginning of this text. Another text that is cut
// is printed as far as it goes.
func TestLongTextOnce(t *testing.T) {
	t.Parallel()
	var text, lines strings.Builder
	p := printer{text: &text, lines: &lines}
	whole := strings.Repeat("a long answer ", agent.MaxText/10)
	p.event(toolspec.RunEvent{Kind: toolspec.RunTextDelta, Text: whole})
	p.end(agent.Result{Outcome: agent.Completed, Text: whole[:agent.MaxText], Truncated: true})
	if got := text.String(); got != whole+"\n" || strings.Contains(lines.String(), "longer") {
		t.Errorf("it prints %d bytes of a text of %d, and %q", len(got), len(whole), lines.String())
	}
	text.Reset()
	p.end(agent.Result{Outcome: agent.Completed, Text: "Another text", Truncated: true})
	if text.String() != "Another text\n" || !strings.Contains(lines.String(), "(the text is longer)\n") {
		t.Errorf("a text that was not printed: %q, %q", text.String(), lines.String())
	}
}
