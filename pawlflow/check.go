package pawlflow

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// checked is the value that check records in the history. Refused is nil for an input that may start.
type checked struct {
	Refused *toolspec.Result `json:"refused,omitempty"`
}

// check returns the result of a call whose input admit would refuse, or nil. It runs before the input is written into
// a history. The rules may change with a release, so the workflow records whether the input was refused, and a replay reads
// this. Nothing is added to the history if the answer is the same as for the previous call.
func check(ctx workflow.Context, inv toolspec.Invocation) *toolspec.Result {
	var v checked
	recorded := workflow.MutableSideEffect(ctx, "pawl.input", func(workflow.Context) any { return judge(inv) }, equal)
	if err := recorded.Get(&v); err != nil {
		return refuse(inv, toolspec.Failure(toolspec.CodeInternal, "", nil))
	}
	return v.Refused
}

// judge reads the input as admit does.
func judge(inv toolspec.Invocation) checked {
	data, err := json.Marshal(inv) //workflowcheck:ignore
	fault := &hydrate.Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
		Path: "/args", Kind: hydrate.KindUndecodable, Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
	}}
	if err == nil {
		_, fault = hydrate.Decode(data) //workflowcheck:ignore
	}
	if fault == nil {
		return checked{}
	}
	return checked{refuse(inv, toolspec.Failure(fault.Code, fault.Error(), &toolspec.Details{
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
