package policy

import (
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// document reads the root.
func (r *reader) document(root *yaml.Node) document {
	d := document{Tenants: map[string]tenantDoc{}}
	r.mapping(root, "",
		field{name: "version", required: "is missing; write version: 1", read: func(n *yaml.Node, path string) {
			if v, ok := r.scalar(n, path, "!!int", "1"); ok && v != "1" {
				r.fail(n, path, "must be 1; this version of Pawl reads no other")
			}
			d.Version = docVersion
		}},
		field{name: "tenants", required: "is missing; without a tenant nothing is allowed", read: func(n *yaml.Node, path string) {
			r.entries(n, path, func(id string, at, value *yaml.Node) {
				here := join(path, id)
				if r.tenantID(id, at, here) {
					d.Tenants[id] = r.tenant(value, here)
				}
			})
			if n.Kind == yaml.MappingNode && len(n.Content) == 0 {
				r.fail(n, path, "names no tenant")
			}
		}},
	)
	return d
}

func (r *reader) tenantID(id string, at *yaml.Node, path string) bool {
	if id == everyTenant {
		return true
	}
	// toolspec has the rule for tenant ids, but it only checks whole identities.
	err := toolspec.Identity{TenantID: id, RunID: "r", ToolCallID: "c"}.Check()
	if err != nil {
		r.fail(at, path, "a tenant id %s", strings.TrimPrefix(err.Error(), "context.tenantId "))
		return false
	}
	return true
}

func (r *reader) tenant(n *yaml.Node, path string) tenantDoc {
	t := tenantDoc{
		AllowedTools: []Pattern{},
		Mode:         Ask,
		Approvals:    defaultApprovals(),
	}
	r.named, r.quorums = nil, nil
	r.mapping(n, path,
		field{name: "allowedTools", required: "is missing; write [] to allow nothing", read: func(n *yaml.Node, path string) {
			r.list(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				t.AllowedTools = append(t.AllowedTools, r.toolPattern(n, path))
			})
		}},
		field{name: "mode", read: func(n *yaml.Node, path string) { t.Mode = oneOf(r, n, path, Yolo, Auto, Ask) }},
		field{name: "requireApprovalForEffects", read: func(n *yaml.Node, path string) { t.AskFor = r.effects(n, path) }},
		field{name: "rules", read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxRules, func(n *yaml.Node, path string) { t.Rules = append(t.Rules, r.rule(n, path)) })
		}},
		field{name: "budgets", read: func(n *yaml.Node, path string) { t.Budgets = r.budgets(n, path) }},
		field{name: "approvals", read: func(n *yaml.Node, path string) { r.approvals(n, path, &t.Approvals) }},
		field{name: "cache", read: func(n *yaml.Node, path string) { t.Cache = r.cache(n, path) }},
		field{name: "limits", read: func(n *yaml.Node, path string) { t.Limits = r.limits(n, path) }},
		field{name: "roles", read: func(n *yaml.Node, path string) { t.Roles = r.roles(n, path) }},
		field{name: "features", read: func(n *yaml.Node, path string) { t.Features = r.features(n, path) }},
		field{name: "overrides", read: func(n *yaml.Node, path string) { t.Overrides = r.overrides(n, path) }},
		field{name: "repair", read: func(n *yaml.Node, path string) {
			r.list(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				t.Repair = append(t.Repair, r.toolPattern(n, path))
			})
		}},
		field{name: "noSchemaMode", read: func(n *yaml.Node, path string) {
			if mode := oneOf(r, n, path, toolspec.NoSchemaDeny, toolspec.NoSchemaAsk); mode != toolspec.NoSchemaDeny {
				t.NoSchema = mode
			}
		}},
		field{name: "permissions", read: func(n *yaml.Node, path string) { t.Basis = r.permissions(n, path) }},
	)
	r.checkRoles(t.Roles)
	r.checkQuorums(t)
	return t
}

func (r *reader) budgets(n *yaml.Node, path string) Budgets {
	var b Budgets
	number := func(into *int64, limit int64) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into = r.number(n, path, limit) }
	}
	r.mapping(n, path,
		field{name: "maxRuntimeMs", read: number(&b.MaxRuntimeMs, toolspec.MaxTimeout.Milliseconds())},
		field{name: "maxResultBytes", read: number(&b.MaxResultBytes, toolspec.MaxResult)},
		field{name: "deadlineMs", read: number(&b.DeadlineMs, maxDeadline.Milliseconds())},
		field{name: "maxAttempts", read: number(&b.MaxAttempts, maxAttempts)},
		field{name: "retryDelayMs", read: number(&b.RetryDelayMs, maxRetryDelay.Milliseconds())},
		field{name: "retryDelayMaxMs", read: number(&b.RetryDelayMaxMs, maxRetryDelay.Milliseconds())},
	)
	return b
}

func (r *reader) effects(n *yaml.Node, path string) []toolspec.Effect {
	var effects []toolspec.Effect
	r.list(n, path, 3, func(n *yaml.Node, path string) {
		effects = append(effects, oneOf(r, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect))
	})
	return effects
}

// toolPattern reads the id of a tool, or a prefix of ids and `*`.
func (r *reader) toolPattern(n *yaml.Node, path string) Pattern {
	v, ok := r.text(n, path, 64+1) // an id and the *
	if !ok {
		return ""
	}
	prefix, glob := strings.CutSuffix(v, "*")
	switch err := toolspec.CheckToolID(v); {
	case strings.Contains(prefix, "*"):
		r.fail(n, path, "* may stand only at the end")
	case !glob && err != nil:
		r.fail(n, path, "a tool id %s", err)
	// A prefix is valid if an id can begin with it.
	case glob && strings.Trim(prefix, idCharacters) != "":
		r.fail(n, path, "a tool id may hold only letters, digits, '_' and '-'")
	default:
		r.mentions = append(r.mentions, mention{Pattern(v), r.origin(n, ""), path})
		return Pattern(v)
	}
	return ""
}

const idCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
