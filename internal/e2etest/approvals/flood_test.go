package approvals

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const (
	// serverUpdates and serverSignals are how many updates and signals the servers of these tests accept for one workflow. The defaults of a server are 2 000
	// and 10 000. With the smaller numbers the tests need a quarter of the time.
	serverUpdates = 500
	serverSignals = 1000
)

// forgery returns decision number i, which cannot count. It is unsigned, or signed with a key that the approver does not have, or it names the key id of the
// approver, or it has a proof of the approver for another request.
func forgery(t *testing.T, i int, view toolspec.ApprovalView, people signers, mallory proof.Signer, moved string) toolspec.Decision {
	t.Helper()
	d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: e2etest.Ann,
		Reason: fmt.Sprint("forged ", i)}
	switch i % 4 {
	case 0:
	case 1:
		d = signedWith(t, mallory, "acme", time.Now(), d)
	case 2:
		signed := people.approval(t, view, e2etest.Ann)
		d.Proof = signed.Proof[:strings.LastIndexByte(signed.Proof, '.')+1] + strings.Repeat("A", 86)
	case 3:
		d.Proof = moved
	}
	return d
}

// attacked makes a world with a call that waits for signed approvals of ann and ben. forged returns the decisions that an attacker in the namespace can send.
func attacked(t *testing.T, server ...string) (w *e2etest.World, effects *e2etest.Ledger, people signers, call *pawl.Call,
	view toolspec.ApprovalView, forged func(i int) toolspec.Decision) {
	t.Helper()
	w = e2etest.NewWorldOn(t, devstacktest.OwnTemporal(t, devstack.TemporalOptions{DynamicConfig: server}).Address(),
		postgrestest.Database(t), signedPolicy)
	effects = &e2etest.Ledger{}
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	people = enroll(w, e2etest.Ann, e2etest.Ben)
	mallory, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	other := w.Waiting(w.Start(e2etest.Invocation("other", "test__send", `{"text":"hello"}`)).WorkflowID)
	call = w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	view = w.Waiting(call.WorkflowID)
	moved := people.approval(t, other, e2etest.Ann).Proof
	return w, effects, people, call, view, func(i int) toolspec.Decision { return forgery(t, i, view, people, mallory, moved) }
}

// approveByCLI approves a request with `pawl approve` and the key of a person.
func approveByCLI(w *e2etest.World, view toolspec.ApprovalView, people signers, who string) string {
	w.T.Helper()
	pem, err := people.keys[who].Encode()
	if err != nil {
		w.T.Fatal(err)
	}
	file := filepath.Join(w.T.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem, 0o600); err != nil {
		w.T.Fatal(err)
	}
	return w.PawlCLI(fmt.Sprintf("approve %s --tenant acme --as %s --key %s", view.ApprovalID, who, file))[0]
}

// flood calls f n times, up to eight at the same time.
func flood(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error { return f(i) })
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestForgedUpdates: a refused update does not count for the limit of the server. After more forged updates than the server accepts for one workflow, the
// approvers can still decide, by the client and by the command line.
func TestForgedUpdates(t *testing.T) {
	t.Parallel()
	w, effects, people, call, view, forged := attacked(t, fmt.Sprintf("history.maxTotalUpdates=%d", serverUpdates))
	before := len(w.History(call.WorkflowID, "").GetEvents())
	flood(t, serverUpdates+100, func(i int) error {
		// TestSignedApprovals checks the answers to such decisions. In this test the server may refuse most of the updates itself.
		handle, err := w.Temporal.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			UpdateID: uuid.NewString(), WorkflowID: call.WorkflowID, UpdateName: toolspec.DecideName, Args: []any{forged(i)},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			var answer toolspec.Answer
			if err = handle.Get(t.Context(), &answer); err == nil && answer.Counted {
				return fmt.Errorf("forgery %d counted", i)
			}
		}
		return nil
	})
	accepted, events := updates(w, call.WorkflowID), len(w.History(call.WorkflowID, "").GetEvents())
	t.Logf("of %d forged updates %d were accepted; the history grew from %d to %d events", serverUpdates+100, accepted, before, events)
	if accepted > 20 {
		t.Errorf("%d forged updates were accepted", accepted)
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ann)); !answer.Counted {
		t.Errorf("ann: %+v", answer)
	}
	if text := approveByCLI(w, view, people, e2etest.Ben); !strings.Contains(text, "approve counted") {
		t.Errorf("ben: %s", text)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
}

