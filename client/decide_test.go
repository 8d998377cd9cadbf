package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

func TestDecide(t *testing.T) {
	w := newWorld(t)
	w.work()
	c, err := w.client.Start(t.Context(), call("test__write", "w", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	state := w.asked(c.WorkflowID)
	if state.Status != toolspec.StatusWaitingApproval || state.Approval.Digest == "" || state.Approval.RequestedBy != "agent:reader" {
		t.Fatalf("state %+v", state)
	}
	decide := func(approver, approvalID string) (toolspec.Answer, error) {
		return w.client.Decide(t.Context(), c.WorkflowID, toolspec.Decision{
			ApprovalID: approvalID, Decision: toolspec.Approve, Approver: approver,
		})
	}
	answer, err := decide("agent:reader", state.Approval.ApprovalID)
	if err != nil || answer.Counted || answer.Reason == "" {
		t.Errorf("the requester's own decision: %+v, %v", answer, err)
	}
	again, err := decide("agent:reader", state.Approval.ApprovalID)
	if err != nil || again != answer {
		t.Errorf("sent twice: %+v, then %+v, %v", answer, again, err)
	}
	if n := w.updates(c.WorkflowID); n != 1 {
		t.Errorf("one decision, sent twice, is %d updates", n)
	}
	record, err := w.store.Show(t.Context(), "acme", c.InvocationID)
	if err != nil || len(record.Approvals) != 1 || len(record.Approvals[0].Decisions) != 1 {
		t.Errorf("one decision, sent twice, is recorded as %+v, %v", record.Approvals, err)
	}
	if answer, err = decide("user:anna", state.Approval.ApprovalID); err != nil || !answer.Counted {
		t.Fatalf("another's decision: %+v, %v", answer, err)
	}
	result, err := w.client.Result(t.Context(), c)
	if err != nil || string(result.Value) != `{"text":"wrote hello"}` {
		t.Fatalf("result %+v, %v", result, err)
	}
	if _, err = decide("user:bert", state.Approval.ApprovalID); !errors.Is(err, client.ErrSettled) {
		t.Errorf("too late: %v", err)
	}
	if _, err := w.client.Decide(t.Context(), "tool:acme:run:never", toolspec.Decision{
		ApprovalID: state.Approval.ApprovalID, Decision: toolspec.Deny, Approver: "user:bert",
	}); !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrSettled) {
		t.Errorf("on a call that never was: %v", err)
	}
}

// updates counts what the history of a call has accepted.
func (w *world) updates(workflowID string) (n int) {
	w.t.Helper()
	events := w.temporal.GetWorkflowHistory(w.t.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			w.t.Fatal(err)
		}
		if event.GetWorkflowExecutionUpdateAcceptedEventAttributes() != nil {
			n++
		}
	}
	return n
}

func TestDecideWithoutWorker(t *testing.T) {
	w := newWorld(t)
	stop := w.work()
	c, err := w.client.Start(t.Context(), call("test__write", "w", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	approval := w.asked(c.WorkflowID).Approval
	stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	began := time.Now()
	_, err = w.client.Decide(ctx, c.WorkflowID, toolspec.Decision{
		ApprovalID: approval.ApprovalID, Decision: toolspec.Approve, Approver: "user:anna",
	})
	if !errors.Is(err, client.ErrNotConfirmed) {
		t.Errorf("without a worker: %v", err)
	}
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestRecheckAndCancelReachTheCall(t *testing.T) {
	w := newWorld(t)
	w.work()
	c, err := w.client.Start(t.Context(), call("test__write", "w", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	w.asked(c.WorkflowID)
	if err := w.client.Recheck(t.Context(), c.WorkflowID); err != nil {
		t.Fatal(err)
	}
	var signals []string
	events := w.temporal.GetWorkflowHistory(t.Context(), c.WorkflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		if s := event.GetWorkflowExecutionSignaledEventAttributes(); s != nil {
			signals = append(signals, s.GetSignalName())
		}
	}
	if strings.Join(signals, " ") != toolspec.RecheckName {
		t.Errorf("signals %q", signals)
	}
	if err := w.client.Cancel(t.Context(), c.WorkflowID); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Result(t.Context(), c); !errors.Is(err, client.Coded(toolspec.CodeCancelled)) {
		t.Errorf("cancelled, it ended with %v", err)
	}
	var state toolspec.State
	w.until("the call says how it is", func() (err error) {
		state, err = w.client.State(t.Context(), c.WorkflowID)
		return err
	})
	if state.Status != toolspec.StatusSettled {
		t.Errorf("state %+v", state)
	}
	for name, ask := range map[string]func(workflowID string) error{
		"recheck": func(id string) error { return w.client.Recheck(t.Context(), id) },
		"cancel":  func(id string) error { return w.client.Cancel(t.Context(), id) },
	} {
		if err := ask(c.WorkflowID); !errors.Is(err, client.ErrSettled) || errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s of a settled call: %v", name, err)
		}
		if err := ask("tool:acme:run:never"); !errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrSettled) {
			t.Errorf("%s of a call that never was: %v", name, err)
		}
	}
	if _, err := w.client.State(t.Context(), "tool:acme:run:never"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the state of a call that never was: %v", err)
	}
	if _, _, err := w.client.Progress(t.Context(), "tool:acme:run:never"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the progress of a call that never was: %v", err)
	}
	never, err := w.client.Attach(t.Context(), call("test__write", "never", ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Result(t.Context(), never); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("the result of a call that never was: %v", err)
	}
}

// TestForeignWorkflow: a workflow that is no call, under the id of a call, is not taken for the call.
func TestForeignWorkflow(t *testing.T) {
	w := newWorld(t)
	inv := call("test__write", "foreign", "")
	foreign, err := w.temporal.ExecuteWorkflow(t.Context(), temporal.StartWorkflowOptions{ID: inv.Identity().WorkflowID(), TaskQueue: "foreign"}, toolspec.WorkflowType, inv)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := w.client.Attach(t.Context(), inv)
	if err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() error{
		"state":    func() error { _, err := w.client.State(t.Context(), foreign.GetID()); return err },
		"progress": func() error { _, _, err := w.client.Progress(t.Context(), foreign.GetID()); return err },
		"result":   func() error { _, err := w.client.Result(t.Context(), attached); return err },
		"recheck":  func() error { return w.client.Recheck(t.Context(), foreign.GetID()) },
		"cancel":   func() error { return w.client.Cancel(t.Context(), foreign.GetID()) },
	} {
		if err := ask(); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%s of a foreign workflow: %v", name, err)
		}
	}
}

// TestTheResultOfATerminatedCall: the client says that the outcome is unknown, in a result beside the error of Temporal.
func TestTheResultOfATerminatedCall(t *testing.T) {
	w := newWorld(t)
	c, err := w.client.Start(t.Context(), call("test__write", "w", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.temporal.TerminateWorkflow(t.Context(), c.WorkflowID, "", "a test"); err != nil {
		t.Fatal(err)
	}
	result, err := w.client.Result(t.Context(), c)
	var closed *sdktemporal.WorkflowExecutionError
	if client.Code(err) != toolspec.CodeOutcomeUnknown || !errors.As(err, &closed) {
		t.Errorf("it ended with %v", err)
	}
	if result.ErrorCode != toolspec.CodeOutcomeUnknown || result.ToolCallID != "w" || result.InvocationID != c.InvocationID || result.InputDigest == "" {
		t.Errorf("beside the error stands %+v", result)
	}
}
