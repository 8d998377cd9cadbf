package agentfile

import (
	"encoding/json"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/wire"
)

type (
	node  = yaml.Node
	field = strictyaml.Field
)

var (
	nameForm    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,63}$`)
	versionForm = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// reader reads the nodes of a document.
type reader struct {
	*strictyaml.Reader
	doc agent.Document
	// crossChecks compare keys of the document. requestChecks encode a request to each model, and run only if no other check
	// has found a fault.
	crossChecks, requestChecks []func()
}

// Read reads a document of at most strictyaml.MaxDocument bytes, in YAML or JSON, fills in the defaults, and checks
// it. The error is strictyaml.Errors: each fault has a line and the path of a key. file is the name of the document
// in errors. No fault repeats a text that has the shape of a credential.
func Read(file string, source []byte) (agent.Document, error) {
	r := &reader{Reader: strictyaml.NewReader(file), doc: agent.Document{Limits: agent.Limits{
		Rounds: agent.DefaultRounds, Calls: agent.DefaultCalls, Seconds: agent.DefaultSeconds,
		ContextBytes: agent.DefaultContextBytes, AtOnce: agent.DefaultAtOnce,
	}}}
	root := r.Load(source)
	if root != nil && r.holdsNoSecret(root) {
		r.document(root)
		for _, checks := range []*[]func(){&r.crossChecks, &r.requestChecks} {
			if len(r.Faults()) == 0 {
				for _, check := range *checks {
					check()
				}
			}
		}
	}
	var d agent.Document
	if len(r.Faults()) == 0 {
		// Read the stored form, so that the returned document has its values, such as 0.7 for 0.70.
		text, err := r.doc.Canonical()
		if err == nil {
			err = json.Unmarshal(text, &d)
		}
		if err != nil {
			r.Fail(root, "", "cannot be stored: %v", err)
		}
	}
	if faults := r.Faults(); len(faults) > 0 {
		return agent.Document{}, faults.Sorted()
	}
	return d, nil
}

func (r *reader) document(n *node) {
	d := &r.doc
	r.Mapping(n, "",
		field{Name: "name", Required: "is missing: a name for the agent", Read: r.formed(&d.Name, nameForm, "must have 1 to 64 of a-z, 0-9, _ and -, and begin with a letter")},
		field{Name: "version", Required: "is missing: a name for this version, quoted, as in \"1\"", Read: func(n *node, path string) {
			if tag := n.ShortTag(); tag == "!!int" || tag == "!!float" {
				r.Fail(n, path, "must be text: quote it, as in \"1\"")
				return
			}
			r.formed(&d.Version, versionForm, "must have 1 to 64 of letters, digits, _ . and -")(n, path)
		}},
		field{Name: "description", Read: func(n *node, path string) { d.Description = r.description(n, path) }},
		field{Name: "model", Required: "is missing: the model that answers", Read: func(n *node, path string) { d.Model = r.model(n, path) }},
		field{Name: "fallback", Read: func(n *node, path string) {
			m := r.model(n, path)
			d.Fallback = &m
		}},
		field{Name: "summary", Read: func(n *node, path string) {
			m := r.modelOf(n, path, func() agent.Document { return agent.Document{} }) // its request has no tools
			d.Summary = &m
		}},
		field{Name: "instructions", Read: func(n *node, path string) { d.Instructions = r.instructions(n, path) }},
		field{Name: "tools", Read: func(n *node, path string) { d.Tools = r.tools(n, path) }},
		field{Name: "agents", Read: func(n *node, path string) { d.Agents = r.agents(n, path) }},
		field{Name: "choice", Read: func(n *node, path string) { r.choice(n, path) }},
		field{Name: "output", Read: func(n *node, path string) { d.Output = r.output(n, path) }},
		field{Name: "limits", Read: func(n *node, path string) { r.limits(n, path) }},
		field{Name: "graph", Read: func(n *node, path string) {
			d.Graph = new(agent.Graph)
			r.Mapping(n, path,
				field{Name: "name", Required: "is missing: a graph needs a name and a version", Read: r.line(&d.Graph.Name)},
				field{Name: "version", Required: "is missing: a graph needs a name and a version", Read: r.line(&d.Graph.Version)},
			)
		}},
	)
}

func (r *reader) model(n *node, path string) agent.Model {
	return r.modelOf(n, path, func() agent.Document { return r.doc })
}

// modelOf reads a model. It also tries a request to the model, with the document that the function
// of returns.
func (r *reader) modelOf(n *node, path string, of func() agent.Document) agent.Model {
	m := agent.Model{MaxTokens: agent.DefaultMaxTokens}
	before := len(r.Faults())
	r.Mapping(n, path,
		field{Name: "format", Required: "is missing: the format that the provider speaks", Read: func(n *node, path string) {
			m.Format = strictyaml.OneOf(r.Reader, n, path, formatNames()...)
		}},
		field{Name: "name", Required: "is missing: the provider's name of the model", Read: r.line(&m.Name)},
		field{Name: "connection", Read: func(n *node, path string) {
			r.line(&m.Connection)(n, path)
			if err := toolspec.CheckConnectionID(m.Connection); m.Connection != "" && err != nil {
				r.Fail(n, path, "%v", err)
			}
		}},
		field{Name: "url", Read: func(n *node, path string) { m.URL = r.url(n, path) }},
		field{Name: "maxTokens", Read: r.number(&m.MaxTokens, agent.MaxMaxTokens)},
		field{Name: "strict", Read: func(n *node, path string) { m.Strict = r.Flag(n, path) }},
		field{Name: "members", Read: func(n *node, path string) {
			r.Entries(n, path, agent.MaxMembers, func(name string, _, value *node) {
				if member, ok := r.json(value, strictyaml.Join(path, name)); ok {
					if m.Members == nil {
						m.Members = map[string]json.RawMessage{}
					}
					m.Members[name] = member
				}
			})
		}},
	)
	if len(r.Faults()) == before && m.Connection == "" && m.URL == "" {
		r.Fail(n, strictyaml.Join(path, "url"), "is missing: without a connection, write where the API begins, such as http://localhost:11434/api")
	}
	r.requestChecks = append(r.requestChecks, func() {
		if err := tryRequest(of(), m); err != nil {
			r.Fail(n, path, "no request can be made: %v", err)
		}
	})
	return m
}

func (r *reader) tools(n *node, path string) (tools []string) {
	r.List(n, path, agent.MaxTools, func(n *node, path string) {
		id, ok := r.Text(n, path, 64)
		switch err := toolspec.CheckToolID(id); {
		case !ok:
		case err != nil:
			r.Fail(n, path, "a tool id %v", err)
		case id == agent.RunTool:
			r.Fail(n, path, "is a tool that every agent with agents has: name the agents in agents")
		case slices.Contains(tools, id):
			r.Fail(n, path, "is there twice")
		default:
			tools = append(tools, id)
		}
	})
	return tools
}

// agents reads the names of the agents that the agent may run.
func (r *reader) agents(n *node, path string) (names []string) {
	r.List(n, path, agent.MaxAgents, func(n *node, path string) {
		name, ok := r.Text(n, path, agent.MaxName)
		switch {
		case !ok:
		case !nameForm.MatchString(name):
			r.Fail(n, path, "must be the name of an agent: 1 to 64 of a-z, 0-9, _ and -, and begin with a letter")
		case slices.Contains(names, name):
			r.Fail(n, path, "is there twice")
		default:
			names = append(names, name)
		}
	})
	return names
}

// choice reads a mode, or the id of the tool that the model must call.
func (r *reader) choice(n *node, path string) {
	const want = "must be auto, none, required, or the id of a tool in tools"
	v, ok := r.Text(n, path, 64)
	if !ok {
		return
	}
	r.crossChecks = append(r.crossChecks, func() {
		switch mode := wire.Mode(v); {
		case mode == wire.Auto: // as if it were left out
		case mode == wire.None:
			r.doc.Choice.Mode = mode
		case mode == wire.Required && len(r.doc.Tools) > 0:
			r.doc.Choice.Mode = mode
		case mode == wire.Required:
			r.Fail(n, path, "is required, and tools is empty")
		case slices.Contains(r.doc.Tools, v):
			r.doc.Choice = agent.Choice{Mode: wire.Named, Tool: v}
		default:
			r.Fail(n, path, want)
		}
	})
}

func (r *reader) output(n *node, path string) json.RawMessage {
	schema, ok := r.json(n, path)
	switch {
	case !ok:
		return nil
	case n.Kind != yaml.MappingNode:
		r.Fail(n, path, "must be a JSON Schema: a mapping")
	default:
		if _, err := jsonschema.Compile(schema); err != nil {
			r.Fail(n, path, "%v", err)
		}
	}
	return schema
}

func (r *reader) limits(n *node, path string) {
	l := &r.doc.Limits
	r.Mapping(n, path,
		field{Name: "rounds", Read: r.number(&l.Rounds, agent.MaxRounds)},
		field{Name: "calls", Read: r.number(&l.Calls, agent.MaxCalls)},
		field{Name: "time", Read: r.seconds(&l.Seconds)},
		field{Name: "tokens", Read: r.number(&l.Tokens, agent.MaxTokens)},
		field{Name: "cost", Read: r.money(&l.MicroUSD)},
		field{Name: "context", Read: r.contextBytes(&l.ContextBytes)},
		field{Name: "offered", Read: r.number(&l.Offered, agent.MaxTools)},
		field{Name: "atOnce", Read: r.number(&l.AtOnce, agent.MaxAtOnce)},
	)
}
