package policy

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// MaxCases is the maximum number of cases of a file.
const MaxCases = 10_000

// ParseCases reads a file of cases, YAML or JSON, of at most MaxDocument bytes. The error is an
// Errors, as for Parse.
func ParseCases(file string, doc []byte) (Cases, error) {
	r := &reader{file: file}
	root := r.load(doc)
	if root == nil {
		return Cases{}, r.faults.sorted()
	}
	c := r.cases(root)
	if len(r.faults) > 0 {
		return Cases{}, r.faults.sorted()
	}
	return c, nil
}

func (r *reader) cases(root *yaml.Node) Cases {
	var c Cases
	var tenant, actor string
	defaults := func(into *string) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into, _ = r.text(n, path, maxIdentity) }
	}
	r.mapping(root, "",
		field{name: "policy", read: func(n *yaml.Node, path string) { c.Policy, _ = r.text(n, path, maxWhen) }},
		field{name: "tenant", read: defaults(&tenant)},
		field{name: "actor", read: defaults(&actor)},
		field{name: "tools", read: func(n *yaml.Node, path string) {
			r.entries(n, path, func(id string, at, value *yaml.Node) {
				c.Tools = append(c.Tools, r.toolFacts(id, at, value, join(path, id)))
			})
		}},
		field{name: "cases", required: "is missing", read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxCases, func(n *yaml.Node, path string) { c.List = append(c.List, r.testCase(n, path)) })
			r.notEmpty(n, path, "write at least one")
		}},
	)
	for i := range c.List {
		one := &c.List[i]
		if one.Facts.TenantID == "" {
			one.Facts.TenantID = tenant
		}
		if one.Facts.ActorID == "" {
			one.Facts.ActorID = actor
		}
		if one.Name == "" {
			one.Name = fmt.Sprintf("%s by %s", one.Facts.ToolID, one.Facts.ActorID)
		}
	}
	return c
}

// maxCaseTags is the maximum number of tags of a tool of the cases.
const maxCaseTags = 64

// toolFacts reads the declarations of a tool.
func (r *reader) toolFacts(id string, at, n *yaml.Node, path string) toolspec.Spec {
	s := toolspec.Spec{Name: id, InputSchema: anyInput}
	if err := toolspec.CheckToolID(id); err != nil {
		r.fail(at, path, "a tool id %s", err)
	}
	r.mapping(n, path,
		field{name: "effect", required: "is missing", read: func(n *yaml.Node, path string) {
			s.Effect = oneOf(r, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect)
		}},
		field{name: "risk", required: "is missing", read: func(n *yaml.Node, path string) { s.Risk = r.risk(n, path) }},
		field{name: "tags", read: func(n *yaml.Node, path string) {
			r.list(n, path, maxCaseTags, func(n *yaml.Node, path string) {
				if tag, ok := r.text(n, path, maxName); ok {
					s.Tags = append(s.Tags, tag)
				}
			})
		}},
		field{name: "inputSchema", read: func(n *yaml.Node, path string) { s.InputSchema = r.json(n, path) }},
	)
	return s
}

func (r *reader) testCase(n *yaml.Node, path string) Case {
	c := Case{Line: n.Line}
	text := func(into *string) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into, _ = r.text(n, path, maxMessage) }
	}
	f := &c.Facts
	r.mapping(n, path,
		field{name: "name", read: text(&c.Name)},
		field{name: "tool", required: "is missing", read: text(&f.ToolID)},
		field{name: "tenant", read: text(&f.TenantID)},
		field{name: "actor", read: text(&f.ActorID)},
		field{name: "subject", read: text(&f.SubjectID)},
		field{name: "run", read: text(&f.RunID)},
		field{name: "connection", read: text(&f.ConnectionID)},
		field{name: "roles", read: func(n *yaml.Node, path string) {
			r.list(n, path, MaxRoles, func(n *yaml.Node, path string) {
				name, _ := r.text(n, path, maxName)
				f.Roles = append(f.Roles, name)
			})
		}},
		field{name: "toolIds", read: func(n *yaml.Node, path string) {
			r.list(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				id, _ := r.text(n, path, maxIdentity)
				f.ToolIDs = append(f.ToolIDs, id)
			})
		}},
		field{name: "args", read: func(n *yaml.Node, path string) {
			if f.HasArgs = n.Kind == yaml.MappingNode; !f.HasArgs {
				r.fail(n, path, "must be a mapping; leave it out where the arguments are not known")
				return
			}
			f.Args = r.json(n, path)
		}},
		field{name: "repaired", read: func(n *yaml.Node, path string) { f.Repaired = r.flag(n, path) }},
		field{name: "noSchema", read: func(n *yaml.Node, path string) { f.NoSchema = r.flag(n, path) }},
		field{name: "verdict", required: "is missing", read: func(n *yaml.Node, path string) {
			c.Verdict = string(oneOf(r, n, path, Allow, RequireApproval, Deny, Undetermined))
		}},
		field{name: "rule", read: text(&c.Rule)},
		field{name: "risk", read: func(n *yaml.Node, path string) { c.Risk = r.risk(n, path) }},
	)
	return c
}

// json reads a value as JSON. It does not change the notation of numbers.
func (r *reader) json(n *yaml.Node, path string) json.RawMessage {
	raw, err := json.Marshal(r.value(n, path))
	if err != nil {
		r.fail(n, path, "is no JSON")
		return nil
	}
	return raw
}

func (r *reader) value(n *yaml.Node, path string) any {
	switch n.Kind {
	case yaml.MappingNode:
		members := map[string]any{}
		r.entries(n, path, func(key string, _, value *yaml.Node) { members[key] = r.value(value, join(path, key)) })
		return members
	case yaml.SequenceNode:
		entries := []any{}
		r.list(n, path, MaxCases, func(n *yaml.Node, path string) { entries = append(entries, r.value(n, path)) })
		return entries
	default:
	}
	if !r.plain(n, path) {
		return nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return r.flag(n, path)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	r.fail(n, path, "is no JSON value; quote it if it is a text")
	return nil
}
