package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	activity "github.com/pawl-run/pawl/activities/agent"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestSayToAgent: a message that is said several times, also at the same moment, gets one number. A run accepts at most activity.MaxUnread messages that its
// model has not read, and a run that has ended accepts none.
func TestSayToAgent(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	of := opened(t, s, "run")
	say := func(id string) (int64, error) {
		return s.SayToAgent(t.Context(), of, pawlagent.Message{ID: id, Text: "text", By: "user:ann"})
	}
	for i := range activity.MaxUnread {
		said := make(chan int64, 2)
		for range cap(said) {
			go func() {
				n, err := say(fmt.Sprint(i))
				if err != nil {
					t.Error(err)
				}
				said <- n
			}()
		}
		if a, b := <-said, <-said; a != b || a == 0 {
			t.Fatalf("message %d has the numbers %d and %d", i, a, b)
		}
	}
	if n, err := say("more"); n != 0 || err != nil {
		t.Errorf("one message more has the number %d, %v", n, err)
	}
	first, err := say("0")
	if err != nil || first == 0 {
		t.Errorf("the first message again has the number %d, %v", first, err)
	}
	if _, err := s.CloseAgentRun(t.Context(), of, pawlagent.Result{Outcome: pawlagent.Completed}, ""); err != nil {
		t.Fatal(err)
	}
	if n, err := say("late"); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("a run that has ended gave the number %d, %v", n, err)
	}
	if n, err := say("0"); n != first || err != nil {
		t.Errorf("after the end the first message has the number %d, not %d, %v", n, first, err)
	}
}

// TestNewerRun: a release that does not know a key of a stored run, such as a new kind of limit, refuses to continue the run.
func TestNewerRun(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	for run, change := range map[string]string{"document": `document = jsonb_set(document::jsonb, '{limits,people}', '1')`, "input": `input = jsonb_set(input::jsonb, '{people}', '1')`} {
		of := opened(t, s, run)
		if _, err := conn.Exec(t.Context(), "UPDATE agent_runs SET "+change+" WHERE run_id = $1", run); err != nil {
			t.Fatal(err)
		}
		var failed *db.Error
		if _, err := s.AgentRun(t.Context(), of); !errors.As(err, &failed) {
			t.Errorf("%s: got %v", run, err)
		}
	}
}

// TestUnreadableCharacters: the character NUL and halves of surrogate pairs, which a text of Postgres cannot have, are taken out of the response of a model before it
// is stored, and a statement can read the stored texts. The six characters \u0000 stay when they are the text itself, with an escaped backslash.
func TestUnreadableCharacters(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	of := opened(t, s, "run")
	said := "a\x00b \\u0000 \\\\u0000 \"c\""
	round := activity.Round{Round: 1, Format: "openai", Model: "m", Plan: activity.Plan{
		Text: said, Finish: wire.FinishStop, Value: json.RawMessage(`"\u0000"`), Message: json.RawMessage(`{"a":"\ud800","b":"\udc00x\uD83d\ude00","c":"\\ud800","d":"\ud83d\ud83d\ude00"}`),
	}}
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
	var message string
	if err := conn.QueryRow(t.Context(), `SELECT string_agg(value, ' ' ORDER BY key) FROM agent_rounds, json_each_text(plan -> 'message')`).Scan(&message); err != nil {
		t.Fatal(err)
	}
	if want := "\ufffd \ufffdx\U0001f600 \\ud800 \ufffd\U0001f600"; message != want {
		t.Errorf("got %q, want %q", message, want)
	}
}

// TestTrimmedAnswers: a request of a long run reads short references for the rounds whose outputs it leaves out, and whole outputs for the other rounds.
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
	all, err := s.AgentConversation(t.Context(), of, activity.Context{TrimmedTo: 4, From: 1})
	rounds := all.Rounds
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

// TestSummary: a summary that is written several times is stored and counted once. A summary that comes after a later one changes nothing.
func TestSummary(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	of := opened(t, s, "run")
	price := int64(7)
	write := func(before int, text string) error {
		return s.RecordSummary(t.Context(), of, activity.Context{TrimmedTo: before, From: before}, activity.NewSummary{
			Summary: activity.Summary{Before: before, Text: text}, Format: "openai", Model: "short", Usage: wire.Usage{Input: 100, Output: 10}, MicroUSD: &price,
		})
	}
	written := make(chan error, 3)
	for range cap(written) {
		go func() { written <- write(5, "first") }()
	}
	for range cap(written) {
		if err := <-written; err != nil {
			t.Error(err)
		}
	}
	for before, text := range map[int]string{4: "late", 5: "again"} {
		if err := write(before, text); err != nil {
			t.Error(err)
		}
	}
	run, err := s.AgentRun(t.Context(), of)
	want := pawlagent.Totals{InputTokens: 100, OutputTokens: 10, MicroUSD: 7}
	if err != nil || run.Totals != want || run.Context != (activity.Context{TrimmedTo: 5, From: 5}) || run.Summary != (activity.Summary{Before: 5, Text: "first"}) {
		t.Errorf("the run is %+v, %+v, %+v, %v", run.Totals, run.Context, run.Summary, err)
	}
	if _, err := s.CloseAgentRun(t.Context(), of, pawlagent.Result{Outcome: pawlagent.Completed}, ""); err != nil {
		t.Fatal(err)
	}
	if err := write(9, "after the end"); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("after the end: %v", err)
	}
}
