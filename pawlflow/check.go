package pawlflow

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// verdict is what check records. Refused is nil for an input that may start.
type verdict struct {
	Refused *toolspec.Result `json:"refused,omitempty"`
}

// check returns the result of a call whose input admit would refuse, before it is written into a history. The
// rules may change with a release, so the workflow records the verdict, and a replay reads it. The
// history gets nothing if the verdict is the same as the verdict on the call before.
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

// equal compares the JSON of two verdicts, because the history has JSON.
func equal(a, b any) bool {
	one, err := json.Marshal(a) //workflowcheck:ignore
	if err != nil {
		return false
	}
	other, err := json.Marshal(b) //workflowcheck:ignore
	return err == nil && string(one) == string(other)
}

// refuse completes the result of a call that no worker has seen: it has no InvocationID, and no ToolCallID that
// looks like a credential.
func refuse(inv toolspec.Invocation, result toolspec.Result) *toolspec.Result {
	if toolspec.CheckToolCallID(inv.ToolCallID) == nil && !toolspec.SecretValue(inv.ToolCallID) {
		result.ToolCallID = inv.ToolCallID
	}
	return &result
}
