package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// notOffered is the state of a review of a tool that no live worker has.
const notOffered policy.ReviewState = "not offered"

// found is a discovered tool of a live worker, or a tool that only a review in the active policy names.
type found struct {
	ToolID string `json:"toolId"`
	// Server is the id of the MCP server.
	Server string `json:"server"`
	// Name is the name of the tool at its server, without the prefix that the tool id has.
	Name  string             `json:"name"`
	State policy.ReviewState `json:"state"`
	// Digest is the digest of the definition that a live worker has. It is empty if no live worker has
	// the tool.
	Digest string `json:"digest,omitempty"`
	// LooksLike are tools of other sources whose names are easily confused with the name of this tool.
	LooksLike []string `json:"looksLike,omitempty"`
	// Review is the review in the active policy; nil if there is none.
	Review *policy.MCPReview `json:"review,omitempty"`

	spec toolspec.Spec
}

// says returns the state in words.
func (f found) says() string {
	switch f.State {
	case policy.Reviewed:
		return "trusted"
	case policy.Pending:
		return "trusted, not in force yet"
	case policy.Changed:
		return "changed since its review"
	default:
		return string(f.State)
	}
}

// findTools returns the discovered tools of live workers, and the tools that no live worker has and the active policy
// reviews, ordered by id. p is the active policy.
func findTools(ctx context.Context, s *app.Session) (tools []found, p *policy.Policy, err error) {
	specs, err := s.Store.LiveSpecs(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p, err = s.Store.CurrentPolicy(ctx); err != nil {
		return nil, nil, err
	}
	return foundIn(specs, p), p, nil
}

// foundIn returns the discovered tools among specs with their reviews in p, and the tools that p reviews and specs does
// not have.
func foundIn(specs []toolspec.Spec, p *policy.Policy) []found {
	alike := catalog.Lookalikes(specs)
	var tools []found
	seen := map[string]bool{}
	for _, spec := range specs {
		if spec.Discovered == nil {
			continue
		}
		f := found{
			ToolID: spec.Name, Server: spec.ProvidedBy, Name: ownName(spec), State: p.ReviewOf(spec.Name, spec.Discovered),
			Digest: spec.Discovered.Digest, LooksLike: alike[spec.Name], spec: spec,
		}
		if review, ok := p.Review(f.Server, f.Name); ok {
			f.Review = &review
		}
		seen[spec.Name] = true
		tools = append(tools, f)
	}
	for server, reviews := range p.Document().MCP {
		for name, review := range reviews {
			if id := toolspec.MCPToolID(server, name); !seen[id] {
				tools = append(tools, found{ToolID: id, Server: server, Name: name, State: notOffered, Review: &review})
			}
		}
	}
	slices.SortFunc(tools, func(a, b found) int { return strings.Compare(a.ToolID, b.ToolID) })
	return tools
}

// ownName returns the tool's name at its server.
func ownName(spec toolspec.Spec) string {
	if spec.Discovered.Name != "" {
		return spec.Discovered.Name
	}
	return toolspec.BareName(spec.Name)
}

// findOffered returns the tool of a live worker with this id. If there is none, it returns the only tool with this bare name, which is the part of
// the id after its source.
func findOffered(tools []found, name string) (found, error) {
	var specs []toolspec.Spec
	for _, f := range tools {
		if f.State != notOffered {
			specs = append(specs, f.spec)
		}
	}
	e, ok := catalog.New(specs, func(toolspec.Spec) catalog.Visibility { return catalog.Visible }).Resolve(name)
	if !ok {
		return found{}, fmt.Errorf("no live worker has a tool %q of an MCP server; `pawl mcp list` shows the tools", name)
	}
	i := slices.IndexFunc(tools, func(f found) bool { return f.ToolID == e.Spec.Name })
	return tools[i], nil
}
