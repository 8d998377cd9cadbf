package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/terminaltest"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// The digests of the definitions of the tools of github: now, and when close_issue was reviewed.
var (
	mcpDigest    = strings.Repeat("a", 64)
	closedDigest = strings.Repeat("b", 64)
)

// mcpRules is the policy's part about the tools of an MCP server.
var mcpRules = "mcp:\n  github:\n    close_issue: {digest: " + closedDigest + ", effect: state_change, risk: low, allow: [/text]}\n" +
	"    gone: {digest: " + closedDigest + ", effect: read_only, risk: low, allow: [/text]}\n"

// mcpTools are tools as a worker has them from an MCP server. The definition of create_issue follows the review that mcp.txtar writes.
func mcpTools() []toolspec.Tool {
	define := func(name, description string, review policy.MCPReview) toolspec.Tool {
		return toolspec.DefineSchema(toolspec.Definition{
			ID: toolspec.MCPToolID("github", name), Description: description, Effect: review.Effect, Risk: review.Risk, Redaction: toolspec.Redaction{Allow: review.Allow},
			ProvidedBy: "github", Discovered: &toolspec.Discovered{Digest: mcpDigest, Review: review.ReviewDigest(), Name: name, Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
		}, json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`), json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`),
			func(_ context.Context, args json.RawMessage, _ toolspec.Call) (json.RawMessage, error) {
				return args, nil
			})
	}
	review := policy.MCPReview{Digest: mcpDigest, Effect: toolspec.ExternalSideEffect, Risk: toolspec.LowRisk, Allow: []string{"/text"}}
	return []toolspec.Tool{
		define("create_issue", "Creates an issue.", review),
		define("close_issue", "Closes an issue."+terminaltest.Odd+"\nstate       trusted", review),
		define("readFile", "Reads a file.", review),
	}
}

// publishReviewed publishes the definition of close_issue that was reviewed, for a worker that has ended.
func (r *rig) publishReviewed() {
	r.t.Helper()
	err := r.store.PublishSpecs(r.t.Context(), catalog.Worker{ID: "gone", Namespace: "elsewhere"}, []toolspec.Spec{{
		Name: "mcp__github__close_issue", Description: "Closes an issue.", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`),
		Digest: "old", ProvidedBy: "github", Discovered: &toolspec.Discovered{Digest: closedDigest, Name: "close_issue"},
	}})
	if err != nil {
		r.t.Fatal(err)
	}
}
