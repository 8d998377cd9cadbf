package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// protocolVersions are the revisions that a session may start with, newest first.
var protocolVersions = sdk.SupportedProtocolVersions()

// Bounds of a file of servers.
const (
	maxText      = 4096
	maxArgs      = 200
	maxVariables = 100
)

// ReadServers reads a file of servers in YAML, or in its subset JSON: a mapping mcpServers from ids to
// servers, as other clients have it. The servers are in the order of the file. The file name is only used in
// errors, which have the position of each fault and no value of a variable. An error of one of the checks is
// a fault of the server.
func ReadServers(file string, doc []byte, checks ...func(Server) error) ([]Server, error) {
	r := &reader{Reader: strictyaml.NewReader(file), checks: checks}
	if root := r.Load(doc); root != nil {
		r.document(root)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return nil, faults.Sorted()
	}
	return r.servers, nil
}

type reader struct {
	*strictyaml.Reader
	servers []Server
	checks  []func(Server) error
}

type field = strictyaml.Field

func (r *reader) document(root *yaml.Node) {
	r.Mapping(root, "", field{Name: "mcpServers", Required: "is missing: write the servers below mcpServers", Read: func(n *yaml.Node, path string) {
		r.Entries(n, path, MaxServers, func(id string, at, value *yaml.Node) {
			here := strictyaml.Join(path, id)
			if err := toolspec.CheckServerID(id); err != nil {
				r.Fail(at, here, "the id of a server %s", err)
				return
			}
			r.server(id, value, here)
		})
	}})
}

// server reads a server. Its keys are those of other clients, and timeouts, inherit and protocolVersion.
func (r *reader) server(id string, n *yaml.Node, path string) {
	before := len(r.Faults())
	s := Server{ID: id}
	r.Mapping(n, path,
		field{Name: "type", Read: r.transport(&s.Transport)},
		field{Name: "transport", Read: r.transport(&s.Transport)},
		field{Name: "command", Read: r.text(&s.Command)},
		field{Name: "args", Read: func(n *yaml.Node, path string) {
			r.List(n, path, maxArgs, func(n *yaml.Node, path string) {
				// An empty argument is an argument.
				if arg, ok := r.Scalar(n, path, "!!str", "text; quote what looks like something else"); ok {
					s.Args = append(s.Args, arg)
				}
			})
		}},
		field{Name: "env", Read: func(n *yaml.Node, path string) {
			s.Env = map[string]string{}
			r.Entries(n, path, maxVariables, func(name string, _, value *yaml.Node) {
				if text, ok := r.Scalar(value, strictyaml.Join(path, name), "!!str", "text; quote what looks like something else"); ok {
					s.Env[name] = text
				}
			})
		}},
		field{Name: "inherit", Read: r.texts(&s.Inherit)},
		field{Name: "cwd", Read: r.text(&s.Dir)},
		field{Name: "url", Read: r.text(&s.URL)},
		field{Name: "headers", Read: func(n *yaml.Node, path string) {
			r.Fail(n, path, "is not accepted: a file of servers has no credentials for HTTP servers; use connection or tokenFrom")
		}},
		field{Name: "connection", Read: func(n *yaml.Node, path string) {
			s.Connection = strictyaml.OneOf(r.Reader, n, path, "required", "none") == "required"
		}},
		field{Name: "scopes", Read: r.texts(&s.Scopes)},
		field{Name: "tokenFrom", Read: r.text(&s.TokenFrom)},
		field{Name: "protocolVersion", Read: func(n *yaml.Node, path string) {
			s.ProtocolVersion = strictyaml.OneOf(r.Reader, n, path, protocolVersions...)
		}},
		field{Name: "startTimeout", Read: r.duration(&s.StartTimeout)},
		field{Name: "callTimeout", Read: r.duration(&s.CallTimeout)},
	)
	if len(r.Faults()) > before {
		return
	}
	if s.Transport == "" {
		s.Transport = Stdio
		if s.URL != "" && s.Command == "" {
			s.Transport = Streamable
		}
	}
	for _, check := range append([]func(Server) error{Server.Check}, r.checks...) {
		if err := check(s); err != nil {
			r.Fail(n, path, "%s", err)
			return
		}
	}
	r.servers = append(r.servers, s)
}

func (r *reader) transport(to *Transport) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) {
		if *to != "" {
			r.Fail(n, path, "type and transport mean the same: leave one out")
			return
		}
		switch name := strictyaml.OneOf(r.Reader, n, path, "stdio", "streamable", "streamable-http", "http", "sse"); name {
		case "http", "streamable-http": // names of other clients
			*to = Streamable
		default:
			*to = Transport(name)
		}
	}
}

func (r *reader) text(to *string) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) { *to, _ = r.Text(n, path, maxText) }
}

func (r *reader) texts(to *[]string) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) {
		r.List(n, path, maxVariables, func(n *yaml.Node, path string) {
			if text, ok := r.Text(n, path, maxText); ok {
				*to = append(*to, text)
			}
		})
	}
}

func (r *reader) duration(to *time.Duration) func(n *yaml.Node, path string) {
	return func(n *yaml.Node, path string) {
		text, ok := r.Text(n, path, maxText)
		if !ok {
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			r.Fail(n, path, "must be a duration such as 30s or 2m")
			return
		}
		*to = d
	}
}
