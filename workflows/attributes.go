package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// upsert writes the search attributes of a call after admit, on entering and on
// leaving a wait, and at the end. A local-lane call that never waits writes them
// once, at the end, unless durable hooks stand before it. They are for people: nothing in Pawl searches by them.
func (c *call) upsert(ctx workflow.Context, now bool) {
	if !now || !c.plan.SearchAttributes {
		return
	}
	updates := []temporal.SearchAttributeUpdate{keyword(AttrStatus, string(c.status))}
	if c.upserted == "" {
		updates = append(updates, c.fixedAttributes()...)
	}
	c.upserted = c.status
	c.send(ctx, updates)
}

func (c *call) upsertOutcome(ctx workflow.Context, r toolspec.Result) {
	if !c.plan.SearchAttributes {
		return
	}
	outcome := "ok"
	if !r.OK {
		outcome = string(r.ErrorCode)
	}
	updates := []temporal.SearchAttributeUpdate{keyword(AttrStatus, string(toolspec.StatusSettled)), keyword(AttrOutcome, outcome)}
	if c.upserted == "" {
		updates = append(updates, c.fixedAttributes()...)
	}
	c.upserted = toolspec.StatusSettled
	c.send(ctx, updates)
}

func (c *call) fixedAttributes() []temporal.SearchAttributeUpdate {
	updates := []temporal.SearchAttributeUpdate{
		keyword(AttrTenant, c.admitted.Context.TenantID), keyword(AttrTool, c.admitted.ToolID),
	}
	if c.effect != "" {
		updates = append(updates, keyword(AttrEffect, string(c.effect)))
	}
	if c.admitted.ConnectionHash != "" {
		updates = append(updates, keyword(AttrConnection, c.admitted.ConnectionHash))
	}
	return updates
}

func (c *call) send(ctx workflow.Context, updates []temporal.SearchAttributeUpdate) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, updates...); err != nil {
		workflow.GetLogger(ctx).Warn("search attributes were not written")
	}
}

func keyword(name, value string) temporal.SearchAttributeUpdate {
	return temporal.NewSearchAttributeKeyKeyword(name).ValueSet(value)
}
