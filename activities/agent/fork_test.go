package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestTrimKept: an output of a round that a fork has kept is trimmed without a reference, because the fork cannot read it. One of its own has one.
func TestTrimKept(t *testing.T) {
	t.Parallel()
	w := &writer{of: contract.AgentRun{TenantID: "acme", RunID: "fork"}, kept: 1}
	for n := 1; n <= 2; n++ {
		round := Round{Round: n, Plan: Plan{Calls: []PlannedCall{{Call: contract.AgentCall{ToolID: "test__echo", ToolCallID: "call"}}}}}
		round.Answers = []wire.Answer{{Content: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}}
		got := w.trimmed(round)[0]
		if hasRef := got.OutputRef != ""; hasRef != (n == 2) || strings.Contains(string(got.Content), "cannot read") != (n == 1) || len(got.Content) > 1000 {
			t.Errorf("round %d: the reference is %q, and the text %.300s", n, got.OutputRef, got.Content)
		}
	}
}
