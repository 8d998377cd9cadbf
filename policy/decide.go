package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// Decide judges one call. Before hydration it is called without arguments, and the caller may act
// only on a deny. At the consent gate it is called with arguments.
//
// A call is denied if no policy is active, if the tenant has no policy, if the tool is not in
// allowedTools, if the run narrows its tools and the tool is not among them, or if a server gave the
// definition of the tool and nobody has reviewed this definition. A reviewed tool has the effect and the
// risk of its review. Otherwise the first of these that applies decides:
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
	e := p.evaluation(t, f)
	d, changes := t.decide(e)
	d.Budgets = t.budgetsOf(f.ToolID)
	d.Approval = t.approvalOf(f.ToolID, changes...)
	if f.ScriptArg != "" {
		// An approval of one script must not cover another.
		d.Approval.RememberAnyArgs = false
	}
	if d.Verb == Allow {
		d.Message = ""
	}
	if d.Verb == RequireApproval && d.Approval.RememberForMs > 0 {
		d.Asked = t.asked(e, d.Rule)
	}
	return d
}

// asked returns the digest of all rules that ask for an approval of the call. If no rule asks, it returns the
// digest of mode, such as `mode ask, risk high`. A remembered approval covers a later call only if that call has
// the same digest.
func (t *tenant) asked(e *evaluation, mode string) string {
	sum := sha256.New()
	for i := range t.rules {
		r := &t.rules[i]
		if r.Class != Asking {
			continue
		}
		if answer := r.applies(e); answer == condition.Yes || answer == condition.Failed {
			mode = ""
			sum.Write([]byte(cmp.Or(r.text, r.Source) + "\x00"))
		}
	}
	sum.Write([]byte(mode))
	return hex.EncodeToString(sum.Sum(nil))
}

// failedSource follows the name of a rule that applies because its condition failed.
const failedSource = " (its condition failed)"

// precondition returns the decision for a call that is denied before any rule, or nil.
func (t *tenant) precondition(e *evaluation) *Decision {
	f := &e.facts
	switch {
	case !f.Effect.Valid() || !f.Risk.Valid():
		return &Decision{Verb: Deny, Rule: "facts", Message: "the tool declares no valid effect and risk"}
	case !t.allows(f.ToolID):
		d := notAllowed(*f)
		return &d
	case len(f.ToolIDs) > 0 && !slices.Contains(f.ToolIDs, f.ToolID):
		return &Decision{Verb: Deny, Risk: f.Risk, Rule: "toolIds", Message: "the tool is not among the tools of this run"}
	case e.unreviewed != nil:
		return e.unreviewed
	}
	return nil
}

// decide returns the decision of a tenant's policy, and the changes that its rules make to the
// tenant's approvals.
func (t *tenant) decide(e *evaluation) (d Decision, changes []approvers) {
	if d := t.precondition(e); d != nil {
		return *d, nil
	}
	risk, possibleRisk := t.risks(e)
	m := t.matchRules(e)
	if r := m.rule(); r != nil {
		return t.conclude(r, risk, m.open), m.changes()
	}
	mode := t.modeOf(e.facts.ToolID)
	if verbOf(mode, possibleRisk) != verbOf(mode, risk) {
		m.open = append(m.open, modeRule(mode, possibleRisk))
	}
	return t.conclude(modeRule(mode, risk), risk, m.open), nil
}

// matches are the rules that matter for one call.
type matches struct {
	// final is a rule that applies and that no later rule can replace: a deny rule, an asking rule
	// that names people, or an allow rule.
	final *Rule
	// plain is the first asking rule that applies and names nobody. A later asking rule that names
	// people replaces it.
	plain *Rule
	// failed are the asking rules that name people and whose condition failed. Nobody can judge
	// whether they apply.
	failed []*Rule
	// open are the rules whose condition depends on arguments that are not known yet.
	open []*Rule
}

