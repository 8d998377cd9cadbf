package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
)

// compile makes the policy of a document that was read without faults.
func compile(d document) *Policy {
	p := &Policy{tenants: make(map[string]*tenant, len(d.Tenants)), source: canonical(d)}
	for id, doc := range d.Tenants {
		p.tenants[id] = compileTenant(id, doc)
	}
	sum := sha256.Sum256(p.source)
	p.digest = hex.EncodeToString(sum[:])
	return p
}

func compileTenant(id string, doc tenantDoc) *tenant {
	t := &tenant{
		allowed: doc.AllowedTools, mode: doc.Mode, budgets: doc.Budgets,
		approval: compileApproval(doc.Approvals), basis: cmp.Or(doc.Basis, authz.ByPolicy), repair: doc.Repair,
	}
	for i, r := range doc.Rules {
		t.rules = append(t.rules, compileRule(r, fmt.Sprintf("%s.rules[%d]", join("tenants", id), i))...)
	}
	if len(doc.AskFor) > 0 {
		t.rules = append(t.rules, rule{
			class: asking, verb: RequireApproval, tool: everyTool, effects: doc.AskFor,
			source: "requireApprovalForEffects", message: "calls with this effect need an approval",
		})
	}
	// In every mode, repaired arguments need an approval, and unchecked arguments need an
	// approval or are denied.
	unchecked := rule{
		class: denying, verb: Deny, tool: everyTool, cond: when(func(f Facts) bool { return f.NoSchema }),
		source: "noSchemaMode", message: "there is no schema to check the arguments against, and policy allows no such tool",
		otherwise: "the arguments are checked against a schema",
	}
	if doc.NoSchema == toolspec.NoSchemaAsk {
		unchecked.class, unchecked.verb = asking, RequireApproval
		unchecked.source, unchecked.message = "call without schema", "there is no schema to check the arguments against"
	}
	t.rules = append(t.rules,
		rule{
			class: asking, verb: RequireApproval, tool: everyTool, cond: when(func(f Facts) bool { return f.Repaired }),
			source: "repaired call", message: "the arguments had to be repaired",
			otherwise: "the arguments were readable",
		},
		unchecked)
	for i, l := range doc.Limits {
		t.limits = append(t.limits, compileLimit(l, fmt.Sprintf("%s.limits[%d]", join("tenants", id), i)))
	}
	for _, c := range doc.Cache {
		t.cache = append(t.cache, compileCache(c))
	}
	for _, name := range sortedKeys(doc.Roles) {
		t.roles = append(t.roles, role{name: name, of: doc.Roles[name]})
	}
	for _, flag := range sortedKeys(doc.Features) {
		t.features = append(t.features, compileFeature(flag, doc.Features[flag], join("tenants", id)))
	}
	for _, o := range doc.Overrides {
		t.overrides = append(t.overrides, override{tool: o.Tool, mode: o.Mode, budgets: o.Budgets, approvers: compileApprovers(o.Approvals)})
	}
	slices.SortStableFunc(t.rules, func(a, b rule) int { return cmp.Compare(a.class, b.class) })
	return t
}

// compileRule returns one rule for the decision of doc, and one for the risk that it raises.
func compileRule(doc ruleDoc, source string) []rule {
	base := rule{tool: doc.Tool, effects: doc.Effects, risks: doc.Risks, roles: doc.Roles, message: doc.Message, source: source, at: doc.at}
	base.approvers = compileApprovers(doc.Approvals)
	if doc.when != nil {
		base.cond = doc.when
	}
	var lines []rule
	if doc.Risk != "" {
		raise := base
		raise.class, raise.raise = raising, doc.Risk
		lines = append(lines, raise)
	}
	classes := map[Verb]class{Deny: denying, RequireApproval: asking, Allow: allowing}
	if doc.Decision != "" {
		base.class, base.verb = classes[doc.Decision], doc.Decision
		lines = append(lines, base)
	}
	return lines
}

func compileApproval(doc approvalsDoc) ApprovalRule {
	who := compileApprovers(doc.approversDoc)
	parked, _ := duration(doc.ParkUnknown)
	remembered, _ := duration(doc.Remember.For)
	reminded, _ := duration(doc.RemindAfter)
	return ApprovalRule{
		Enabled: doc.Enabled, ExpiresAfterMs: who.expiresAfterMs, ParkUnknownMs: parked.Milliseconds(),
		AllowSelfApproval: doc.AllowSelfApproval, AllowUnsigned: doc.AllowUnsigned, Approvers: who.approvers, Quorum: who.quorum,
		Chain: who.chain, RememberForMs: remembered.Milliseconds(),
		RememberAnyArgs: doc.Remember.AnyArgs, RememberAnyActor: doc.Remember.AnyActor,
		RemindAfterMs: reminded.Milliseconds(), Escalate: compileEscalations(doc.Escalate),
	}
}

func compileApprovers(doc approversDoc) approvers {
	life, _ := duration(doc.ExpiresAfter) // 0 if the rule sets no time
	return approvers{expiresAfterMs: life.Milliseconds(), approvers: doc.Approvers, quorum: int(doc.Quorum), chain: compileChain(doc.Chain)}
}

func compileEscalations(docs []escalationDoc) (steps []Escalation) {
	for _, d := range docs {
		after, _ := duration(d.After)
		steps = append(steps, Escalation{AfterMs: after.Milliseconds(), Approvers: d.Approvers})
	}
	return steps
}

func compileChain(docs []seatDoc) (seats []Seat) {
	for _, d := range docs {
		seats = append(seats, Seat{Name: d.Name, Approvers: d.Approvers, Quorum: int(d.Quorum)})
	}
	return seats
}
