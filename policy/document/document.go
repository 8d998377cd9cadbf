package document

import (
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Version is the version of the documents that this package reads.
const Version = 1

// EveryTenant is the key of the entry for tenants without an entry of their own.
const EveryTenant = "*"

// Document is a written policy with every default filled in.
type Document struct {
	Version int `json:"version" jsonschema:"required"`
	// Tenants maps the id of a tenant, or EveryTenant, to its entry.
	Tenants map[string]Tenant `json:"tenants" jsonschema:"required" jsonschema_description:"The tenants by their ids. * is for all that are not named, each by itself."`
	// MCP maps the ids of MCP servers to the reviews of their tools. It is empty if no tool is reviewed,
	// so that documents from before this key keep their digest.
	MCP map[string]MCPServer `json:"mcp,omitempty" jsonschema_description:"The MCP servers by their ids, and for each of them the tools that a person has reviewed, by their own names at the server. A tool that is not here is denied for every tenant."`
	// Mentions are the patterns of tools, in the order of the file.
	Mentions []Mention `json:"-"`
	// Named are the sets of approvers, in the order in which the reader checks them.
	Named []NamedApprovers `json:"-"`
}

// Tenant is the entry of one tenant.
type Tenant struct {
	AllowedTools []Pattern `json:"allowedTools" jsonschema:"required,maxItems=1024" jsonschema_description:"The tools that the tenant may use. [] allows nothing."`
	Mode         Mode      `json:"mode"`
	AskFor       Effects   `json:"requireApprovalForEffects,omitempty" jsonschema_description:"Ask for every call with one of these effects, whatever the mode."`
	Rules        []Rule    `json:"rules,omitempty" jsonschema:"maxItems=1024"`
	Budgets      Budgets   `json:"budgets,omitzero"`
	Approvals    Approvals `json:"approvals"`
	Cache        []Cache   `json:"cache,omitempty" jsonschema:"maxItems=256" jsonschema_description:"For how long values of reads are kept. The first entry for a tool decides."`
	Masks        []Mask    `json:"mask,omitempty" jsonschema:"maxItems=64" jsonschema_description:"What outputs of tools are masked before anything of them leaves the attempt."`
	Limits       []Limit   `json:"limits,omitempty" jsonschema:"maxItems=64" jsonschema_description:"How often calls run, and how many at once."`
	// Roles maps the name of a role to patterns of identities.
	Roles     map[string]Members `json:"roles,omitempty" jsonschema_description:"Names for identities: each role has patterns of these."`
	Features  map[string]Feature `json:"features,omitempty" jsonschema_description:"Flags on which tools depend. A call runs where all of its flags are on."`
	Overrides []Override         `json:"overrides,omitempty" jsonschema:"maxItems=256" jsonschema_description:"What is different for some tools. The first entry for a tool that says something decides it."`
	Repair    []Pattern          `json:"repair,omitempty" jsonschema:"maxItems=1024" jsonschema_description:"Tools whose arguments may be mended, once, where they cannot be used as they were sent. What was mended needs an approval. None where it is left out."`
	// NoSchema is empty for deny.
	NoSchema toolspec.NoSchemaMode `json:"noSchemaMode,omitempty" jsonschema:"enum=deny,enum=ask" jsonschema_description:"What becomes of calls of tools whose arguments no schema describes. deny where it is left out."`
	// Basis is empty for policy, so that documents from before this key keep their digest.
	Basis authz.Basis `json:"permissions,omitempty" jsonschema:"enum=policy,enum=relations" jsonschema_description:"Where it is said who may do what this policy does not deny: here, for every actor of the tenant, or by relations. policy where it is left out."`
}

// Members are the patterns of the identities that have a role.
type Members []Pattern

// Effects are effects that tools declare.
type Effects []toolspec.Effect

// Feature is a flag with the tools that depend on it.
type Feature struct {
	Tools   []Pattern `json:"tools" jsonschema:"required,minItems=1,maxItems=1024" jsonschema_description:"The tools that depend on the flag."`
	Enabled bool      `json:"enabled" jsonschema:"required"`
	Roles   RoleNames `json:"roles,omitempty" jsonschema_description:"With enabled: true, the flag is on for actors who have one of these roles, and off for others."`
	Message Message   `json:"message,omitempty"`
}

// RoleNames are names of roles of the tenant.
type RoleNames []string

// Message is a text for callers and approvers: one line.
type Message string

// Override holds the settings that differ for some tools.
type Override struct {
	Tool      Pattern       `json:"tool" jsonschema:"required"`
	Mode      Mode          `json:"mode,omitempty" jsonschema:"anyof_required=mode"`
	Budgets   Budgets       `json:"budgets,omitzero" jsonschema:"anyof_required=budgets"`
	Approvals RuleApprovals `json:"approvals,omitzero" jsonschema:"anyof_required=approvals" jsonschema_description:"Who approves calls of the tool, if no rule that asks says so."`
}

// Cache says how long values of a tool may be cached.
type Cache struct {
	Tool Pattern `json:"tool" jsonschema:"required"`
	// For is a duration, or Never.
	For CacheTime `json:"for" jsonschema:"required"`
}

// NamedApprovers are the approvers in one place of a document: in the approvals of a tenant, an override or a
// rule, in an entry of a chain, or in a step of an escalation.
type NamedApprovers struct {
	TenantID  string
	Approvers Approvers
	// Quorum is the number of people who have to approve; 0 means 1.
	Quorum int64
	At     strictyaml.Position
	// Path is the path of the mapping that has the approvers.
	Path string
}

// Mention is a pattern of tools in a document.
type Mention struct {
	Pattern Pattern
	At      strictyaml.Position
	Path    string
	// MCPServer is the id of an MCP server if the mention is a key of mcp: its pattern then matches all tools of
	// the server. It is empty for a pattern that the document has as text.
	MCPServer string
}
