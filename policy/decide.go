package policy

import (
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// Decide judges one call. Before hydration it is called without arguments, and the caller may act
// only on a deny. At the consent gate it is called with arguments.
//
// A call is denied if no policy is active, if the tenant has no policy, if the tool is not in
// allowedTools, or if the run narrows its tools and the tool is not among them. Otherwise the
// first of these that applies decides:
//
//  1. a deny rule, or noSchemaMode deny for a call without a schema;
//  2. a require_approval rule, requireApprovalForEffects, a repaired call, or a call without a
//     schema if noSchemaMode is ask;
//  3. an allow rule;
//  4. the mode.
//
// If several require_approval rules apply, the first one that names approvers decides. If the
// tenant's approvals are off, require_approval means deny.
func (p *Policy) Decide(f Facts) Decision {
	if p == nil || len(p.tenants) == 0 {
		return Decision{Verb: Deny, Rule: "no policy", Message: "no policy is active"}
	}
	t := p.tenant(f.TenantID)
	if t == nil {
		return Decision{Verb: Deny, Rule: "tenants", Message: "the tenant has no policy"}
	}
	d, changes := t.decide(t.evaluation(f))
	d.Budgets = t.budgetsOf(f.ToolID)
	d.Approval = t.approvalOf(f.ToolID, changes...)
	if d.Verb == Allow {
		d.Message = ""
	}
	return d
}

// failedSource follows the name of a rule that applies because its condition failed.
const failedSource = " (its condition failed)"

// precondition returns the decision for a call that is denied before any rule, or nil.
func (t *tenant) precondition(e *evaluation) *Decision {
	f := &e.facts
	switch {
	case !f.Effect.Valid() || !f.Risk.Valid():
		return &Decision{Verb: Deny, Rule: "facts", Message: "the tool declares no valid effect and risk"}
	case !matchesAny(t.allowed, f.ToolID):
		return &Decision{Verb: Deny, Risk: f.Risk, Rule: "allowedTools", Message: "the tool is not allowed for this tenant"}
	case len(f.ToolIDs) > 0 && !slices.Contains(f.ToolIDs, f.ToolID):
		return &Decision{Verb: Deny, Risk: f.Risk, Rule: "toolIds", Message: "the tool is not among the tools of this run"}
	}
	return nil
}

// decide returns the decision of a tenant's policy, and what its rules change about approvals.
func (t *tenant) decide(e *evaluation) (d Decision, changes []approvers) {
	if d := t.precondition(e); d != nil {
		return *d, nil
	}
	f := &e.facts
	risk, possibleRisk := t.risks(e)
	// open are the rules that would decide if the arguments made them apply.
	var open []*rule
	// plain is the first rule that asks and names nobody. unclear are the rules that ask, name
	// people and have a condition that failed: nobody can judge whether they apply.
	var plain *rule
	var unclear []*rule
	for i := range t.rules {
		r := &t.rules[i]
		names := r.approvers.namesPeople()
		if r.class == raising || r.class == asking && plain != nil && !names {
			continue
		}
		if r.class > asking && (plain != nil || unclear != nil) {
			break
		}
		answer := r.applies(e)
		switch {
		case answer == undetermined:
			open = append(open, r)
			continue
		case answer == failed && r.verb != Allow:
			broken := *r
			broken.source += failedSource
			r = &broken
		case answer != yes:
			continue
		}
		switch {
		case r.class == asking && !names:
			plain = r
		case r.class == asking && answer == failed:
			unclear = append(unclear, r)
		default:
			return t.conclude(r, risk, open), changesOf(r, unclear)
		}
	}
	switch {
	case plain != nil:
		return t.conclude(plain, risk, open), changesOf(plain, unclear)
	case unclear != nil:
		return t.conclude(unclear[0], risk, open), changesOf(nil, unclear)
	}
	mode := t.modeOf(f.ToolID)
	if mode.verb(possibleRisk) != mode.verb(risk) {
		open = append(open, modeRule(mode, possibleRisk))
	}
	return t.conclude(modeRule(mode, risk), risk, open), nil
}

// changesOf returns the changes of the rule that decides, if any, and then those of the rules that
// cannot be judged. Such a rule adds its people and replaces nobody, because an actor who chooses
// the arguments can make its condition fail.
func changesOf(by *rule, unclear []*rule) []approvers {
	changes := make([]approvers, 1, 1+len(unclear))
	if by != nil {
		changes[0] = by.approvers
	}
	for _, r := range unclear {
		changes = append(changes, r.approvers)
	}
	return changes
}

// risks returns the risk of the call, and the highest risk that it can have once the arguments
// are known.
func (t *tenant) risks(e *evaluation) (certain, possible toolspec.Risk) {
	certain, possible = e.facts.Risk, e.facts.Risk
	for i := range t.rules {
		r := &t.rules[i]
		if r.class != raising {
			break // raising rules come first
		}
		switch r.applies(e) {
		case no:
		case yes, failed:
			certain = higher(certain, r.raise)
			possible = higher(possible, r.raise)
		case undetermined:
			possible = higher(possible, r.raise)
		}
	}
	return certain, possible
}

// modeRule returns the entry of the mode table for a risk.
func modeRule(mode Mode, risk toolspec.Risk) *rule {
	return &rule{
		class:   byMode,
		tool:    everyTool,
		verb:    mode.verb(risk),
		source:  "mode " + string(mode) + ", risk " + string(risk),
		message: "mode " + string(mode) + " asks for calls of risk " + string(risk),
	}
}

// conclude returns the decision of the rule r that applies. If an open rule could change the
// verdict, the decision is undetermined.
func (t *tenant) conclude(r *rule, risk toolspec.Risk, open []*rule) Decision {
	verb := t.effective(r.verb)
	otherApprovers := false
	for _, o := range open {
		otherApprovers = otherApprovers || verb == RequireApproval && o.approvers.namesPeople()
		if t.effective(o.verb) != verb {
			return Decision{
				Verb: RequireApproval, Undetermined: true, Risk: risk,
				Rule: o.source, Message: "it depends on the arguments",
			}
		}
	}
	message := r.message
	switch {
	case message != "":
	case r.verb == Deny:
		message = "a policy rule denies this call"
	case r.verb == RequireApproval:
		message = "a policy rule demands an approval"
	}
	if verb != r.verb {
		message = "it needs an approval, and approvals are off: " + message
	}
	return Decision{Verb: verb, Risk: risk, Rule: r.source, Message: message, OtherApprovers: otherApprovers}
}

// effective returns the verb, or Deny for a require_approval if the tenant's approvals are off.
func (t *tenant) effective(v Verb) Verb {
	if v == RequireApproval && !t.approval.Enabled {
		return Deny
	}
	return v
}

func higher(a, b toolspec.Risk) toolspec.Risk {
	order := []toolspec.Risk{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
