package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/script"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// compiler makes the policy of a document, and collects the faults of its conditions.
type compiler struct{ faults strictyaml.Errors }

// compile makes the policy of a document. A document that Decode has found faulty is compiled too, to find the
// faults of its conditions; its policy must not be used.
func (c *compiler) compile(d document.Document) *Policy {
	p := &Policy{tenants: make(map[string]*tenant, len(d.Tenants)), reviews: compileReviews(d.MCP), source: document.Canonical(d), doc: d}
	for id, doc := range d.Tenants {
		p.tenants[id] = c.tenant(id, doc)
	}
	sum := sha256.Sum256(p.source)
	p.digest = hex.EncodeToString(sum[:])
	return p
}

// tenant compiles the entry of a tenant. Its rules are those of the document and those that Pawl adds, sorted by
// class.
func (c *compiler) tenant(id string, doc document.Tenant) *tenant {
	t := &tenant{
		allowed: doc.AllowedTools, mode: doc.Mode, budgets: Budgets(doc.Budgets),
		approval: compileApproval(doc.Approvals), basis: cmp.Or(doc.Basis, authz.ByPolicy), repair: doc.Repair,
	}
	for i, r := range doc.Rules {
		t.rules = append(t.rules, c.rules(r, fmt.Sprintf("%s.rules[%d]", strictyaml.Join("tenants", id), i))...)
	}
	if len(doc.AskFor) > 0 {
		t.rules = append(t.rules, Rule{
			Class: Asking, Verb: RequireApproval, Tool: document.EveryTool, Effects: doc.AskFor,
			Source: "requireApprovalForEffects", Message: "calls with this effect need an approval",
		})
	}
	// In every mode, arguments that were repaired need an approval. Arguments that no schema checks need an
	// approval or are denied.
	unchecked := Rule{
		Class: Denying, Verb: Deny, Tool: document.EveryTool, cond: when(func(f Facts) bool { return f.NoSchema }),
		Source: "noSchemaMode", Message: "there is no schema to check the arguments against, and policy allows no such tool",
		Otherwise: "the arguments are checked against a schema",
	}
	if doc.NoSchema == toolspec.NoSchemaAsk {
		unchecked.Class, unchecked.Verb = Asking, RequireApproval
		unchecked.Source, unchecked.Message = "call without schema", "there is no schema to check the arguments against"
	}
	t.rules = append(t.rules,
		Rule{
			Class: Asking, Verb: RequireApproval, Tool: document.EveryTool, cond: when(func(f Facts) bool { return f.Repaired }),
			Source: "repaired call", Message: "the arguments had to be repaired",
			Otherwise: "the arguments were readable",
		},
		unchecked)
	for i, l := range doc.Limits {
		t.limits = append(t.limits, compileLimit(l, fmt.Sprintf("%s.limits[%d]", strictyaml.Join("tenants", id), i)))
	}
	for _, kept := range doc.Cache {
		t.cache = append(t.cache, compileCache(kept))
	}
	for _, m := range doc.Masks {
		t.masks = append(t.masks, compileMask(m))
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Roles)) {
		t.roles = append(t.roles, role{name: name, of: doc.Roles[name]})
	}
	for _, flag := range slices.Sorted(maps.Keys(doc.Features)) {
		t.features = append(t.features, compileFeature(flag, doc.Features[flag], strictyaml.Join("tenants", id)))
	}
	for _, o := range doc.Overrides {
		t.overrides = append(t.overrides, override{tool: o.Tool, mode: o.Mode, budgets: Budgets(o.Budgets), approvers: compileApprovers(o.Approvals)})
	}
	slices.SortStableFunc(t.rules, func(a, b Rule) int { return cmp.Compare(a.Class, b.Class) })
	return t
}

// rules compiles the rule doc: to one rule for the decision of doc, and to another for the risk that it raises.
// doc can have one of them or both.
func (c *compiler) rules(doc document.Rule, source string) []Rule {
	base := Rule{Tool: doc.Tool, Effects: doc.Effects, Risks: doc.Risks, Roles: doc.Roles, Message: string(doc.Message), Source: source, At: doc.At}
	base.approvers = compileApprovers(doc.Approvals)
	base.text = string(document.Canonical(doc))
	if doc.When != "" {
		base.cond = c.condition(doc, source)
	}
	for _, text := range doc.Commands {
		p, _ := script.ParsePattern(string(text)) // a faulty pattern is a fault of the document, and matches nothing
		base.Commands = append(base.Commands, p)
	}
	var compiled []Rule
	if doc.Risk != "" {
		raise := base
		raise.Class, raise.Raise = Raising, doc.Risk
		compiled = append(compiled, raise)
	}
	classes := map[Verb]Class{Deny: Denying, RequireApproval: Asking, Allow: Allowing}
	if doc.Decision != "" {
		base.Class, base.Verb = classes[doc.Decision], doc.Decision
		compiled = append(compiled, base)
	}
	return compiled
}

// condition compiles the condition of a rule. Its faults have the right position in the file, also
// within a text of several lines.
func (c *compiler) condition(doc document.Rule, source string) written {
	compiled, faults := condition.Compile(doc.When)
	for _, f := range faults {
		c.faults = append(c.faults, ConditionFault(doc.WhenAt, f, source))
	}
	return written{compiled, doc.WhenAt}
}

func compileApproval(doc document.Approvals) ApprovalRule {
	who := compileApprovers(doc.RuleApprovals)
	return ApprovalRule{
		Enabled: doc.Enabled, ExpiresAfterMs: who.expiresAfterMs, ParkUnknownMs: doc.ParkUnknown.Value().Milliseconds(),
		AllowSelfApproval: doc.AllowSelfApproval, AllowUnsigned: doc.AllowUnsigned, Approvers: who.approvers, Quorum: who.quorum,
		Chain: who.chain, RememberForMs: doc.Remember.For.Value().Milliseconds(),
		RememberAnyArgs: doc.Remember.AnyArgs, RememberAnyActor: doc.Remember.AnyActor,
		RemindAfterMs: doc.RemindAfter.Value().Milliseconds(), Escalate: compileEscalations(doc.Escalate),
	}
}

func compileApprovers(doc document.RuleApprovals) approvers {
	return approvers{expiresAfterMs: doc.ExpiresAfter.Value().Milliseconds(), approvers: doc.Approvers, quorum: int(doc.Quorum), chain: compileChain(doc.Chain)}
}

func compileEscalations(docs []document.Escalation) (steps []Escalation) {
	for _, d := range docs {
		steps = append(steps, Escalation{AfterMs: d.After.Value().Milliseconds(), Approvers: d.Approvers})
	}
	return steps
}

func compileChain(docs []document.ChainEntry) (entries []ChainEntry) {
	for _, d := range docs {
		entries = append(entries, ChainEntry{Name: d.Name, Approvers: d.Approvers, Quorum: int(d.Quorum)})
	}
	return entries
}
