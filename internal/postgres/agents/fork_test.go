package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	activity "github.com/pawl-run/pawl/activities/agent"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// forked returns the new run that copies the given number of rounds of the run source.
func forked(runID, source string, rounds int) activity.NewRun {
	return activity.NewRun{
		Run: contract.AgentRun{TenantID: "acme", RunID: runID}, InputDigest: runID, Document: document("2", ""),
		Input: pawlagent.Input{Fork: &pawlagent.Fork{RunID: source, Rounds: rounds}},
	}
}

// copied returns the rows of a run that a fork must copy, as JSON and without the columns that may differ.
func copied(t *testing.T, conn *pgx.Conn, runID string, rounds int) string {
	t.Helper()
	var text string
	if err := conn.QueryRow(t.Context(), `SELECT json_build_array(
		(SELECT json_agg(to_jsonb(r) - 'run_id' ORDER BY round) FROM agent_rounds r WHERE run_id = $1 AND round <= $2),
		(SELECT json_agg(to_jsonb(s) - 'run_id' ORDER BY before_round) FROM agent_summaries s WHERE run_id = $1 AND before_round <= $2),
		(SELECT json_agg(json_build_array(round, said_by, text, said_at) ORDER BY seq) FROM agent_messages WHERE run_id = $1 AND round <= $2))`, runID, rounds).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// TestForkAgentRun: a fork has one copy of the rounds, of the messages and of the last summary of its source up to a round, and starts with a use of zero.
// The source can go on and can be deleted.
func TestForkAgentRun(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	ctx, source := t.Context(), opened(t, s, "source")
	say := func(id string) int64 {
		n, err := s.SayToAgent(ctx, source, pawlagent.Message{ID: id, Text: "text " + id, By: "user:ann"})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	cost := int64(3)
	for n := 1; n <= 6; n++ {
		round := activity.Round{Round: n, Format: "openai", Model: "m", MicroUSD: &cost, Usage: wire.Usage{Input: 10}, Plan: activity.Plan{Text: "t"}}
		if n != 3 { // round 3 has no calls
			round.Plan.Calls = []activity.PlannedCall{{Name: "read", Call: contract.AgentCall{ToolCallID: fmt.Sprint("r", n)}}}
		}
		if err := s.RecordRound(ctx, source, round, "hash", say(fmt.Sprint("m", n))); err != nil {
			t.Fatal(err)
		}
		if n == 3 || n == 6 { // the calls of round 6 run
			continue
		}
		if err := s.RecordAnswers(ctx, source, n, []wire.Answer{{Content: json.RawMessage(`"` + strings.Repeat("x", 100) + `"`)}}, []wire.Answer{{Content: json.RawMessage(`1`)}}); err != nil {
			t.Fatal(err)
		}
		if n == 2 || n == 5 {
			before := activity.Context{TrimmedTo: n, From: n}
			if err := s.RecordSummary(ctx, source, before, activity.NewSummary{Summary: activity.Summary{Before: n, Text: fmt.Sprint("summary ", n)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	say("unread")

	// Four workers open the fork at the same moment, and it is opened again later.
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := s.ForkAgentRun(ctx, forked("fork", "source", 4), []string{"one\x00", "two"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	run, err := s.ForkAgentRun(ctx, forked("fork", "source", 4), []string{"one\x00", "two"})
	if err != nil || run.Round != 4 || run.Totals != (pawlagent.Totals{Rounds: 4}) || run.Document.Version != "2" || run.InputDigest != "fork" || run.Input.Fork == nil {
		t.Fatalf("the fork is %+v, %v", run, err)
	}
	// The source leaves out the rounds before round 5 by now. The fork has only rounds before that one, and so must leave out fewer.
	if run.Context != (activity.Context{TrimmedTo: 4, From: 2}) || run.Summary != (activity.Summary{Before: 2, Text: "summary 2"}) {
		t.Errorf("the fork leaves out %+v with %+v", run.Context, run.Summary)
	}
	if got, want := copied(t, conn, "fork", 4), copied(t, conn, "source", 4); got != want || !strings.Contains(got, "text m4") {
		t.Errorf("the fork has\n%s\nwant\n%s", got, want)
	}
	texts := func(of contract.AgentRun) string {
		c, err := s.AgentConversation(ctx, of, activity.Context{TrimmedTo: 1, From: 1})
		if err != nil {
			t.Fatal(err)
		}
		list := ""
		for _, m := range c.Said {
			list += fmt.Sprintf("%d %s, ", m.Round, m.Text)
		}
		return list
	}
	if got, want := texts(acme("fork")), "1 text m1, 2 text m2, 3 text m3, 4 text m4, 0 one\uFFFD, 0 two, "; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	// A person says a message to the fork under an id that a message of the source has.
	if n, err := s.SayToAgent(ctx, acme("fork"), pawlagent.Message{ID: "m1", Text: "new"}); err != nil || n <= run.Said {
		t.Errorf("the message has the number %d, and the last one %d, %v", n, run.Said, err)
	}

	// A fork without a text makes the next round of the source again, also when that round has no response yet.
	for rounds, want := range map[int]string{0: "0 text m1, ", 2: "1 text m1, 2 text m2, 0 text m3, ", 5: "1 text m1, 2 text m2, 3 text m3, 4 text m4, 5 text m5, 0 text m6, "} {
		id := fmt.Sprint("retry", rounds)
		run, err := s.ForkAgentRun(ctx, forked(id, "source", rounds), nil)
		if err != nil || run.Round != rounds || texts(acme(id)) != want {
			t.Errorf("%d rounds: %+v, %v, said %q, want %q", rounds, run, err, texts(acme(id)), want)
		}
		if from := map[int]int{0: 1, 2: 2, 5: 5}[rounds]; run.Context.From != from || run.Context.TrimmedTo > max(rounds, 1) {
			t.Errorf("%d rounds: the fork leaves out %+v", rounds, run.Context)
		}
	}
	// A fork of a fork copies the messages that the first fork has and has not read.
	if _, err := s.ForkAgentRun(ctx, forked("again", "fork", 4), nil); err != nil || texts(acme("again")) != "1 text m1, 2 text m2, 3 text m3, 4 text m4, 0 one\uFFFD, 0 two, 0 new, " {
		t.Errorf("a fork of a fork: %v, said %q", err, texts(acme("again")))
	}

	for what, tc := range map[string]struct {
		fork activity.NewRun
		want error
	}{
		"calls without answers": {forked("f1", "source", 6), activity.ErrNoRound},
		"too many rounds":       {forked("f2", "source", 7), activity.ErrNoRound},
		"no such run":           {forked("f3", "nobody", 0), activity.ErrNotFound},
		"of another tenant":     {activity.NewRun{Run: contract.AgentRun{TenantID: "globex", RunID: "f4"}, Document: document("2", ""), Input: forked("", "source", 1).Input}, activity.ErrNotFound},
	} {
		if _, err := s.ForkAgentRun(ctx, tc.fork, nil); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", what, err, tc.want)
		}
		if _, err := s.AgentRun(ctx, tc.fork.Run); !errors.Is(err, activity.ErrNotFound) {
			t.Errorf("%s: the run is written: %v", what, err)
		}
	}
	// A fork under the id of a run that exists gets that run, and a fork of a deleted source fails.
	if there, err := s.ForkAgentRun(ctx, forked("source", "fork", 4), nil); err != nil || there.Input.Fork != nil || there.Round != 6 {
		t.Errorf("the id of another run: %+v, %v", there, err)
	}
	if _, err := s.CloseAgentRun(ctx, source, pawlagent.Result{Outcome: pawlagent.Failed}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ForkAgentRun(ctx, forked("ended", "source", 1), nil); err != nil {
		t.Errorf("a source that has ended: %v", err)
	}
	if _, err := s.StartChild(ctx, child(acme("fork"), 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ForkAgentRun(ctx, forked("f5", "agent-forkc1", 0), nil); !errors.Is(err, activity.ErrNotFound) {
		t.Errorf("a run with a parent: %v", err)
	}
	if _, err := conn.Exec(ctx, "UPDATE agent_rounds SET bytes = $1 WHERE run_id = 'source' AND round = 2", pawlagent.MaxForkBytes); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ForkAgentRun(ctx, forked("f6", "source", 2), nil); !errors.Is(err, activity.ErrForkTooLarge) {
		t.Errorf("a source that is too large: %v", err)
	}
	if _, err := conn.Exec(ctx, "DELETE FROM agent_runs WHERE run_id = 'source'"); err != nil {
		t.Fatal(err)
	}
	if run, err := s.ForkAgentRun(ctx, forked("fork", "source", 4), []string{"one\x00", "two"}); err != nil || run.Round != 4 {
		t.Errorf("the fork without its source: %+v, %v", run, err)
	}
}

// acme returns the key of a run of the tenant acme.
func acme(runID string) contract.AgentRun { return contract.AgentRun{TenantID: "acme", RunID: runID} }
