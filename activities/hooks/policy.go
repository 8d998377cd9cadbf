package hooks

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Policy judges a call twice: at willAuthorize without its arguments, so that a
// caller who is denied learns nothing of them, and at willCheckConsent with
// them, where it may ask a person (DENY_BY_DEFAULT). Between the two, of what policy
// does not deny, the authorization engine says whether this actor may: it stands in
// the same hook, so that a plan that has the one has the other. There is no gate
// without an engine: nil panics.
func Policy(policies activities.Policies, engine authz.Port, source activities.Source, log *slog.Logger) hook.Hook {
	if engine == nil {
		panic("hooks: the gate has no authorization engine")
	}
	p := &gate{policies: policies, engine: engine, source: source, log: log}
	return hook.New("policy", hook.Builtin(),
		hook.WillAuthorize.Do(p.authorize),
		hook.WillCheckConsent.Do(p.consent))
}

type gate struct {
	policies activities.Policies
	engine   authz.Port
	source   activities.Source
	log      *slog.Logger
}

// call is what both views let a gate see and do.
type call interface {
	ToolID() string
	ToolCallID() string
	InvocationID() string
	Context() toolspec.Context
	Submitter() (keyID, fault string)
	Effect() toolspec.Effect
	Risk() toolspec.Risk
	PolicyDigest() string
	Tighten(hook.Budgets)
	Explain(string)
	Need(...hook.Stage)
}

func (g *gate) authorize(ctx context.Context, v *hook.Gate) error {
	p, err := g.policies.Policy(ctx, v.PolicyDigest())
	if err != nil {
		return err
	}
	bound, here := g.source.Get(v.ToolID())
	unchecked := hook.Facts{NoSchema: here && !bound.HasSchema()}
	if _, err := g.decide(ctx, p, v, unchecked); err != nil {
		return err
	}
	if err := g.permit(ctx, v, p.Permissions(v.Context().TenantID)); err != nil {
		return err
	}
	return g.connect(ctx, v, p)
}

func (g *gate) consent(ctx context.Context, v *hook.Consent) error {
	p, err := g.policies.Policy(ctx, v.PolicyDigest())
	if err != nil {
		return err
	}
	decision, err := g.decide(ctx, p, v, hook.Facts{Args: v.Args(), Repaired: v.Repaired(), NoSchema: v.NoSchema()})
	if err != nil || decision.Verb == policy.Allow {
		return err
	}
	granted := v.Granted()
	if granted == nil {
		return v.RequireApproval(hook.Ask{Message: decision.Message, Rule: decision.Rule})
	}
	if stale := staleness(*granted, v, decision); stale != "" {
		return hook.Refuse(hook.Failure{
			Code: toolspec.CodeApprovalStale, SafeMessage: "What was approved has changed: " + stale,
			Details: &toolspec.Details{ApprovalID: granted.ApprovalID, Rule: decision.Rule},
		})
	}
	return nil
}

// staleness names what changed since the request was opened, or "".
func staleness(granted hook.GrantedApproval, v *hook.Consent, now policy.Decision) string {
	switch {
	case granted.ToolDigest != v.ToolDigest():
		return "the tool"
	case granted.Effect != v.Effect():
		return "its effect"
	case granted.Risk != now.Risk:
		return "its risk"
	case granted.RuleDigest != now.Approval.Digest():
		return "who may approve it"
	case granted.Generation != v.Connection().Generation:
		return "its connection"
	}
	return ""
}

// decide judges and refuses what is denied. args say what is known of the
// arguments: Args, Repaired and NoSchema; without Args they are not known yet.
func (g *gate) decide(ctx context.Context, p *policy.Policy, v call, args hook.Facts) (policy.Decision, error) {
	keyID, _ := v.Submitter()
	decision := p.Decide(activities.Tagged(activities.PolicyFacts(hook.Facts{
		ToolID: v.ToolID(), Context: v.Context(), Submitter: &hook.Submitter{KeyID: keyID}, Effect: v.Effect(), Risk: v.Risk(),
		Args: args.Args, Repaired: args.Repaired, NoSchema: args.NoSchema,
	}, args.Args != nil), g.source))
	v.Explain(decision.Rule)
	v.Tighten(hook.Budgets{
		MaxRuntimeMs: decision.Budgets.MaxRuntimeMs, MaxResultBytes: int(decision.Budgets.MaxResultBytes), DeadlineMs: decision.Budgets.DeadlineMs,
		MaxAttempts: int(decision.Budgets.MaxAttempts), RetryDelayMs: decision.Budgets.RetryDelayMs, RetryDelayMaxMs: decision.Budgets.RetryDelayMaxMs,
		ParkUnknownMs: decision.Approval.ParkUnknown().Milliseconds(),
	})
	if decision.Verb != policy.Deny {
		facts := limitFacts(v)
		if len(p.Features(facts)) > 0 {
			v.Need(hook.WillCheckFeatureFlags.Stage())
		}
		for _, limit := range p.Limits(facts) {
			if limit.Tokens > 0 {
				v.Need(hook.WillAcquireQuota.Stage())
			} else {
				v.Need(hook.WillAcquireSemaphore.Stage())
			}
		}
		return decision, nil
	}
	c := v.Context()
	g.log.WarnContext(ctx, "policy denied a call", "toolId", v.ToolID(), "toolCallId", v.ToolCallID(),
		"invocationId", v.InvocationID(), "tenantId", c.TenantID, "runId", c.RunID, "rule", decision.Rule)
	return decision, hook.Refuse(hook.Failure{
		Code: toolspec.CodePolicyDenied, SafeMessage: decision.Message, Details: &toolspec.Details{Rule: decision.Rule},
	})
}
