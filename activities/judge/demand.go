package judge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Demand returns the stages at which Pawl's step runs for this call only because its policy or its tool needs the
// step: for example willAcquireQuota, if policy has a quota for the call.
func Demand(ctx context.Context, p *policy.Policy, f hook.Facts, tools Source) []hook.Stage {
	var demand []hook.Stage
	facts := LimitFacts(f)
	if len(p.Features(facts)) > 0 {
		demand = append(demand, hook.WillCheckFeatureFlags.Stage())
	}
	limits := p.Limits(facts)
	if slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Tokens > 0 }) {
		demand = append(demand, hook.WillAcquireQuota.Stage())
	}
	if slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.Tokens == 0 }) {
		demand = append(demand, hook.WillAcquireSemaphore.Stage())
	}
	if f.Context.ConnectionID != "" {
		// A worker that does not have the tool cannot know what the tool uses.
		if bound, here := tools.Find(f.ToolID, f.ToolDigest); !here || UsesConnection(bound.Definition()) {
			demand = append(demand, hook.WillInjectSecrets.Stage())
		}
	}
	if !Varies(ctx, f) && CacheTime(p, f, tools) > 0 {
		demand = append(demand, hook.WillReadCache.Stage(), hook.DidCacheHit.Stage(), hook.WillWriteCache.Stage())
	}
	return demand
}

// LimitFacts returns the facts that policy needs to find the features and the limits of a call.
func LimitFacts(f hook.Facts) policy.Facts {
	return PolicyFacts(hook.Facts{ToolID: f.ToolID, Context: f.Context}, false)
}

// UsesConnection reports whether a tool declares a capability of connections.
func UsesConnection(def toolspec.Definition) bool {
	return slices.ContainsFunc(def.Capabilities, func(name toolspec.CapabilityName) bool {
		return name == capability.ClientsKey.Name() || name == capability.AuthKey.Name()
	})
}

// Varies reports whether a factory provides something for this call or its session only. Another call
// with the same arguments may then get another value, so the cache must not answer it.
func Varies(ctx context.Context, f hook.Facts) bool {
	return len(f.Bindings) > 0 || provide.FromContext(ctx).Vary()
}

// CacheTime returns how long the policy lets the cache keep the value of a call; 0 if it
// keeps none. Only values of read-only tools that this worker has are kept.
func CacheTime(p *policy.Policy, f hook.Facts, tools Source) time.Duration {
	if f.Effect != toolspec.ReadOnly {
		return 0
	}
	bound, here := tools.Find(f.ToolID, f.ToolDigest)
	if !here || bound.Definition().Effect != toolspec.ReadOnly {
		return 0
	}
	return p.CacheFor(f.Context.TenantID, f.ToolID, bound.Definition().CacheFor)
}

// NoGrant returns the failure of a call that may not use its connection. It does not say
// whether the connection exists.
func NoGrant() hook.Failure {
	return hook.Failure{
		Code: toolspec.CodePolicyDenied, SafeMessage: "no grant allows this connection",
		Details: &toolspec.Details{Path: "/context/connectionId", Rule: "connection"},
	}
}

// MissingScopes returns the failure of a call whose grants do not cover the scopes that its tool
// declares. scopes are the missing scopes.
func MissingScopes(scopes []string) hook.Failure {
	f := NoGrant()
	f.SafeMessage = "no grant covers the scopes that the tool needs: missing " + strings.Join(scopes, ", ")
	return f
}

// Revoked returns the failure of a call whose connection is revoked. Use it only if the actor or the subject of the call
// has a grant for the connection, because the failure tells that the connection exists.
func Revoked() hook.Failure {
	f := NoGrant()
	f.SafeMessage = "the connection is revoked, and stays revoked: use another connection"
	return f
}

// NotRequested returns the failure of a call whose allowedConnectionIds do not list its connection. The failure
// tells the caller nothing that is not in the call itself.
func NotRequested() hook.Failure {
	return hook.Failure{
		Code: toolspec.CodePolicyDenied, SafeMessage: "the call does not list its connection in allowedConnectionIds",
		Details: &toolspec.Details{Path: "/allowedConnectionIds", Rule: "connection"},
	}
}

// Reauth returns the failure of a call whose connection has no usable credential. Use it only if the actor or the subject
// of the call has a grant for the connection. The id is opaque, and the call names it itself.
func Reauth(connectionID string) hook.Failure {
	id := toolspec.Quoted(connectionID)
	return hook.Failure{
		Code: toolspec.CodeNeedsReauth, Details: &toolspec.Details{Path: "/context/connectionId"},
		SafeMessage: fmt.Sprintf("The connection %s must be authorised again: sign in (pawl connections signin %s), or replace its secret (pawl connections rotate %s)", id, id, id),
	}
}
