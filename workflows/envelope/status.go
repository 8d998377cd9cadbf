package envelope

import (
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// status is the part of a running call's state that people see.
type status struct {
	status toolspec.Status
	stage  string
	// upserted is the status that the search attributes have; empty before their first write.
	upserted toolspec.Status
	// waiting is the reason of the current wait for capacity or for a time; empty outside of a
	// wait.
	waiting string
}

// Status returns the current status: running, settled, or the kind of wait.
func (c *Call) Status() toolspec.Status { return c.status.status }

// Stage returns the name of the current stage or step.
func (c *Call) Stage() string { return c.stage }

// SetStage sets the name that Stage returns: a stage, or a step that belongs to no stage, such as execute or settle.
func (c *Call) SetStage(step string) { c.stage = step }

// SetStatus sets the status of the call when it enters or leaves a wait, and writes the search attributes. details
// says in Markdown why the call waits; it is empty when the call leaves the wait.
func (c *Call) SetStatus(ctx workflow.Context, s toolspec.Status, details string) {
	c.status.status = s
	workflow.SetCurrentDetails(ctx, details)
	c.Upsert(steps.Disconnected(ctx))
}

// WaitsFor returns the reason of the current wait for capacity or for a time, or an empty
// string.
func (c *Call) WaitsFor() string { return c.waiting }

// EnterWait records that the call waits for capacity, or until a time that a hook named. WaitsFor returns the reason,
// which is plain text. The UI of Temporal shows details, which is Markdown.
func (c *Call) EnterWait(ctx workflow.Context, reason, details string) {
	c.waiting = reason
	if c.Status() == toolspec.StatusWaitingCapacity {
		// The status stays, so the search attributes need no write.
		workflow.SetCurrentDetails(ctx, details)
		return
	}
	c.SetStatus(ctx, toolspec.StatusWaitingCapacity, details)
}

// LeaveWait ends a wait that EnterWait began. It does nothing if the call is in no such wait.
func (c *Call) LeaveWait(ctx workflow.Context) {
	c.waiting = ""
	if c.Status() == toolspec.StatusWaitingCapacity {
		c.SetStatus(ctx, toolspec.StatusRunning, "")
	}
}

// MarkSettled records that the call has its result.
func (c *Call) MarkSettled(r toolspec.Result) {
	c.status.status, c.stage = toolspec.StatusSettled, contract.Settle.Name()
	c.attempt = r.Attempts
}

// Upsert writes the search attributes: after admit if the call plans a regular activity, and when
// the call enters or leaves a wait. Any other call writes the attributes once, at its end. The
// attributes are for people: Pawl does not search by them.
func (c *Call) Upsert(ctx workflow.Context) {
	c.upsert(ctx, keyword(contract.AttrStatus, string(c.status.status)))
	c.upserted = c.status.status
}

// UpsertOutcome writes the search attributes of a call that has its result.
func (c *Call) UpsertOutcome(ctx workflow.Context, r toolspec.Result) {
	outcome := "ok"
	if !r.OK {
		outcome = string(r.ErrorCode)
	}
	c.upsert(ctx, keyword(contract.AttrStatus, string(toolspec.StatusSettled)), keyword(contract.AttrOutcome, outcome))
	c.upserted = toolspec.StatusSettled
}

// upsert writes search attributes. The first time, it also writes the attributes that do not
// change during the call. An error is only logged, because no step reads the attributes.
func (c *Call) upsert(ctx workflow.Context, updates ...temporal.SearchAttributeUpdate) {
	if !c.plan.SearchAttributes {
		return
	}
	if c.upserted == "" {
		updates = append(updates, keyword(contract.AttrTenant, c.admitted.Context.TenantID), keyword(contract.AttrTool, c.admitted.ToolID))
		if c.effect != "" {
			updates = append(updates, keyword(contract.AttrEffect, string(c.effect)))
		}
		if c.admitted.ConnectionHash != "" {
			updates = append(updates, keyword(contract.AttrConnection, c.admitted.ConnectionHash))
		}
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were not written")
	}
}

func keyword(name, value string) temporal.SearchAttributeUpdate {
	return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value)
}

// PlainText replaces characters by spaces: control characters, Markdown syntax, invisible
// characters, and characters that change the direction of text.
func PlainText(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune("`*_[]<>|\\\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f", r) {
			return ' '
		}
		return r
	}, s)
}

// summaryOf returns the line that the UI shows beside the marker of a stage.
func summaryOf(step hook.Step) string {
	names := step.Hooks
	if step.Own != "" {
		names = append([]string{step.Own}, names...)
	}
	return string(step.Stage) + ": " + strings.Join(names, ", ")
}
