package pawlflow

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// verdict is the value that check records in the history. Refused is nil for an input that may start.
type verdict struct {
	Refused *toolspec.Result `json:"refused,omitempty"`
}

// check returns the result of a call whose input admit would refuse, or nil. It runs before the input is written into
// a history. The rules may change with a release, so the workflow records the verdict, and a replay reads the recorded
// verdict. The history gets nothing if the verdict equals the verdict on the previous call.
func check(ctx workflow.Context, inv toolspec.Invocation) *toolspec.Result {
	var v verdict
	recorded := workflow.MutableSideEffect(ctx, "pawl.input", func(workflow.Context) any { return judge(inv) }, equal)
	if err := recorded.Get(&v); err != nil {
		return refuse(inv, toolspec.Failure(toolspec.CodeInternal, "", nil))
	}
	return v.Refused
}

// judge reads the input as admit does.
func judge(inv toolspec.Invocation) verdict {
	data, err := json.Marshal(inv) //workflowcheck:ignore
	fault := &hydrate.Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
		Path: "/args", Kind: hydrate.KindUndecodable, Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
	}}
	if err == nil {
		_, fault = hydrate.Decode(data) //workflowcheck:ignore
	}
	if fault == nil {
		return verdict{}
	}
	return verdict{refuse(inv, toolspec.Failure(fault.Code, fault.Error(), &toolspec.Details{
		Path: fault.Problem.Path, Kind: fault.Problem.Kind, Problems: []toolspec.Problem{fault.Problem},
	}))}
}

// equal compares the JSON of two verdicts, because one of them may come from the history as JSON.
func equal(a, b any) bool {
	one, err := json.Marshal(a) //workflowcheck:ignore
	if err != nil {
		return false
	}
	other, err := json.Marshal(b) //workflowcheck:ignore
	return err == nil && string(one) == string(other)
}

// refuse completes the result of a call that no worker has seen. The result has no InvocationID. It has the ToolCallID
// only if that id is valid and does not look like a credential.
func refuse(inv toolspec.Invocation, result toolspec.Result) *toolspec.Result {
	if toolspec.CheckToolCallID(inv.ToolCallID) == nil && !toolspec.SecretValue(inv.ToolCallID) {
		result.ToolCallID = inv.ToolCallID
	}
	return &result
}
