package document

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// MCPReview is what a person says about a tool that an MCP server offers. Without it, policy denies every
// call of the tool.
type MCPReview struct {
	// Digest is toolspec.Discovered.Digest of the definition that was reviewed.
	Digest     string          `json:"digest" jsonschema:"required,pattern=^[0-9a-f]{64}$" jsonschema_description:"The digest of the definition that was reviewed, from pawl mcp review. Another definition is denied."`
	Effect     toolspec.Effect `json:"effect" jsonschema:"required"`
	Risk       toolspec.Risk   `json:"risk" jsonschema:"required"`
	Idempotent bool            `json:"idempotent,omitempty" jsonschema_description:"A repeated call has no further effect, so that an attempt that was lost may be made again."`
	// Allow is toolspec.Redaction.Allow of the tool.
	Allow         []string `json:"allow" jsonschema:"required,minItems=1,maxItems=256" jsonschema_description:"The parts of the output that leave the tool, as JSON pointers in which * stands for every element: /text. Everything else is stripped."`
	HarmlessNames []string `json:"harmlessNames,omitempty" jsonschema:"minItems=1,maxItems=64" jsonschema_description:"Names of arguments that look like names of credentials, and carry none."`
}

// ReviewDigest identifies the review: it is the hexadecimal SHA-256 of its canonical form.
func (m MCPReview) ReviewDigest() string {
	sum := sha256.Sum256(Canonical(m))
	return hex.EncodeToString(sum[:])
}

// MCPServer maps the tools of an MCP server, by their own names at the server, to their reviews.
type MCPServer map[string]MCPReview

// mcp reads the reviews of the tools of MCP servers.
func (r *reader) mcp(n *yaml.Node, path string) map[string]MCPServer {
	servers := map[string]MCPServer{}
	r.Entries(n, path, MaxMCPServers, func(id string, at, value *yaml.Node) {
		here := strictyaml.Join(path, id)
		if err := toolspec.CheckServerID(id); err != nil {
			r.Fail(at, here, "the id of an MCP server %s", err)
			return
		}
		r.mentions = append(r.mentions, Mention{Pattern: Pattern("mcp__" + id + "__*"), At: r.Position(at, ""), Path: here, MCPServer: id})
		servers[id] = r.mcpServer(id, value, here)
	})
	if len(servers) == 0 {
		return nil // as if the key was left out
	}
	return servers
}

// mcpServer reads the reviews of the tools of the MCP server id. It refuses two tool names that have the same tool
// id.
func (r *reader) mcpServer(id string, n *yaml.Node, path string) MCPServer {
	tools := MCPServer{}
	known := map[string]string{} // ids of tools, to their own names
	r.Entries(n, path, MaxMCPTools, func(name string, at, value *yaml.Node) {
		here := strictyaml.Join(path, name)
		toolID := toolspec.MCPToolID(id, name)
		switch err := toolspec.CheckVisible("the name of a tool", name, toolspec.MaxOwnName); {
		case err != nil:
			r.Fail(at, here, "%s", err)
		case known[toolID] != "":
			r.Fail(at, here, "has the same tool id as %s", toolspec.Quoted(known[toolID]))
		default:
			known[toolID] = name
			tools[name] = r.mcpReview(value, here)
		}
	})
	return tools
}

// mcpReview reads the review of one tool.
func (r *reader) mcpReview(n *yaml.Node, path string) MCPReview {
	m := MCPReview{Allow: []string{}}
	r.Mapping(n, path,
		field{Name: "digest", Required: "is missing; pawl mcp review shows it", Read: func(n *yaml.Node, path string) {
			if v, ok := r.Scalar(n, path, "!!str", "text; quote what looks like something else"); ok {
				if len(v) != 2*sha256.Size || strings.Trim(v, "0123456789abcdef") != "" {
					r.Fail(n, path, "must be the %d hexadecimal digits that pawl mcp review shows", 2*sha256.Size)
				}
				m.Digest = v
			}
		}},
		field{Name: "effect", Required: "is missing; write read_only, state_change or external_side_effect", Read: func(n *yaml.Node, path string) {
			m.Effect = strictyaml.OneOf(r.Reader, n, path, toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect)
		}},
		field{Name: "risk", Required: "is missing; write low, medium or high", Read: func(n *yaml.Node, path string) { m.Risk = r.risk(n, path) }},
		field{Name: "idempotent", Read: func(n *yaml.Node, path string) { m.Idempotent = r.Flag(n, path) }},
		field{Name: "allow", Required: "is missing; list what of the output may leave, such as /text", Read: func(n *yaml.Node, path string) {
			r.List(n, path, maxMCPPaths, func(n *yaml.Node, path string) {
				m.Allow = append(m.Allow, r.unique(n, path, m.Allow, r.pointer(n, path)))
			})
			r.NotEmpty(n, path, "list what of the output may leave, such as /text")
		}},
		field{Name: "harmlessNames", Read: func(n *yaml.Node, path string) {
			r.List(n, path, maxMCPHarmless, func(n *yaml.Node, path string) {
				name, ok := r.Text(n, path, toolspec.MaxOwnName)
				if ok && !toolspec.SecretName(name) {
					r.Fail(n, path, "does not look like the name of a credential; leave it out")
				}
				m.HarmlessNames = append(m.HarmlessNames, r.unique(n, path, m.HarmlessNames, name))
			})
			r.NotEmpty(n, path, "leave it out if no argument is harmless")
		}},
	)
	return m
}

// unique returns v, and adds a fault if v is in the list already.
func (r *reader) unique(n *yaml.Node, path string, list []string, v string) string {
	if slices.Contains(list, v) {
		r.Fail(n, path, "is there twice")
	}
	return v
}
