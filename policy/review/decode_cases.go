package review

import (
	"encoding/json"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"go.yaml.in/yaml/v4"
)

// MaxCases is the maximum number of cases of a file.
const MaxCases = 10_000

// maxPath is the maximum length of the name of a policy file, in characters.
const maxPath = 4096

// ParseCases reads a file of cases, YAML or JSON, of at most strictyaml.MaxDocument bytes. The error
// is a strictyaml.Errors, as for policy.Parse.
func ParseCases(file string, doc []byte) (Cases, error) {
	r := &caseReader{strictyaml.NewReader(file)}
	var c Cases
	if root := r.Load(doc); root != nil {
		c = r.cases(root)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return Cases{}, faults.Sorted()
	}
	return c, nil
}

// caseReader reads the nodes of a file of cases.
type caseReader struct{ *strictyaml.Reader }

// field is a key that a mapping may have.
type field = strictyaml.Field

// cases reads the root of a file. A case without a tenant or an actor gets that of the file, and a case without a
// name is named by its tool and its actor.
func (r *caseReader) cases(root *yaml.Node) Cases {
	var c Cases
	var tenant, actor string
	readText := func(into *string) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into, _ = r.Text(n, path, document.MaxIdentity) }
	}
	r.Mapping(root, "",
		field{Name: "policy", Read: func(n *yaml.Node, path string) { c.Policy, _ = r.Text(n, path, maxPath) }},
		field{Name: "tenant", Read: readText(&tenant)},
		field{Name: "actor", Read: func(n *yaml.Node, path string) { actor = r.actor(n, path) }},
		field{Name: "tools", Read: func(n *yaml.Node, path string) {
			r.Entries(n, path, strictyaml.Unlimited, func(id string, at, value *yaml.Node) {
				c.Tools = append(c.Tools, r.toolFacts(id, at, value, strictyaml.Join(path, id)))
			})
		}},
		field{Name: "cases", Required: "is missing", Read: func(n *yaml.Node, path string) {
			r.List(n, path, MaxCases, func(n *yaml.Node, path string) { c.List = append(c.List, r.testCase(n, path)) })
			r.NotEmpty(n, path, "write at least one")
		}},
	)
	// A case without a tenant, an actor or a name gets the default.
	for i := range c.List {
		one := &c.List[i]
		if one.Facts.TenantID == "" {
			one.Facts.TenantID = tenant
		}
		if one.Facts.ActorID == "" {
			one.Facts.ActorID = actor
		}
		if one.Name == "" {
			one.Name = one.Facts.ToolID
			if one.Facts.ActorID != "" {
				one.Name += " by " + one.Facts.ActorID
			}
		}
	}
	return c
}

// maxCaseTags is the maximum number of tags of a tool of the cases.
const maxCaseTags = 64

// toolFacts reads the declarations of a tool.
func (r *caseReader) toolFacts(id string, at, n *yaml.Node, path string) toolspec.Spec {
	s := toolspec.Spec{Name: id, InputSchema: anyInput}
	if err := toolspec.CheckToolID(id); err != nil {
		r.Fail(at, path, "a tool id %s", err)
	}
	r.Mapping(n, path,
		field{Name: "effect", Required: "is missing", Read: func(n *yaml.Node, path string) {
			s.Effect = strictyaml.OneOf(r.Reader, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect)
		}},
		field{Name: "risk", Required: "is missing", Read: func(n *yaml.Node, path string) { s.Risk = r.risk(n, path) }},
		field{Name: "tags", Read: func(n *yaml.Node, path string) {
			r.List(n, path, maxCaseTags, func(n *yaml.Node, path string) {
				if tag, ok := r.Text(n, path, document.MaxName); ok {
					s.Tags = append(s.Tags, tag)
				}
			})
		}},
		field{Name: "digest", Read: func(n *yaml.Node, path string) {
			if digest, ok := r.Text(n, path, document.MaxName); ok {
				s.Discovered = &toolspec.Discovered{Digest: digest}
			}
		}},
		field{Name: "inputSchema", Read: func(n *yaml.Node, path string) { s.InputSchema = r.json(n, path) }},
	)
	return s
}

