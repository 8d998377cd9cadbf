package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestTrimKept: a trimmed output of a round that a fork has copied has no reference, because the fork cannot
// read this output. A trimmed output of a later round has a reference.
func TestTrimKept(t *testing.T) {
	t.Parallel()
	w := &writer{of: contract.AgentRun{TenantID: "acme", RunID: "fork"}, copied: 1}
	for n := 1; n <= 2; n++ {
		round := Round{Round: n, Plan: Plan{Calls: []PlannedCall{{Call: contract.AgentCall{ToolID: "test__echo", ToolCallID: "call"}}}}}
		round.Answers = []wire.Answer{{Content: json.RawMessage(`"` + strings.Repeat("x", 2000) + `"`)}}
		got := w.trimmed(round)[0]
		if hasRef := got.OutputRef != ""; hasRef != (n == 2) || strings.Contains(string(got.Content), "cannot read") != (n == 1) || len(got.Content) > 1000 {
			t.Errorf("round %d: the reference is %q, and the text %.300s", n, got.OutputRef, got.Content)
		}
	}
}

// moved is a store that moves the context of a run.
type moved struct {
	Store
	to Context
}

func (m *moved) MoveContext(_ context.Context, _ contract.AgentRun, to Context) error {
	m.to = to
	return nil
}

// TestTrimKeptOfSubject: a fork with a subject reads the copied rounds again after it has trimmed them, because
// only the record has the references. Other forks, and a fork that trims only its own rounds, write the request
// at once.
func TestTrimKeptOfSubject(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		subject string
		kept    int
		moves   bool
	}{{"user:sue", 2, true}, {"user:sue", 1, false}, {"", 2, false}} {
		store := &moved{}
		a := &Agents{Store: store}
		run := Run{Context: Context{TrimmedTo: 2, From: 1}}
		run.Input.Context.SubjectID, run.Input.Fork = tc.subject, &pawlagent.Fork{RunID: "source", Rounds: tc.kept}
		run.Input.Messages = []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go"}}}}
		run.Document.Limits.ContextBytes = 10_000
		var c Conversation
		for n := 1; n <= 4; n++ {
			c.Rounds = append(c.Rounds, Round{
				Round: n, Format: "openai", Answers: []wire.Answer{{CallID: "c", Content: json.RawMessage(`"` + strings.Repeat("x", 4000) + `"`)}},
				Plan: Plan{
					Message: json.RawMessage(`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"test__echo","arguments":"{}"}}]}`),
					Calls:   []PlannedCall{{ID: "c", Name: "test__echo", Call: contract.AgentCall{ToolID: "test__echo", ToolCallID: "call"}}},
				},
			})
		}
		_, _, err := a.request(t.Context(), contract.AgentRun{TenantID: "acme", RunID: "fork"}, run, c, codecs["openai"])
		if errors.Is(err, errMoved) != tc.moves || !tc.moves && err != nil || store.to.TrimmedTo < 3 {
			t.Errorf("%+v: the request ended with %v, and the context is %+v", tc, err, store.to)
		}
	}
}
