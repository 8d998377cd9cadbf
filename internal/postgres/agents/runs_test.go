package agents

import (
	"encoding/json"
	"testing"

	activity "github.com/pawl-run/pawl/activities/agent"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestCharacterNUL: what a model says with the character NUL, which no text of Postgres can have, is stored without it, and its texts can be read by a
// statement. A backslash before the same letters stays.
func TestCharacterNUL(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	of := opened(t, s, "run")
	said := "a\x00b \\u0000 \\\\u0000 \"c\""
	round := activity.Round{Round: 1, Format: "openai", Model: "m", Plan: activity.Plan{Text: said, Finish: wire.FinishStop, Value: json.RawMessage(`"\u0000"`)}}
	if err := s.RecordRound(t.Context(), of, round, "", 0); err != nil {
		t.Fatal(err)
	}
	var text, value string
	if err := conn.QueryRow(t.Context(), `SELECT plan ->> 'text', plan ->> 'value' FROM agent_rounds`).Scan(&text, &value); err != nil {
		t.Fatal(err)
	}
	if want := "ab \\u0000 \\\\u0000 \"c\""; text != want || value != "" {
		t.Errorf("got %q and %q, want %q", text, value, want)
	}
}
