package gate

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Parts are the dependencies of the gate. All except PolicyEngines and Shadow are required.
type Parts struct {
	Policies judge.Policies
	// PolicyEngines returns the engine that gives the verdicts of a policy version. nil means Pawl's own engine.
	PolicyEngines policy.Engines
	// Engine is the authorization engine.
	Engine authz.Port
	Tools  judge.Source
	// Shadow returns the shadow policy, or nil if there is none. The function may be nil.
	Shadow func() *policy.Policy
	Log    *slog.Logger
}

type gate struct{ Parts }

// Steps returns the steps of the gate. It panics without an authorization engine.
func Steps(p Parts) stage.Table {
	if p.Engine == nil {
		panic("gate: there is no authorization engine")
	}
	g := &gate{p}
	return stage.Table{
		hook.WillAuthorize.Stage():    {Before: g.authorize},
		hook.WillCheckConsent.Stage(): {Before: g.consent, Again: true},
	}
}

// authorize judges the call without its arguments. Kill switches and policy come first, and then: the masks of
// policy, which must not break the output schema of the tool; the authorization engine; the connection.
func (g *gate) authorize(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	f := in.Facts
	bound, here := g.Tools.Find(f.ToolID, f.ToolDigest)
	f.Args, f.Repaired, f.NoSchema = nil, false, here && !bound.HasSchema()
	return g.judge(ctx, f, in.AnyWorker, func(p *policy.Policy, _ policy.Decision, v *hook.Verdict) (*hook.Failure, error) {
		if here {
			if failure := judge.CheckMasks(bound, p.Masks(f.Context.TenantID, f.ToolID)); failure != nil {
				return failure, nil
			}
		}
		if failure, err := g.askPermission(ctx, f, p.Permissions(f.Context.TenantID), v); failure != nil || err != nil {
			return failure, err
		}
		return g.checkConnection(ctx, f, p, v), nil
	})
}

// consent judges the call with its arguments. If policy requires an approval, a call without an approval asks a
// person. A call with an approval must still be the call that was approved.
func (g *gate) consent(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	f := in.Facts
	return g.judge(ctx, f, in.AnyWorker, func(_ *policy.Policy, decision policy.Decision, v *hook.Verdict) (*hook.Failure, error) {
		if decision.Verb == policy.Allow {
			return nil, nil
		}
		if f.Approval == nil {
			v.Outcome, v.Ask = hook.Asked, &hook.Ask{Message: decision.Message, Rule: decision.Rule}
			return nil, nil
		}
		if stale := staleness(*f.Approval, f, decision); stale != "" {
			return &hook.Failure{
				Code: toolspec.CodeApprovalStale, SafeMessage: "What was approved has changed: " + stale,
				Details: &toolspec.Details{ApprovalID: f.Approval.ApprovalID, Rule: decision.Rule},
			}, nil
		}
		return nil, nil
	})
}

// judge returns the verdict of the kill switches and of policy on a call. If neither stops the call,
// judge calls furtherChecks, which may return a failure too. The facts have arguments at willCheckConsent
// only. A worker without the tool does not judge the call unless anyWorker is set: a rule of policy may
// depend on a property of the tool that this worker does not know, such as a tag, and only workers with the
// tool may have the hooks of the call.
func (g *gate) judge(
	ctx context.Context, f hook.Facts, anyWorker bool, furtherChecks func(*policy.Policy, policy.Decision, *hook.Verdict) (*hook.Failure, error),
) (v hook.Verdict, err error) {
	if kill := f.Killed(); kill != nil {
		return g.killed(ctx, f, *kill), nil
	}
	if _, here := g.Tools.Find(f.ToolID, f.ToolDigest); !here && !anyWorker {
		return hook.Verdict{Outcome: hook.Missing, By: "tool " + f.ToolID}, nil
	}
	p, err := g.Policies.Policy(ctx, f.PolicyDigest)
	if err != nil {
		return v, err
	}
	facts := judge.AtWorker(judge.PolicyFacts(f, f.Args != nil), f.ToolDigest, g.Tools)
	decision, failure, err := g.decide(ctx, p, f, facts, &v)
	if err == nil && failure == nil && p.ReviewOf(facts.ToolID, facts.Discovered) == policy.Pending {
		// The source of the tool has not read this policy yet, or has read a newer policy. On the next
		// try, the call and the source probably have the same policy.
		return hook.Verdict{Outcome: hook.Missing, By: judge.PendingReview(f.ToolID), Unread: true}, nil
	}
	if err == nil && failure == nil {
		failure, err = furtherChecks(p, decision, &v)
	}
	if err != nil {
		return hook.Verdict{}, err
	}
	if failure != nil {
		v.Outcome, v.Failure, v.Delta.Needs = hook.Failed, failure, nil
	}
	g.compare(ctx, f, facts, decision, &v)
	return v, nil
}

// decide returns what policy says about the call, and a failure if policy denies the call. It writes the rule and
// the budgets into v, and the stages that policy demands for the call, such as willAcquireQuota for a quota.
func (g *gate) decide(ctx context.Context, p *policy.Policy, f hook.Facts, facts policy.Facts, v *hook.Verdict) (policy.Decision, *hook.Failure, error) {
	decision, err := judge.Decide(ctx, g.PolicyEngines, p, facts)
	if err != nil {
		return decision, nil, err
	}
	if !decision.Undetermined { // another rule may decide when the arguments are known
		v.Delta.Rule = decision.Rule
	}
	v.Delta.Budgets = &hook.Budgets{
		MaxRuntimeMs: decision.Budgets.MaxRuntimeMs, MaxResultBytes: int(decision.Budgets.MaxResultBytes), DeadlineMs: decision.Budgets.DeadlineMs,
		MaxAttempts: int(decision.Budgets.MaxAttempts), RetryDelayMs: decision.Budgets.RetryDelayMs, RetryDelayMaxMs: decision.Budgets.RetryDelayMaxMs,
		ParkUnknownMs: decision.Approval.ParkUnknown().Milliseconds(),
	}
	if decision.Verb != policy.Deny {
		v.Delta.Needs = judge.Demand(ctx, p, f, g.Tools)
		return decision, nil, nil
	}
	g.Log.WarnContext(ctx, "policy denied a call", append(ids(f), "rule", decision.Rule)...)
	return decision, &hook.Failure{
		Code: toolspec.CodePolicyDenied, SafeMessage: decision.Message, Details: &toolspec.Details{Rule: decision.Rule},
	}, nil
}

// ids returns the attributes of a log line about a call.
func ids(f hook.Facts) []any {
	return []any{
		"toolId", f.ToolID, "toolCallId", f.ToolCallID, "invocationId", f.InvocationID,
		"tenantId", f.Context.TenantID, "runId", f.Context.RunID,
	}
}

// staleness returns what has changed since people were asked to approve the call, such as "the tool". It returns
// "" if nothing has changed.
func staleness(granted hook.GrantedApproval, f hook.Facts, now policy.Decision) string {
	switch {
	case granted.ToolDigest != f.ToolDigest:
		return "the tool"
	case granted.Effect != f.Effect:
		return "its effect"
	case granted.Risk != now.Risk:
		return "its risk"
	case granted.RuleDigest != now.Approval.Digest():
		return "who may approve it"
	case granted.Generation != f.Connection.Value().Generation:
		return "its connection"
	}
	return ""
}
