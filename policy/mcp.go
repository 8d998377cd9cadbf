package policy

import (
	"errors"
	"fmt"
	"maps"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// MCPReview is what a person says about a tool that an MCP server offers.
type MCPReview = document.MCPReview

// ruleMCP is Decision.Rule of a decision that denies a tool without a valid review.
const ruleMCP = "mcp"

// Review returns the review of a tool of an MCP server, by the tool's own name at the server. The caller
// must not change its lists.
func (p *Policy) Review(server, tool string) (MCPReview, bool) {
	if p == nil {
		return MCPReview{}, false
	}
	review, ok := p.doc.MCP[server][tool]
	return review, ok
}

// Reviews returns the reviews of the tools of an MCP server, by their own names at the server. The
// caller must not change the lists in them.
func (p *Policy) Reviews(server string) document.MCPServer {
	if p == nil {
		return nil
	}
	return maps.Clone(p.doc.MCP[server])
}

// WithReview returns a version of the policy with a review of a tool of an MCP server, in the place of the
// review that it may have. The error says what of the review is wrong, and where.
func (p *Policy) WithReview(server, tool string, r MCPReview) (*Policy, error) {
	doc := p.Document()
	if doc.MCP = maps.Clone(doc.MCP); doc.MCP == nil {
		doc.MCP = map[string]document.MCPServer{}
	}
	tools := maps.Clone(doc.MCP[server])
	if tools == nil {
		tools = document.MCPServer{}
	}
	tools[tool], doc.MCP[server] = r, tools
	with, err := ParseRecorded("policy", document.Canonical(doc))
	var faults strictyaml.Errors
	if errors.As(err, &faults) { // no file has this document, so the position says nothing
		return nil, fmt.Errorf("%s: %s", faults[0].Path, faults[0].Reason)
	}
	return with, err
}

// ReviewState says what a policy says about a tool.
type ReviewState string

// The states of tools.
const (
	// NeedsNoReview is a tool that no server has given: a person wrote its definition.
	NeedsNoReview ReviewState = ""
	// Unreviewed is a discovered tool without a review.
	Unreviewed ReviewState = "unreviewed"
	// Changed is a discovered tool whose definition is not the one that was reviewed.
	Changed ReviewState = "changed"
	// Pending is a discovered tool with a review that its definition does not follow yet: the source of
	// the tool has not read this version of the policy, or has read another one.
	Pending ReviewState = "pending"
	// Reviewed is a discovered tool whose definition has the effect, the risk and the redaction of its
	// review.
	Reviewed ReviewState = "reviewed"
)

// ReviewOf returns the state of a tool. discovered is the field Discovered of the tool's spec.
func (p *Policy) ReviewOf(toolID string, discovered *toolspec.Discovered) ReviewState {
	if discovered == nil {
		return NeedsNoReview
	}
	review, ok := p.reviewOf(toolID)
	switch {
	case !ok:
		return Unreviewed
	case review.Digest != discovered.Digest:
		return Changed
	case review.reviewDigest != discovered.Review:
		return Pending
	}
	return Reviewed
}

// compiledReview is a review with its digest, which each decision about its tool needs.
type compiledReview struct {
	MCPReview
	reviewDigest string
}

// reviewOf returns the review of a tool by its id.
func (p *Policy) reviewOf(toolID string) (compiledReview, bool) {
	if p == nil {
		return compiledReview{}, false
	}
	review, ok := p.reviews[toolID]
	return review, ok
}

// DenyUnreviewed returns the decision on a call of a discovered tool that nobody has reviewed, or whose
// definition has changed since the review. ok is false for every other call. If ok is true, no rule, mode
// or engine decides on the call.
//
// It also returns the decision on a call of a tool that is registered for another tenant.
func (p *Policy) DenyUnreviewed(f Facts) (d Decision, ok bool) {
	if toolspec.ForeignTool(f.TenantID, f.ToolID) {
		return notAllowed(f), true
	}
	d = Decision{Verb: Deny, Risk: f.Risk, Rule: ruleMCP}
	switch p.ReviewOf(f.ToolID, f.Discovered) {
	case Unreviewed:
		d.Message = fmt.Sprintf("nobody has reviewed this tool; pawl mcp review %s shows its definition", toolspec.Quoted(f.ToolID))
		return d, true
	case Changed:
		d.Message = fmt.Sprintf("the definition of this tool has changed since its review; pawl mcp review %s shows it", toolspec.Quoted(f.ToolID))
		return d, true
	case NeedsNoReview, Pending, Reviewed:
	}
	return Decision{}, false
}

// UnderReview returns f with the effect and the risk of the tool's review, if the tool is Reviewed or Pending. The
// risk of a Reviewed tool stays if it is higher than that of the review: annotations of the MCP server have then
// raised it.
func (p *Policy) UnderReview(f Facts) Facts {
	state := p.ReviewOf(f.ToolID, f.Discovered)
	if state != Pending && state != Reviewed {
		return f
	}
	review, _ := p.reviewOf(f.ToolID)
	risk := review.Risk
	if state == Reviewed {
		risk = higher(f.Risk, risk)
	}
	f.Effect, f.Risk = review.Effect, risk
	return f
}

// compileReviews returns the reviews of a document by the ids of their tools.
func compileReviews(servers map[string]document.MCPServer) map[string]compiledReview {
	reviews := map[string]compiledReview{}
	for server, tools := range servers {
		for tool, review := range tools {
			reviews[toolspec.MCPToolID(server, tool)] = compiledReview{review, review.ReviewDigest()}
		}
	}
	return reviews
}
