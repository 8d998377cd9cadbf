package client_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// TestTheRecordInGo: an inbox needs the requests that wait, the list of calls and the record of one, each of one tenant.
func TestTheRecordInGo(t *testing.T) {
	w := newWorld(t)
	w.work()
	if _, err := w.client.Invoke(t.Context(), call("test__echo", "read", "hello")); err != nil {
		t.Fatal(err)
	}
	waiting, err := w.client.Start(t.Context(), call("test__write", "write", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	asked := w.asked(waiting.WorkflowID).Approval

	list := func(f client.ApprovalFilter) (ids []string) {
		t.Helper()
		found, err := w.client.Approvals(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range found {
			ids = append(ids, a.ApprovalID)
		}
		return ids
	}
	inbox, err := w.client.Approvals(t.Context(), client.ApprovalFilter{TenantID: "acme"})
	if err != nil || len(inbox) != 1 || inbox[0].ApprovalID != asked.ApprovalID || inbox[0].ToolID != "test__write" || len(inbox[0].Args) == 0 {
		t.Fatalf("what waits: %+v, %v", inbox, err)
	}
	if found := list(client.ApprovalFilter{TenantID: "globex"}); len(found) != 0 {
		t.Errorf("for another tenant waits %q", found)
	}
	// The request holds all that a decision needs.
	request := inbox[0]
	answer, err := w.client.Decide(t.Context(), request.WorkflowID, toolspec.Decision{
		ApprovalID: request.ApprovalID, Digest: request.Digest, Decision: toolspec.Approve, Approver: "user:anna",
	})
	if err != nil || !answer.Counted {
		t.Fatalf("the decision: %+v, %v", answer, err)
	}
	if _, err := w.client.Result(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	if found := list(client.ApprovalFilter{TenantID: "acme"}); len(found) != 0 {
		t.Errorf("after the decision waits %q", found)
	}
	if found := list(client.ApprovalFilter{TenantID: "acme", Decided: true}); !reflect.DeepEqual(found, []string{asked.ApprovalID}) {
		t.Errorf("decided is %q", found)
	}

	if found := list(client.ApprovalFilter{TenantID: "acme", Decided: true, After: &request, Limit: 1}); len(found) != 0 {
		t.Errorf("behind the only request is %q", found)
	}

	calls, err := w.client.Calls(t.Context(), client.CallFilter{TenantID: "acme"})
	if err != nil || len(calls) != 2 || calls[0].ToolCallID != "write" || calls[1].ToolCallID != "read" || calls[1].Outcome != "ok" {
		t.Fatalf("the calls: %+v, %v", calls, err)
	}
	older, err := w.client.Calls(t.Context(), client.CallFilter{TenantID: "acme", After: &calls[0], Limit: 1})
	if err != nil || len(older) != 1 || older[0].InvocationID != calls[1].InvocationID {
		t.Errorf("the next page: %+v, %v", older, err)
	}
	for _, id := range []string{waiting.InvocationID, waiting.WorkflowID, "write", asked.ApprovalID} {
		record, err := w.client.Call(t.Context(), "acme", id)
		if err != nil || record.InvocationID != waiting.InvocationID || record.Result == nil || len(record.Approvals) != 1 || len(record.Stages) == 0 {
			t.Errorf("the record by %s: %+v, %v", id, record, err)
		}
		if record, err := w.client.Call(t.Context(), "globex", id); !errors.Is(err, client.ErrNotFound) || record.InvocationID != "" {
			t.Errorf("to another tenant by %s: %+v, %v", id, record, err)
		}
	}
}

// TestReadersThatAreMissing: each read says which option it needs, and which tenant.
func TestReadersThatAreMissing(t *testing.T) {
	t.Parallel()
	bare := client.New(nil, client.Options{})
	_, calls := bare.Calls(t.Context(), client.CallFilter{TenantID: "acme"})
	_, record := bare.Call(t.Context(), "acme", "x")
	_, approvals := bare.Approvals(t.Context(), client.ApprovalFilter{TenantID: "acme"})
	for _, err := range []error{calls, record, approvals} {
		if !errors.Is(err, client.ErrNoRecords) {
			t.Errorf("without a reader: %v", err)
		}
	}
	read := client.New(nil, client.Options{Records: unread{}})
	if _, err := read.Calls(t.Context(), client.CallFilter{}); err == nil {
		t.Error("calls of no tenant")
	}
	if _, err := read.Approvals(t.Context(), client.ApprovalFilter{}); err == nil {
		t.Error("approvals of no tenant")
	}
}

// unread is a reader that nothing may be read from: every method panics.
type unread struct{ client.Records }

// TestAttachRefuses: Attach refuses what Start refuses, with the same error.
func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	c := client.New(nil, client.Options{})
	for name, inv := range map[string]toolspec.Invocation{
		"arguments that are no JSON": {ToolID: "core__ls", ToolCallID: "1", Args: []byte(`{`), Context: toolspec.Context{TenantID: "acme", RunID: "r", ActorID: "user:anna"}},
		"no actor":                   {ToolID: "core__ls", ToolCallID: "1", Context: toolspec.Context{TenantID: "acme", RunID: "r"}},
	} {
		_, attach := c.Attach(t.Context(), inv)
		_, start := c.Start(t.Context(), inv)
		if client.Code(attach) == "" || start == nil || client.Code(attach) != client.Code(start) || attach.Error() != start.Error() {
			t.Errorf("%s: Attach says %v, Start says %v", name, attach, start)
		}
	}
}
