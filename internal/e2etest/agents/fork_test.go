package agents

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// forkOf returns the input of a fork of a run, with the next messages.
func forkOf(source string, rounds int, runID string, texts ...string) agent.Input {
	in := input(runID, "")
	in.Fork, in.Messages = &agent.Fork{RunID: source, Rounds: rounds}, nil
	for _, text := range texts {
		in.Messages = append(in.Messages, conversation.Message{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}})
	}
	return in
}

// TestFork: a fork continues the conversation of another run after one of its rounds, with a new message or by repeating the next round, also if its worker
// is killed during the copy. No call of the copied rounds runs again, and the usage of these rounds does not count. The error for a source of another actor,
// tenant or subject is the same as for a source that does not exist. The calls of a run carry the proof of its subject.
func TestFork(t *testing.T) {
	t.Parallel()
	file, asked := filepath.Join(t.TempDir(), "effects"), filepath.Join(t.TempDir(), "asked")
	w := newWorld(t, "openai", func(r modelserver.Request) modelserver.Reply {
		switch last := lastOf(r); {
		case last == "go" && r.Answers < 2:
			return calls(modelserver.Call{Name: "test__send", Args: fmt.Sprintf(`{"text":%q}`, file)})
		case last == "other" && !isAnswered(r):
			return calls(modelserver.Call{Name: "test__asked", Args: fmt.Sprintf(`{"text":%q}`, asked)})
		default:
			return modelserver.Reply{Text: last + " done"}
		}
	})
	first := w.child()
	w.apply(w.document("openai", "test__send", "test__asked"))
	want(t, w.run(input("source", "go")), agent.Completed, "go done")
	source := w.model.Requests()
	if len(source) != 3 || len(w.Effects(file)) != 2 {
		t.Fatalf("the source has %d requests and %d effects", len(source), len(w.Effects(file)))
	}

	// A fork with a new message, whose worker is killed during the copy.
	isHeld, release := w.Hold("INSERT ON agent_rounds FOR EACH ROW")
	fork := w.start(forkOf("source", 1, "fork", "other"))
	w.Until(isHeld, "the copy is held")
	e2etest.Kill(first)
	release()
	w.child()
	w.Approve(w.calling(fork, 1)[0].WorkflowID)
	result := w.result(fork)
	want(t, result, agent.Completed, "other done")
	if result.Rounds != 3 || result.Calls != 1 || result.InputTokens != 20 || result.OutputTokens != 10 {
		t.Errorf("the fork has used %+v", result.Totals)
	}
	asks := w.model.Requests()[len(source):]
	if len(asks) != 2 {
		t.Fatalf("%d requests of the fork", len(asks))
	}
	kept := source[1].Messages
	if n := len(kept); len(asks[0].Messages) != n+1 || !reflect.DeepEqual(asks[0].Messages[:n], kept) || asks[0].Messages[n].Text != "other" || asks[0].Messages[n].Role != "user" {
		t.Errorf("the model was asked\n%+v\nwant a message after\n%+v", asks[0].Messages, kept)
	}
	if n := len(w.Effects(file)); n != 2 || len(w.Effects(asked)) != 1 || w.codes("fork") != "ok" {
		t.Errorf("%d and %d effects, and the calls %s", n, len(w.Effects(asked)), w.codes("fork"))
	}
	w.WantSound(fork.WorkflowID())
	w.Replay(fork.WorkflowID())
	if again := w.again(forkOf("source", 1, "fork", "other")); !reflect.DeepEqual(again, result) {
		t.Errorf("started again the run ended %+v", again)
	}

	// The command repeats round 2. The call of the repeated round is a new call.
	p := w.pawl("", "agent", "fork", "source", "--rounds", "1", "--run", "retry")
	if p.status != 0 || !strings.HasPrefix(p.err, "retry goes on after round 1 of source\n") || !strings.Contains(p.out, "go done") {
		t.Errorf("the command printed %+v", p)
	}
	asks = w.model.Requests()[len(source)+2:]
	if len(asks) != 2 || !reflect.DeepEqual(asks[0].Messages, kept) || len(w.Effects(file)) != 3 || w.codes("retry") != "ok" {
		t.Errorf("%d requests, the first with %+v, and %d effects", len(asks), asks[0].Messages, len(w.Effects(file)))
	}
	shown := w.pawl("", "agent", "runs", "show", "retry")
	has(t, shown.out, "fork of   source, after round 1", "user> go", "round 1", "call 1    test__send", "in source", "round 2", "call 1    test__send {", "ok")
	// A fork of all rounds that stays open for more messages.
	p = w.pawl("", "agent", "fork", "fork", "more", "--stay", "--run", "stays")
	if p.status != 0 || p.out != "more done\n" || !strings.Contains(p.err, "stays goes on after round 3 of fork\n") {
		t.Errorf("the command printed %+v", p)
	}

	// Forks that are not allowed to read the source.
	key, keyID := w.Submitter()
	proof := func(runID, subject string, lasts time.Duration) string {
		token := jwt.NewWithClaims(jwt.SigningMethodEdDSA, struct {
			toolspec.SubmitterClaims
			jwt.RegisteredClaims
		}{
			toolspec.SubmitterClaims{TenantID: "acme", RunID: runID, ActorID: e2etest.Actor, SubjectID: subject},
			jwt.RegisteredClaims{Audience: jwt.ClaimStrings{toolspec.SubmitterAudience}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(lasts))},
		})
		token.Header["kid"] = keyID
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	sues := input("sues", "hello")
	sues.Context.SubjectID, sues.SubmitterProof = e2etest.Sue, proof("sues", e2etest.Sue, time.Hour)
	want(t, w.run(sues), agent.Completed, "hello done")
	before := len(w.model.Requests())
	unknown := w.run(forkOf("nobody", 1, "f0", "tell")).Reason
	for i, change := range []func(*agent.Input){
		func(in *agent.Input) { in.Context.ActorID = "agent:other" },
		func(in *agent.Input) { in.Context.TenantID = "globex" },
		func(in *agent.Input) { in.Context.SubjectID = e2etest.Sue },
		func(in *agent.Input) { in.Fork.RunID = "sues" },
		func(in *agent.Input) { in.Fork.RunID, in.Context.SubjectID = "sues", e2etest.Sue },
		func(in *agent.Input) {
			in.Fork.RunID, in.Context.SubjectID, in.SubmitterProof = "sues", e2etest.Sue, sues.SubmitterProof
		},
		func(in *agent.Input) {
			in.Fork.RunID, in.Context.SubjectID, in.SubmitterProof = "sues", e2etest.Sue, proof(in.Context.RunID, "user:bob", time.Hour)
		},
		func(in *agent.Input) {
			in.Fork.RunID, in.Context.SubjectID, in.SubmitterProof = "sues", e2etest.Sue, proof(in.Context.RunID, e2etest.Sue, -time.Minute)
		},
	} {
		in := forkOf("source", 1, fmt.Sprint("refused", i), "tell")
		change(&in)
		if result := w.run(in); result.Outcome != agent.Failed || result.Reason != unknown || !strings.Contains(unknown, "no such run") {
			t.Errorf("case %d: the run ended %+v", i, result)
		}
	}
	for rounds, reason := range map[int]string{4: "has no 4 rounds"} {
		if result := w.run(forkOf("source", rounds, "f1", "tell")); !strings.Contains(result.Reason, reason) {
			t.Errorf("%d rounds: the run ended %+v", rounds, result)
		}
	}
	other := w.document("openai")
	other.Name = "other"
	w.apply(other)
	in := forkOf("source", 1, "f2", "tell")
	in.Agent = "other"
	if result := w.run(in); !strings.Contains(result.Reason, "of another agent") {
		t.Errorf("the run ended %+v", result)
	}
	if n := e2etest.Scalar[int](w.World, "SELECT count(*)::int FROM agent_runs WHERE run_id LIKE 'refused%' OR run_id LIKE 'f_'"); n != 0 || len(w.model.Requests()) != before {
		t.Errorf("%d refused runs are in the record, and the model got %d more requests", n, len(w.model.Requests())-before)
	}
	in = forkOf("sues", 1, "vouched", "more")
	in.Context.SubjectID, in.SubmitterProof = e2etest.Sue, proof("vouched", e2etest.Sue, time.Hour)
	want(t, w.run(in), agent.Completed, "more done")

	// The calls of a run carry its proof.
	w.Relate("acme", authz.Relation{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: "*"})
	for runID, codes := range map[string]string{"proven": "ok ok", "unproven": "authz_denied authz_denied"} {
		in := input(runID, "go")
		in.Context.SubjectID = e2etest.Sue
		if runID == "proven" {
			in.SubmitterProof = proof(runID, e2etest.Sue, time.Hour)
		}
		want(t, w.run(in), agent.Completed, "go done")
		if got := w.codes(runID); got != codes {
			t.Errorf("the calls of the run %s ended %q, want %q", runID, got, codes)
		}
	}
}
