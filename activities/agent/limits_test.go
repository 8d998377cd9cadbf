package agent

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
)

// TestEstimateInput: four bytes are a token, and the content of a file is 1500 tokens, unless it has fewer bytes. A text that looks like a file counts in full.
func TestEstimateInput(t *testing.T) {
	text := json.RawMessage(`{"text":"` + strings.Repeat("a word ", 1000) + `"}`)
	image := json.RawMessage(`{"data":"` + strings.Repeat("iVBORw0K+/", 100_000) + `=="}`)
	escaped := json.RawMessage(`{"text":"{\"data\":\"` + strings.Repeat("iVBORw0K+/", 100_000) + `==\"}"}`)
	small := json.RawMessage(`{"data":"` + strings.Repeat("iVBORw0K+/", 200) + `=="}`)
	for _, tc := range []struct {
		messages []json.RawMessage
		want     int64
	}{
		{[]json.RawMessage{escaped}, 50 + 250_007}, {nil, 50}, {[]json.RawMessage{text}, 50 + 1752}, {[]json.RawMessage{image}, 50 + 1500}, {[]json.RawMessage{small}, 50 + 503}, {[]json.RawMessage{image, text, image}, 50 + 2*1500 + 1752},
	} {
		r := provider.Request{System: json.RawMessage(strings.Repeat("s", 100)), Tools: json.RawMessage(strings.Repeat("t", 100)), Messages: tc.messages}
		if got := estimateInput(r); got < tc.want-2 || got > tc.want+2 {
			t.Errorf("%d messages: %d tokens, want %d", len(tc.messages), got, tc.want)
		}
	}
}

// TestThinkingLeft: a response may not be bounded below the budget of its thinking, which Anthropic would refuse.
func TestThinkingLeft(t *testing.T) {
	model := pawlagent.Model{Members: map[string]json.RawMessage{"thinking": json.RawMessage(`{"type":"enabled","budget_tokens":2000}`)}}
	for limit, want := range map[int]int{2000: 0, 2001: 2001, 5000: 5000, 9000: 8192} {
		r, run := provider.Request{MaxTokens: 8192}, Run{}
		run.Document.Limits.Tokens = limit
		limited, err := (&Agents{}).bound(&r, run, model, false)
		var unusable *unusableError
		switch {
		case want == 0:
			if !errors.As(err, &unusable) || !unusable.overBudget {
				t.Errorf("%d: %v", limit, err)
			}
		case err != nil || r.MaxTokens != want || (limited != "") != (want < 8192):
			t.Errorf("%d: bound %d by %q, %v", limit, r.MaxTokens, limited, err)
		}
	}
}

// TestCallBytes: the bound of the arguments of a response counts the bytes of the inputs of its workflows, in which < has six bytes.
func TestCallBytes(t *testing.T) {
	t.Parallel()
	planned := turn.Plan{Calls: make([]turn.PlannedCall, 8)}
	for i := range planned.Calls {
		args := json.RawMessage(`{"text":"` + strings.Repeat("<", 40_000) + `"}`)
		planned.Calls[i] = turn.PlannedCall{Same: -1, Invocation: toolspec.Invocation{ToolID: "test__echo", Args: args}}
	}
	p := (&Agents{}).plan(Run{Document: pawlagent.Document{Tools: []string{"test__echo"}}}, planned)
	for i, c := range p.Calls {
		if isLarge := (i+1)*6*40_000 > maxCallBytes; (c.Refused != nil) != isLarge {
			t.Errorf("call %d is refused: %+v", i, c.Refused)
		}
	}
}