// testCase reads one case: the facts of its call, and the decision that its author expects.
func (r *caseReader) testCase(n *yaml.Node, path string) Case {
	c := Case{Line: n.Line}
	text := func(into *string) func(n *yaml.Node, path string) {
		return func(n *yaml.Node, path string) { *into, _ = r.Text(n, path, document.MaxMessage) }
	}
	f := &c.Facts
	r.Mapping(n, path,
		field{Name: "name", Read: text(&c.Name)},
		field{Name: "tool", Required: "is missing", Read: text(&f.ToolID)},
		field{Name: "tenant", Read: text(&f.TenantID)},
		field{Name: "actor", Read: func(n *yaml.Node, path string) { f.ActorID = r.actor(n, path) }},
		field{Name: "subject", Read: text(&f.SubjectID)},
		field{Name: "run", Read: text(&f.RunID)},
		field{Name: "connection", Read: text(&f.ConnectionID)},
		field{Name: "roles", Read: func(n *yaml.Node, path string) {
			r.List(n, path, document.MaxRoles, func(n *yaml.Node, path string) {
				name, _ := r.Text(n, path, document.MaxName)
				f.Roles = append(f.Roles, name)
			})
		}},
		field{Name: "toolIds", Read: func(n *yaml.Node, path string) {
			r.List(n, path, toolspec.MaxToolIDs, func(n *yaml.Node, path string) {
				id, _ := r.Text(n, path, document.MaxIdentity)
				f.ToolIDs = append(f.ToolIDs, id)
			})
		}},
		field{Name: "args", Read: func(n *yaml.Node, path string) {
			if f.HasArgs = n.Kind == yaml.MappingNode; !f.HasArgs {
				r.Fail(n, path, "must be a mapping; leave it out where the arguments are not known")
				return
			}
			f.Args = r.json(n, path)
		}},
		field{Name: "repaired", Read: func(n *yaml.Node, path string) { f.Repaired = r.Flag(n, path) }},
		field{Name: "noSchema", Read: func(n *yaml.Node, path string) { f.NoSchema = r.Flag(n, path) }},
		field{Name: "verdict", Required: "is missing", Read: func(n *yaml.Node, path string) {
			c.Verdict = string(strictyaml.OneOf(r.Reader, n, path, policy.Allow, policy.RequireApproval, policy.Deny, Undetermined))
		}},
		field{Name: "rule", Read: text(&c.Rule)},
		field{Name: "risk", Read: func(n *yaml.Node, path string) { c.Risk = r.risk(n, path) }},
	)
	return c
}

// actor reads the id of an actor. No call can have an actor of another form.
func (r *caseReader) actor(n *yaml.Node, path string) string {
	id, ok := r.Text(n, path, document.MaxIdentity)
	if ok && toolspec.CheckActorID(id) != nil {
		r.Fail(n, path, "must be user:NAME, agent:NAME or service:NAME")
	}
	return id
}

func (r *caseReader) risk(n *yaml.Node, path string) toolspec.Risk {
	return strictyaml.OneOf(r.Reader, n, path, toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk)
}

// json reads a value as JSON. It does not change the notation of numbers.
func (r *caseReader) json(n *yaml.Node, path string) json.RawMessage {
	raw, err := json.Marshal(r.value(n, path))
	if err != nil {
		r.Fail(n, path, "is no JSON")
		return nil
	}
	return raw
}

// value returns a YAML value as data for json.Marshal: maps, lists, texts, booleans, nil and json.Number. It
// refuses a value that JSON does not have.
func (r *caseReader) value(n *yaml.Node, path string) any {
	switch n.Kind {
	case yaml.MappingNode:
		members := map[string]any{}
		r.Entries(n, path, strictyaml.Unlimited, func(key string, _, value *yaml.Node) { members[key] = r.value(value, strictyaml.Join(path, key)) })
		return members
	case yaml.SequenceNode:
		entries := []any{}
		r.List(n, path, MaxCases, func(n *yaml.Node, path string) { entries = append(entries, r.value(n, path)) })
		return entries
	default:
	}
	if !r.Plain(n, path) {
		return nil
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		return r.Flag(n, path)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value)
		}
	}
	r.Fail(n, path, "is no JSON value; quote it if it is a text")
	return nil
}
