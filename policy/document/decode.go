package document

import (
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// Decode reads a policy document of at most MaxDocument bytes, in YAML or its subset JSON. The file name is only
// used in faults. The faults are in no order. If there are faults, the document can lack parts.
func Decode(file string, doc []byte) (Document, strictyaml.Errors) {
	return decode(&reader{Reader: strictyaml.NewReader(file)}, doc)
}

// DecodeRecorded is Decode for a document that this or an earlier version of Decode has accepted.
// Its identities may have forms that Decode refuses now.
func DecodeRecorded(file string, doc []byte) (Document, strictyaml.Errors) {
	return decode(&reader{Reader: strictyaml.NewReader(file), recorded: true}, doc)
}

func decode(r *reader, doc []byte) (d Document, faults strictyaml.Errors) {
	if root := r.Load(doc); root != nil {
		d = r.document(root)
	}
	d.Mentions, d.Named = r.mentions, r.approving
	return d, r.Faults()
}

// reader reads the nodes of a document into its structs.
type reader struct {
	*strictyaml.Reader
	// named are the roles that the entry of the current tenant mentions.
	named []namedRole
	// quorums are the approvals of the tenant's rules and overrides that name only a quorum.
	quorums []bareQuorum
	// mentions are the patterns of tools so far.
	mentions []Mention
	// tenantID is the tenant whose entry is read.
	tenantID string
	// approving has each list of approvers that was read so far.
	approving []NamedApprovers
	// recorded says that an earlier Decode has accepted the document.
	recorded bool
}

// field is a key that a mapping may have.
type field = strictyaml.Field

// document reads the root.
func (r *reader) document(root *yaml.Node) Document {
	d := Document{Tenants: map[string]Tenant{}}
	r.Mapping(root, "",
		field{Name: "version", Required: "is missing; write version: 1", Read: func(n *yaml.Node, path string) {
			if v, ok := r.Scalar(n, path, "!!int", "1"); ok && v != "1" {
				r.Fail(n, path, "must be 1; this version of Pawl reads no other")
			}
			d.Version = Version
		}},
		field{Name: "tenants", Required: "is missing; without a tenant nothing is allowed", Read: func(n *yaml.Node, path string) {
			r.Entries(n, path, strictyaml.Unlimited, func(id string, at, value *yaml.Node) {
				here := strictyaml.Join(path, id)
				if r.checkTenantID(id, at, here) {
					r.tenantID = id
					d.Tenants[id] = r.tenant(value, here)
				}
			})
			if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
				r.Fail(n, path, "names no tenant")
			}
		}},
		field{Name: "mcp", Read: func(n *yaml.Node, path string) { d.MCP = r.mcp(n, path) }},
	)
	return d
}

// checkTenantID reports whether id is EveryTenant or a valid id of a tenant, and adds a fault if it is neither.
func (r *reader) checkTenantID(id string, at *yaml.Node, path string) bool {
	if id == EveryTenant {
		return true
	}
	// toolspec has the rule for tenant ids, but it only checks whole identities.
	err := toolspec.Identity{TenantID: id, RunID: "r", ToolCallID: "c"}.Check()
	if err != nil {
		r.Fail(at, path, "a tenant id %s", strings.TrimPrefix(err.Error(), "context.tenantId "))
		return false
	}
	return true
}

