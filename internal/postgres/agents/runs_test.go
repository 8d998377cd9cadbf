package agents

import (
	"encoding/json"
	"strings"
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

// TestTrimmedAnswers: a request of a long run does not read the whole outputs of the rounds whose outputs it has no more, and a round reads its own.
func TestTrimmedAnswers(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	of := opened(t, s, "run")
	large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for n := 1; n <= 4; n++ {
		round := activity.Round{Round: n, Format: "openai", Model: "m", Plan: activity.Plan{Calls: []activity.PlannedCall{{Name: "read"}}}}
		if err := s.RecordRound(t.Context(), of, round, "", 0); err != nil {
			t.Fatal(err)
		}
		answers, trimmed := []wire.Answer{{Content: large}}, []wire.Answer{{Content: json.RawMessage(`"short"`)}}
		if n == 2 {
			answers = []wire.Answer{{Content: json.RawMessage(`1`)}} // shorter than its reference
		}
		if err := s.RecordAnswers(t.Context(), of, n, answers, trimmed); err != nil {
			t.Fatal(err)
		}
	}
	rounds, err := s.AgentRounds(t.Context(), of, activity.Context{TrimmedTo: 4, From: 1})
	if err != nil || len(rounds) != 4 {
		t.Fatalf("%d rounds, %v", len(rounds), err)
	}
	for i, want := range []string{`"short"`, `1`, `"short"`, string(large)} {
		if got := string(rounds[i].Answers[0].Content); got != want {
			t.Errorf("round %d has an answer of %d bytes, want %d", i+1, len(got), len(want))
		}
	}
	if one, _, err := s.AgentRound(t.Context(), of, 1); err != nil || len(one.Answers[0].Content) != len(large) {
		t.Errorf("the round has %d bytes, %v", len(one.Answers[0].Content), err)
	}
}
