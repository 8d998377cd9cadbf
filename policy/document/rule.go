package document

import (
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Verb is a verdict of policy. Any value that is not one of the three verdicts means deny.
type Verb string

// The verdicts.
const (
	Allow           Verb = "allow"
	Deny            Verb = "deny"
	RequireApproval Verb = "require_approval"
)

// Command is a pattern of shell commands: all words of a command, or its first words and *.
type Command string

// Rule decides the calls of some tools, or raises their risk.
type Rule struct {
	Tool    Pattern         `json:"tool" jsonschema:"required"`
	Roles   RoleNames       `json:"roles,omitempty" jsonschema_description:"Narrows the rule to actors who have one of these roles."`
	Effects Effects         `json:"effects,omitempty" jsonschema:"minItems=1" jsonschema_description:"Narrows the rule to tools that declare one of these."`
	Risks   []toolspec.Risk `json:"risks,omitempty" jsonschema:"minItems=1,maxItems=3" jsonschema_description:"Narrows the rule to tools that declare one of these."`
	// Commands are patterns of commands, for a rule with allow.
	Commands []Command `json:"commands,omitempty" jsonschema:"minItems=1,maxItems=256" jsonschema_description:"Narrows a rule with allow to scripts of a shell in which one of these covers each command. Without it, no allow rule applies to a tool that runs scripts."`
	// When is the text of a condition. Decode does not compile it.
	When     string        `json:"when,omitempty" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"A condition in CEL over args, tool.id, tool.effect, tool.risk, tool.tags, actor, subject, tenant, run, connection and roles."`
	Decision Verb          `json:"decision,omitempty" jsonschema:"anyof_required=decision,enum=deny,enum=require_approval,enum=allow"`
	Risk     toolspec.Risk `json:"risk,omitempty" jsonschema:"anyof_required=risk" jsonschema_description:"The least risk that calls of the rule have; alone or with require_approval."`
	Message  Message       `json:"message,omitempty"`
	// Approvals is for a rule with require_approval.
	Approvals RuleApprovals `json:"approvals,omitzero" jsonschema_description:"Who approves the calls of the rule, with require_approval. Of the rules that ask for a call, the first that names who approves decides."`
	// At is the position of the rule in the file, and WhenAt is the position of the text of its
	// condition.
	At     strictyaml.Position `json:"-"`
	WhenAt strictyaml.Position `json:"-"`
}
