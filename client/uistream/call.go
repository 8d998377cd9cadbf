package uistream

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
)

func (c *call) inputAvailable() Part {
	c.available = true
	input := c.input
	if input == nil {
		input = unknownInput
	}
	return Part{Type: typeInputAvailable, ToolCallID: c.id, ToolName: c.toolName, Input: input, Dynamic: true}
}

// ensureInput returns the part that gives the call an input, unless the stream has one already. Without an input
// the npm package assistant-stream holds back all later parts of the call.
func (c *call) ensureInput() []Part {
	if c.available {
		return nil
	}
	return []Part{c.inputAvailable()}
}

// request returns the parts of an approval request.
func (c *call) request(a toolspec.RunApproval) []Part {
	if a.ApprovalID == "" {
		return nil
	}
	c.approval = a
	return append(c.ensureInput(), Part{Type: typeApprovalRequest, ToolCallID: c.id, ApprovalID: a.ApprovalID}, c.approvalData())
}

// decide returns the parts of a decision. The format has no part that says to every reader that a
// request was approved: the input of the call, once more, ends the wait.
func (c *call) decide(a toolspec.RunApproval) []Part {
	if a.ApprovalID == "" || a.ApprovalID != c.approval.ApprovalID {
		return nil
	}
	c.approval.Decision, c.approval.Approver = a.Decision, a.Approver
	parts := []Part{c.approvalData()}
	if a.Decision == "approved" || a.Decision == "edited" {
		parts = append(parts, c.inputAvailable())
	}
	return parts
}

// approvalData returns the approval request as data. Data with the id of earlier data replaces it.
func (c *call) approvalData() Part {
	return Part{Type: typeApproval, ID: c.approval.ApprovalID, Data: encode(ApprovalData{ToolCallID: c.id, RunApproval: c.approval})}
}

// settle returns the parts of the result: what an application may want to know of it, and the part
// that closes the call.
func (c *call) settle(r *toolspec.Result) []Part {
	if r == nil {
		r = &toolspec.Result{ErrorCode: toolspec.CodeInternal}
	}
	parts := []Part{{Type: typeResult, ID: c.id, Data: encode(ResultData{
		ToolCallID: c.id, InvocationID: r.InvocationID, OK: r.OK, ErrorCode: r.ErrorCode, SafeMessage: r.SafeMessage, Details: r.Details,
		RetryAfterMs: r.RetryAfterMs, Source: r.Source, Attempts: r.Attempts, Kind: r.Kind, Bytes: r.Bytes, Truncated: r.Truncated, OutputRef: r.OutputRef,
		StartedAtMs: r.StartedAtMs, EndedAtMs: r.EndedAtMs,
	})}}
	switch {
	case r.OK:
		parts = append(parts, c.ensureInput()...)
		return append(parts, Part{Type: typeOutputAvailable, ToolCallID: c.id, Output: output(r)})
	case r.ErrorCode == toolspec.CodeApprovalDenied && c.approval.ApprovalID != "":
		// Readers show this part as the answer to an approval request, so a call without a request must
		// not get it.
		return append(parts, Part{Type: typeOutputDenied, ToolCallID: c.id})
	}
	text := r.SafeMessage
	if text == "" {
		text = toolspec.InfoOf(r.ErrorCode).Message
	}
	return append(parts, c.fail(text))
}

// fail closes the call with an error. A call without an input ends with an error of its input.
func (c *call) fail(text string) Part {
	if !c.available {
		return Part{Type: typeInputError, ToolCallID: c.id, ToolName: c.toolName, Input: unknownInput, Dynamic: true, ErrorText: text}
	}
	return Part{Type: typeOutputError, ToolCallID: c.id, ErrorText: text}
}

// output is the value of a call that succeeded. A stored value is named, not shown.
func output(r *toolspec.Result) json.RawMessage {
	switch {
	case len(r.Value) > 0:
		return r.Value
	case r.OutputRef != "":
		return encode(map[string]any{"outputRef": r.OutputRef})
	}
	return json.RawMessage("null")
}
