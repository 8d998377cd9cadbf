package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/toolspec"
)

// silent is a Temporal client to which nothing may be sent: every method panics.
type silent struct{ temporal.Client }

func TestWhatIsRefusedIsNeverSent(t *testing.T) {
	t.Parallel()
	good := toolspec.Invocation{
		ToolID: "test__echo", ToolCallID: "1", Args: json.RawMessage(`{"text":"x"}`),
		Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:reader"},
	}
	for name, test := range map[string]struct {
		change func(*toolspec.Invocation)
		code   toolspec.Code
		path   string
	}{
		"no tenant":       {func(i *toolspec.Invocation) { i.Context.TenantID = "" }, toolspec.CodeValidation, "/context/tenantId"},
		"no actor":        {func(i *toolspec.Invocation) { i.Context.ActorID = "" }, toolspec.CodeValidation, "/context/actorId"},
		"no call id":      {func(i *toolspec.Invocation) { i.ToolCallID = "" }, toolspec.CodeValidation, "/toolCallId"},
		"bare tool":       {func(i *toolspec.Invocation) { i.ToolID = "echo" }, toolspec.CodeValidation, "/toolId"},
		"slash in tenant": {func(i *toolspec.Invocation) { i.Context.TenantID = "a/b" }, toolspec.CodeValidation, "/context/tenantId"},
		"broken args":     {func(i *toolspec.Invocation) { i.Args = json.RawMessage(`{"text":`) }, toolspec.CodeInvalidJSON, "/args"},
		"large args": {func(i *toolspec.Invocation) {
			i.Args = json.RawMessage(`"` + strings.Repeat("x", toolspec.MaxInline) + `"`)
		}, toolspec.CodeValidation, "/args"},
		"secret in args": {func(i *toolspec.Invocation) {
			i.Args = json.RawMessage(`{"text":"AKIAIOSFODNN7EXAMPLE"}`)
		}, toolspec.CodeValidation, "/args/text"},
		"secret in context": {func(i *toolspec.Invocation) {
			i.Context.SessionID = "AKIAIOSFODNN7EXAMPLE"
		}, toolspec.CodeValidation, "/context/sessionId"},
		"secret as id": {func(i *toolspec.Invocation) { i.ToolCallID = "AKIAIOSFODNN7EXAMPLE" }, toolspec.CodeValidation, "/toolCallId"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inv := good.Clone()
			test.change(&inv)
			result, err := New(silent{}, Options{}).Invoke(t.Context(), inv)
			var refused *CallError
			if !errors.As(err, &refused) {
				t.Fatalf("ended with %v", err)
			}
			if refused.Code() != test.code || refused.Result.Details.Path != test.path {
				t.Errorf("%s at %q, want %s at %q", refused.Code(), refused.Result.Details.Path, test.code, test.path)
			}
			if !reflect.DeepEqual(result, refused.Result) || result.ErrorCode != test.code || result.HTTPStatus == 0 || result.InvocationID != "" {
				t.Errorf("beside the error stands %+v", result)
			}
			if named := inv.ToolCallID == good.ToolCallID; named != (result.ToolCallID == good.ToolCallID) {
				t.Errorf("the result is of the call %q", result.ToolCallID)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, refused.Result), "AKIA") {
				t.Errorf("the refusal repeats the secret: %v", err)
			}
		})
	}
}

func TestADecisionIsCheckedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	good := toolspec.Decision{ApprovalID: toolspec.ApprovalID(toolspec.Identity{}.InvocationID(), 1), Decision: toolspec.Approve, Approver: "user:anna"}
	for name, change := range map[string]func(*toolspec.Decision){
		"approval id": func(d *toolspec.Decision) { d.ApprovalID = "1" },
		"verb":        func(d *toolspec.Decision) { d.Decision = "maybe" },
		"approver":    func(d *toolspec.Decision) { d.Approver = "" },
		"secret":      func(d *toolspec.Decision) { d.Reason = "key AKIAIOSFODNN7EXAMPLE" },
		"edit":        func(d *toolspec.Decision) { d.Decision = toolspec.Edit },
	} {
		d := good
		change(&d)
		if _, err := New(silent{}, Options{}).Decide(t.Context(), "tool:acme:run:1", d); err == nil || strings.Contains(err.Error(), "AKIA") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUpdateIDIsStable pins the id: two releases must give one decision one id.
func TestUpdateIDIsStable(t *testing.T) {
	t.Parallel()
	d := toolspec.Decision{ApprovalID: "a.1", Decision: toolspec.Approve, Approver: "user:anna", Reason: "fine"}
	const want = "291a0b9e732eb2794f9b9ad85462b849ae0755886447a84ed88b47f629df0678"
	id, err := updateID(d)
	if err != nil || id != want {
		t.Errorf("id %s, %v, want %s", id, err, want)
	}
	seen := map[string]string{id: "the first"}
	for name, change := range map[string]func(*toolspec.Decision){
		"approval": func(d *toolspec.Decision) { d.ApprovalID = "a.2" },
		"verb":     func(d *toolspec.Decision) { d.Decision = toolspec.Deny },
		"approver": func(d *toolspec.Decision) { d.Approver = "user:bert" },
		"reason":   func(d *toolspec.Decision) { d.Reason = "no" },
		"edit":     func(d *toolspec.Decision) { d.EditedArgs = json.RawMessage(`{}`) },
		"remember": func(d *toolspec.Decision) { d.Remember = true },
		"proof":    func(d *toolspec.Decision) { d.Proof = "p" },
	} {
		other := d
		change(&other)
		id, err := updateID(other)
		if err != nil {
			t.Fatal(err)
		}
		if before, taken := seen[id]; taken {
			t.Errorf("%s has the id of %s", name, before)
		}
		seen[id] = name
	}
}

func TestErrorsOfDecisions(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	other := errors.New("other")
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{
		"settled":           {ended, ErrSettled, ErrSettled},
		"unknown":           {ended, ErrNotFound, ErrNotFound},
		"server's deadline": {t.Context(), serviceerror.NewDeadlineExceeded("x"), ErrNotConfirmed},
		"own deadline":      {t.Context(), context.DeadlineExceeded, ErrNotConfirmed},
		"update timed out":  {t.Context(), fmt.Errorf("x: %w", temporal.NewWorkflowUpdateServiceTimeoutOrCanceledError(other)), ErrNotConfirmed},
		"caller went away":  {ended, other, ErrNotConfirmed},
		"other":             {t.Context(), other, other},
	} {
		if got := decideError(test.ctx, test.err); !errors.Is(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestConflictShowsOnlyTheIdentity(t *testing.T) {
	t.Parallel()
	other := toolspec.Result{
		ToolCallID: "1", InvocationID: "i", InputDigest: "d", OK: true, Value: json.RawMessage(`"other's"`), SafeMessage: "other's",
		Details: &toolspec.Details{Rule: "other's"}, OutputRef: "other's", ErrorCode: "other's", Attempts: 3,
	}
	got, err := json.Marshal(conflict(other))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"toolCallId":"1","invocationId":"i","inputDigest":"d","ok":false,"errorCode":"conflict",` +
		`"safeMessage":"The call id is taken by a call with other arguments","httpStatus":409,"attempts":0,"startedAtMs":0,"endedAtMs":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCoded(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("x: %w", &CallError{Result: toolspec.Failure(toolspec.CodeTimeout, "", nil)})
	if !errors.Is(err, Coded(toolspec.CodeTimeout)) || errors.Is(err, Coded(toolspec.CodeInternal)) || errors.Is(err, errors.New("timeout")) {
		t.Error("errors.Is does not go by the code")
	}
	if got := err.Error(); got != "x: timeout: The tool timed out" {
		t.Errorf("text %q", got)
	}
	for _, tc := range []struct {
		err  error
		want toolspec.Code
	}{
		{err, toolspec.CodeTimeout}, {errors.Join(errors.New("x"), err), toolspec.CodeTimeout}, {nil, ""}, {ErrNoAnswer, ""}, {ErrSettled, ""},
	} {
		if got := Code(tc.err); got != tc.want {
			t.Errorf("the code of %v is %q, want %q", tc.err, got, tc.want)
		}
	}
}