// matchRules evaluates the rules in the order of their classes until one is final.
func (t *tenant) matchRules(e *evaluation) (m matches) {
	for i := range t.rules {
		r := &t.rules[i]
		if r.Class == Raising || r.Class == Asking && m.plain != nil && !r.NamesPeople() {
			continue // the rule cannot change the decision
		}
		if r.Class > Asking && m.rule() != nil {
			return m // an allow rule does not replace an asking rule
		}
		switch r.applies(e) {
		case condition.No:
		case condition.Undetermined:
			m.open = append(m.open, r)
		case condition.Yes:
			m.add(r, false)
		case condition.Failed:
			if r.Verb != Allow {
				failed := *r
				failed.Source += failedSource
				m.add(&failed, true)
			}
		}
		if m.final != nil {
			return m
		}
	}
	return m
}

// add adds a rule that applies, or a rule whose condition failed.
func (m *matches) add(r *Rule, failed bool) {
	switch {
	case r.Class == Asking && !r.NamesPeople():
		m.plain = r
	case r.Class == Asking && failed:
		m.failed = append(m.failed, r)
	default:
		m.final = r
	}
}

// rule returns the rule that decides. It returns nil if the mode decides.
func (m *matches) rule() *Rule {
	switch {
	case m.final != nil:
		return m.final
	case m.plain != nil:
		return m.plain
	case m.failed != nil:
		return m.failed[0]
	}
	return nil
}

// changes returns the change of the rule that decides, and then those of the failed rules. A failed
// rule adds its people and replaces nobody, because an actor who chooses the arguments can make its
// condition fail. If a failed rule decides, the first change is therefore empty.
func (m *matches) changes() []approvers {
	changes := make([]approvers, 1, 1+len(m.failed))
	if r := cmp.Or(m.final, m.plain); r != nil {
		changes[0] = r.approvers
	}
	for _, r := range m.failed {
		changes = append(changes, r.approvers)
	}
	return changes
}

// risks returns the risk of the call with what is known now, and the highest risk that it can have once the
// arguments are known.
func (t *tenant) risks(e *evaluation) (certain, possible toolspec.Risk) {
	certain, possible = e.facts.Risk, e.facts.Risk
	for i := range t.rules {
		r := &t.rules[i]
		if r.Class != Raising {
			break // raising rules come first
		}
		switch r.applies(e) {
		case condition.No:
		case condition.Yes, condition.Failed:
			certain = higher(certain, r.Raise)
			possible = higher(possible, r.Raise)
		case condition.Undetermined:
			possible = higher(possible, r.Raise)
		}
	}
	return certain, possible
}

// verbOf returns the verdict of a mode for calls of a risk. An unknown mode or risk needs an approval.
func verbOf(m document.Mode, risk toolspec.Risk) Verb {
	switch {
	case m == document.Yolo, m == document.Auto && risk == toolspec.LowRisk:
		return Allow
	}
	return RequireApproval
}

// modeRule returns a rule with the verdict of a mode for calls of a risk, for the case that no rule of the tenant
// decides.
func modeRule(mode document.Mode, risk toolspec.Risk) *Rule {
	return &Rule{
		Class:   ByMode,
		Tool:    document.EveryTool,
		Verb:    verbOf(mode, risk),
		Source:  "mode " + string(mode) + ", risk " + string(risk),
		Message: "mode " + string(mode) + " asks for calls of risk " + string(risk),
	}
}

// conclude returns the decision of the rule r that applies. If an open rule could change the
// verdict, the decision is undetermined.
func (t *tenant) conclude(r *Rule, risk toolspec.Risk, open []*Rule) Decision {
	verb := t.effective(r.Verb)
	otherApprovers := false
	for _, o := range open {
		otherApprovers = otherApprovers || verb == RequireApproval && o.NamesPeople()
		if t.effective(o.Verb) != verb {
			return Decision{
				Verb: RequireApproval, Undetermined: true, Risk: risk,
				Rule: o.Source, Message: "it depends on the arguments",
			}
		}
	}
	message := r.Message
	switch {
	case message != "":
	case r.Verb == Deny:
		message = "a policy rule denies this call"
	case r.Verb == RequireApproval:
		message = "a policy rule demands an approval"
	}
	if verb != r.Verb {
		message = "it needs an approval, and approvals are off: " + message
	}
	return Decision{Verb: verb, Risk: risk, Rule: r.Source, Message: message, OtherApprovers: otherApprovers}
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