// TestForgedSignals: forged signals make the call run no step, even if there are so many that the server accepts only two more. State, `pawl show` and the
// log say how many decisions were dropped.
func TestForgedSignals(t *testing.T) {
	t.Parallel()
	w, effects, people, call, view, forged := attacked(t, fmt.Sprintf("history.maximumSignalsPerExecution=%d", serverSignals))
	before := w.History(call.WorkflowID, "").GetEvents()
	const n = serverSignals - 2
	flood(t, n, func(i int) error {
		return w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, forged(i))
	})
	state := toolspec.State{}
	// Some of the forgeries name keys that may have been registered since, so the call does not drop all of them.
	w.Until(func() bool { state = w.State(call.WorkflowID); return state.Dropped >= n-20 }, "the call has seen the signals")
	counts := map[string]int{}
	after := w.History(call.WorkflowID, "").GetEvents()[len(before):]
	for _, e := range after {
		counts[strings.TrimPrefix(e.GetEventType().String(), "WorkflowExecution")]++
		if f := e.GetWorkflowTaskFailedEventAttributes(); f != nil {
			counts[f.GetCause().String()+" "+f.GetFailure().GetMessage()]++
		}
	}
	t.Logf("%d forged signals, of which %d were dropped: %d events, %v", n, state.Dropped, len(after), counts)
	if counts["MarkerRecorded"] > 20 || counts["TimerStarted"] > 20 {
		t.Errorf("the call took steps for forged signals: %v", counts)
	}
	for what, text := range map[string]func() string{
		"the details": func() string { return w.Details(call.WorkflowID) },
		"pawl show":   func() string { return w.PawlCLI("show --tenant acme " + view.ApprovalID)[0] },
	} {
		// A busy machine may take longer to replay the call than pawl show waits.
		w.Until(func() bool { return strings.Contains(text(), "dropped") }, what+" say that signals were dropped")
	}
	// A workflow task that the server refuses is repeated, and its first run may have logged the warning already.
	if n := strings.Count(w.Log.String(), "drops decisions"); n < 1 || n > 1+counts["WorkflowTaskFailed"]+counts["WorkflowTaskTimedOut"] {
		t.Errorf("the log warns %d times: %v", n, counts)
	}
	for _, who := range []string{e2etest.Ann, e2etest.Ben} {
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, people.approval(t, view, who)); err != nil {
			t.Fatal(err)
		}
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
}

// TestUpdatesSpent: when the server accepts no more updates, the client and the command line decide by a signal, and report whether the decision counted.
func TestUpdatesSpent(t *testing.T) {
	t.Parallel()
	w, effects, people, call, view, _ := attacked(t, fmt.Sprintf("history.maxTotalUpdates=%d", maxProofs))
	insider := enroll(w, e2etest.Actor) // the requester has a key, but may not decide
	for i := range maxProofs {
		d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: e2etest.Actor,
			Reason: fmt.Sprint(i)}
		w.WantAnswer(call, signedWith(t, insider.keys[e2etest.Actor], "acme", time.Now(), d), "requester")
	}
	if n := updates(w, call.WorkflowID); n != maxProofs {
		t.Fatalf("%d updates were accepted, want all of %d", n, maxProofs)
	}
	unsigned := e2etest.Approving(view.ApprovalID, e2etest.Ann)
	w.WantAnswer(call, unsigned, "only signed")
	signed := people.approval(t, view, e2etest.Ann)
	for range 2 { // a repeated decision gets the same answer
		if answer := w.Decide(call.WorkflowID, signed); !answer.Counted || answer.Reason != "1 of 2 approvals" {
			t.Errorf("ann: %+v", answer)
		}
	}
	if text := approveByCLI(w, view, people, e2etest.Ben); !strings.Contains(text, "approve counted") {
		t.Errorf("ben: %s", text)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
}

// maxProofs is how many decisions by one key a call accepts.
const maxProofs = 32
