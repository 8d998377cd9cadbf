package hooks

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ruleConnection stands in records where the call may not use its connection.
const ruleConnection = "connection"

// connect refuses a call whose connection is not both granted and requested,
// whether there is one of that name or not (GRANT_INTERSECTION_REQUIRED). It runs
// wherever the gate does, so that a grant that went while the call waited is gone.
func (g *gate) connect(ctx context.Context, v *hook.Gate, p *policy.Policy) error {
	c := v.Context()
	if c.ConnectionID == "" {
		return nil
	}
	holder := broker.Holder(c)
	n, names := v.Connection(), []string(nil)
	if n.Requested {
		names = []string{c.ConnectionID}
	}
	def, known := g.definition(v.ToolID())
	var granted []string
	if holder != "" && broker.Covers(n, p.Roles(c.TenantID, holder), def.Scopes) {
		granted = []string{c.ConnectionID}
	}
	if len(broker.Effective(granted, names)) == 0 {
		v.Explain(ruleConnection)
		g.log.WarnContext(ctx, "no grant allows a call its connection", "toolId", v.ToolID(), "toolCallId", v.ToolCallID(),
			"invocationId", v.InvocationID(), "tenantId", c.TenantID, "runId", c.RunID)
		return hook.Refuse(activities.NoGrant())
	}
	if n.Status == broker.StatusNeedsReauth {
		v.Explain(ruleConnection)
		return hook.Refuse(activities.Reauth())
	}
	// Of a tool that only other workers have, nobody knows here what it uses.
	if !known || activities.UsesConnection(def) {
		v.Need(hook.WillInjectSecrets.Stage())
	}
	return nil
}

func (g *gate) definition(toolID string) (toolspec.Definition, bool) {
	bound, ok := g.source.Get(toolID)
	if !ok {
		return toolspec.Definition{}, false
	}
	return bound.Definition(), true
}

// Connections marks at willInjectSecrets that the call is to have its connection:
// execute leases it for each attempt, and no credential is near before
// (contradiction C-05). It stands on demand.
func Connections() hook.Hook {
	return hook.New("connections", hook.Builtin(), hook.OnDemand(), hook.WillInjectSecrets.Do(func(_ context.Context, v *hook.Check) error {
		v.Put(activities.ConnectionMark, true)
		return nil
	}))
}
