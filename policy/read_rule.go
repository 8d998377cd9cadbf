package policy

import (
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// rule reads one rule. The rule has matchers (tool, effects, risks, roles, when) and results
// (decision, risk, message, approvals). All matchers must match. tool is required; each other
// matcher matches everything by default.
func (r *reader) rule(n *yaml.Node, path string) ruleDoc {
	var rule ruleDoc
	before := len(r.faults)
	var riskAt, approvalsAt *yaml.Node
	r.mapping(n, path,
		field{name: "tool", required: `is missing; write "*" for every tool`, read: func(n *yaml.Node, path string) {
			rule.Tool = r.toolPattern(n, path)
		}},
		field{name: "effects", read: func(n *yaml.Node, path string) {
			rule.Effects = r.effects(n, path)
			r.notEmpty(n, path, "leave it out for every effect")
		}},
		field{name: "risks", read: func(n *yaml.Node, path string) {
			r.list(n, path, 3, func(n *yaml.Node, path string) { rule.Risks = append(rule.Risks, r.risk(n, path)) })
			r.notEmpty(n, path, "leave it out for every risk")
		}},
		field{name: "decision", read: func(n *yaml.Node, path string) {
			rule.Decision = oneOf(r, n, path, Deny, RequireApproval, Allow)
		}},
		field{name: "risk", read: func(n *yaml.Node, path string) {
			riskAt = n
			rule.Risk = r.risk(n, path)
		}},
		field{name: "message", read: func(n *yaml.Node, path string) { rule.Message = r.message(n, path) }},
		field{name: "approvals", read: func(n *yaml.Node, path string) {
			approvalsAt = n
			rule.Approvals = r.approversOf(n, path)
		}},
		field{name: "when", read: func(n *yaml.Node, path string) { rule.When, rule.when = r.when(n, path) }},
		field{name: "roles", read: func(n *yaml.Node, path string) { rule.Roles = r.roleNames(n, path) }},
	)
	rule.at = r.origin(n, "")
	switch {
	case len(r.faults) > before: // one fault at a time
	case rule.Decision == "" && rule.Risk == "":
		r.fail(n, path, "does nothing; it needs a decision, a risk or both")
	case riskAt != nil && (rule.Decision == Allow || rule.Decision == Deny):
		r.fail(riskAt, path+".risk", "raises the risk and goes with require_approval or alone; to match the declared risk, write risks: [%s]", rule.Risk)
	case approvalsAt != nil && rule.Decision != RequireApproval:
		r.fail(approvalsAt, path+".approvals", "goes with the decision require_approval")
	case rule.Decision == "" && rule.Message != "":
		r.fail(n, path+".message", "goes with a decision")
	}
	return rule
}

func (r *reader) risk(n *yaml.Node, path string) toolspec.Risk {
	return oneOf(r, n, path, toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk)
}

// message reads a text for callers and approvers.
func (r *reader) message(n *yaml.Node, path string) string {
	v, _ := r.text(n, path, maxMessage)
	if toolspec.SecretValue(v) {
		r.fail(n, path, "holds something of the shape of a credential, and everybody reads it")
		return ""
	}
	return v
}

func (r *reader) notEmpty(n *yaml.Node, path, instead string) {
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		r.fail(n, path, "is empty; %s", instead)
	}
}
