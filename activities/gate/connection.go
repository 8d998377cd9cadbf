package gate

import (
	"context"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ruleConnection is the rule in the record of a call that was denied because it may not use its connection.
const ruleConnection = "connection"

// checkConnection refuses a call whose connection is not requested or not granted (GRANT_INTERSECTION_REQUIRED
// in docs/internals/invariants.md). A connection that does not exist gets the same refusal as a connection
// without a grant. checkConnection also refuses a call whose connection is revoked or has no usable credential,
// and says so only to a holder of a grant. If this worker does not have the tool, checkConnection checks no
// scopes; the tool cannot run here either.
func (g *gate) checkConnection(ctx context.Context, f hook.Facts, p *policy.Policy, v *hook.Verdict) *hook.Failure {
	c := f.Context
	if c.ConnectionID == "" {
		return nil
	}
	n := f.Connection.Value()
	if !n.Requested {
		v.Delta.Rule = ruleConnection
		failure := judge.NotRequested()
		return &failure
	}
	requested := []string{c.ConnectionID}
	var scopes, granted []string
	if bound, here := g.Tools.Find(f.ToolID, f.ToolDigest); here {
		scopes = bound.Definition().Scopes
	}
	holder := broker.Holder(c)
	var missing []string
	revoked := false
	if holder != "" {
		roles := p.Roles(c.TenantID, holder)
		lacks, ok := broker.Missing(n, roles, scopes)
		if missing = lacks; ok && len(missing) == 0 {
			granted = []string{c.ConnectionID}
		}
		revoked = n.Status == broker.StatusRevoked && broker.IsGranted(n, roles)
	}
	if len(broker.Effective(granted, requested)) == 0 {
		v.Delta.Rule = ruleConnection
		g.Log.WarnContext(ctx, "no grant allows a call its connection", append(ids(f), "missingScopes", missing)...)
		failure := judge.NoGrant()
		// A holder of a grant may know that the connection exists.
		switch {
		case len(missing) > 0:
			failure = judge.MissingScopes(missing)
		case revoked:
			failure = judge.Revoked()
		}
		return &failure
	}
	if n.Status == broker.StatusNeedsReauth {
		v.Delta.Rule = ruleConnection
		failure := judge.Reauth(c.ConnectionID)
		return &failure
	}
	return nil
}
