package document

import (
	"github.com/pawl-run/pawl/policy/script"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// rule reads one rule. The rule has matchers (tool, effects, risks, roles, commands, when) and results
// (decision, risk, message, approvals). All matchers must match. tool is required; each other
// matcher matches everything by default.
func (r *reader) rule(n *yaml.Node, path string) Rule {
	var rule Rule
	before, quorums := len(r.Faults()), len(r.quorums)
	var riskAt, approvalsAt, commandsAt *yaml.Node
	r.Mapping(n, path,
		field{Name: "tool", Required: `is missing; write "*" for every tool`, Read: func(n *yaml.Node, path string) {
			rule.Tool = r.toolPattern(n, path)
		}},
		field{Name: "effects", Read: func(n *yaml.Node, path string) {
			rule.Effects = r.effects(n, path)
			r.NotEmpty(n, path, "leave it out for every effect")
		}},
		field{Name: "risks", Read: func(n *yaml.Node, path string) {
			r.List(n, path, 3, func(n *yaml.Node, path string) { rule.Risks = append(rule.Risks, r.risk(n, path)) })
			r.NotEmpty(n, path, "leave it out for every risk")
		}},
		field{Name: "decision", Read: func(n *yaml.Node, path string) {
			rule.Decision = strictyaml.OneOf(r.Reader, n, path, Deny, RequireApproval, Allow)
		}},
		field{Name: "risk", Read: func(n *yaml.Node, path string) {
			riskAt = n
			rule.Risk = r.risk(n, path)
		}},
		field{Name: "message", Read: func(n *yaml.Node, path string) { rule.Message = r.message(n, path) }},
		field{Name: "approvals", Read: func(n *yaml.Node, path string) {
			approvalsAt = n
			rule.Approvals = r.approversOf(n, path)
		}},
		field{Name: "commands", Read: func(n *yaml.Node, path string) {
			commandsAt = n
			r.List(n, path, MaxCommands, func(n *yaml.Node, path string) { rule.Commands = append(rule.Commands, r.command(n, path)) })
			r.NotEmpty(n, path, "leave it out for rules of tools that run no scripts")
		}},
		field{Name: "when", Read: func(n *yaml.Node, path string) { rule.When, rule.WhenAt = r.condition(n, path) }},
		field{Name: "roles", Read: func(n *yaml.Node, path string) { rule.Roles = r.roleNames(n, path) }},
	)
	rule.At = r.Position(n, "")
	for i := range r.quorums[quorums:] {
		r.quorums[quorums+i].tool = rule.Tool
	}
	switch {
	case len(r.Faults()) > before: // one fault at a time
	case rule.Decision == "" && rule.Risk == "":
		r.Fail(n, path, "does nothing; it needs a decision, a risk or both")
	case riskAt != nil && (rule.Decision == Allow || rule.Decision == Deny):
		r.Fail(riskAt, path+".risk", "raises the risk and goes with require_approval or alone; to match the declared risk, write risks: [%s]", rule.Risk)
	case approvalsAt != nil && rule.Decision != RequireApproval:
		r.Fail(approvalsAt, path+".approvals", "goes with the decision require_approval")
	case commandsAt != nil && rule.Decision != Allow:
		r.Fail(commandsAt, path+".commands", "goes with the decision allow")
	case rule.Decision == "" && rule.Message != "":
		r.Fail(n, path+".message", "goes with a decision")
	}
	return rule
}

func (r *reader) risk(n *yaml.Node, path string) toolspec.Risk {
	return strictyaml.OneOf(r.Reader, n, path, toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk)
}

// command reads a pattern of commands.
func (r *reader) command(n *yaml.Node, path string) Command {
	v, ok := r.Text(n, path, MaxCommand)
	if !ok {
		return ""
	}
	if _, err := script.ParsePattern(v); err != nil {
		r.Fail(n, path, "%s", err.Error())
	}
	return Command(v)
}

// message reads a text for callers and approvers.
func (r *reader) message(n *yaml.Node, path string) Message {
	v, _ := r.Text(n, path, MaxMessage)
	if toolspec.SecretValue(v) {
		r.Fail(n, path, "holds something of the shape of a credential, and everybody reads it")
		return ""
	}
	return Message(v)
}