// tenant reads the entry of one tenant. A key that the entry leaves out gets its default: the mode is Ask, the approvals are
// DefaultApprovals, and every other key is empty.
func (r *reader) tenant(n *yaml.Node, path string) Tenant {
	t := Tenant{
		AllowedTools: []Pattern{},
		Mode:         Ask,
		Approvals:    DefaultApprovals(),
	}
	r.named, r.quorums = nil, nil
	r.Mapping(n, path,
		field{Name: "allowedTools", Required: "is missing; write [] to allow nothing", Read: func(n *yaml.Node, path string) {
			r.List(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				t.AllowedTools = append(t.AllowedTools, r.toolPattern(n, path))
			})
		}},
		field{Name: "mode", Read: func(n *yaml.Node, path string) { t.Mode = strictyaml.OneOf(r.Reader, n, path, Yolo, Auto, Ask) }},
		field{Name: "requireApprovalForEffects", Read: func(n *yaml.Node, path string) { t.AskFor = r.effects(n, path) }},
		field{Name: "rules", Read: func(n *yaml.Node, path string) {
			r.List(n, path, MaxRules, func(n *yaml.Node, path string) { t.Rules = append(t.Rules, r.rule(n, path)) })
		}},
		field{Name: "budgets", Read: func(n *yaml.Node, path string) { t.Budgets = r.budgets(n, path) }},
		field{Name: "approvals", Read: func(n *yaml.Node, path string) { r.approvals(n, path, &t.Approvals) }},
		field{Name: "cache", Read: func(n *yaml.Node, path string) { t.Cache = r.cache(n, path) }},
		field{Name: "mask", Read: func(n *yaml.Node, path string) { t.Masks = r.masks(n, path) }},
		field{Name: "limits", Read: func(n *yaml.Node, path string) { t.Limits = r.limits(n, path) }},
		field{Name: "roles", Read: func(n *yaml.Node, path string) { t.Roles = r.roles(n, path) }},
		field{Name: "features", Read: func(n *yaml.Node, path string) { t.Features = r.features(n, path) }},
		field{Name: "overrides", Read: func(n *yaml.Node, path string) { t.Overrides = r.overrides(n, path) }},
		field{Name: "repair", Read: func(n *yaml.Node, path string) {
			r.List(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				t.Repair = append(t.Repair, r.toolPattern(n, path))
			})
		}},
		field{Name: "noSchemaMode", Read: func(n *yaml.Node, path string) {
			if mode := strictyaml.OneOf(r.Reader, n, path, toolspec.NoSchemaDeny, toolspec.NoSchemaAsk); mode != toolspec.NoSchemaDeny {
				t.NoSchema = mode
			}
		}},
		field{Name: "permissions", Read: func(n *yaml.Node, path string) { t.Basis = r.permissions(n, path) }},
	)
	r.checkRoles(t.Roles)
	r.checkQuorums(t)
	return t
}

func (r *reader) budgets(n *yaml.Node, path string) Budgets {
	var b Budgets
	number := func(into *int64, limit int64) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into = r.Number(n, path, limit) }
	}
	r.Mapping(n, path,
		field{Name: "maxRuntimeMs", Read: number(&b.MaxRuntimeMs, toolspec.MaxTimeout.Milliseconds())},
		field{Name: "maxResultBytes", Read: number(&b.MaxResultBytes, toolspec.MaxResult)},
		field{Name: "deadlineMs", Read: number(&b.DeadlineMs, maxDeadline.Milliseconds())},
		field{Name: "maxAttempts", Read: number(&b.MaxAttempts, maxAttempts)},
		field{Name: "retryDelayMs", Read: number(&b.RetryDelayMs, maxRetryDelay.Milliseconds())},
		field{Name: "retryDelayMaxMs", Read: number(&b.RetryDelayMaxMs, maxRetryDelay.Milliseconds())},
	)
	return b
}

func (r *reader) effects(n *yaml.Node, path string) []toolspec.Effect {
	var effects []toolspec.Effect
	r.List(n, path, 3, func(n *yaml.Node, path string) {
		effects = append(effects, strictyaml.OneOf(r.Reader, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect))
	})
	return effects
}

// permissions reads the source of the permissions. `policy` is the default, so writing it out
// gives the same document.
func (r *reader) permissions(n *yaml.Node, path string) authz.Basis {
	if basis := strictyaml.OneOf(r.Reader, n, path, authz.ByPolicy, authz.ByRelations); basis != authz.ByPolicy {
		return basis
	}
	return ""
}

// toolPattern reads the id of a tool, or a prefix of ids and `*`.
func (r *reader) toolPattern(n *yaml.Node, path string) Pattern {
	v, ok := r.Text(n, path, MaxToolPattern)
	if !ok {
		return ""
	}
	if err := Pattern(v).CheckTool(); err != nil {
		r.Fail(n, path, "%s", err)
		return ""
	}
	r.mentions = append(r.mentions, Mention{Pattern: Pattern(v), At: r.Position(n, ""), Path: path})
	return Pattern(v)
}
