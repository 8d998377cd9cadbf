package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// MCPEntry returns the YAML of a review of a tool of an MCP server, as a policy file has it.
func MCPEntry(server, tool string, r policy.MCPReview) string {
	var b strings.Builder
	fmt.Fprintf(&b, "mcp:\n  %s:\n    %s:\n", quoted(server), quoted(tool))
	fmt.Fprintf(&b, "      digest: %s\n      effect: %s\n      risk: %s\n", quoted(r.Digest), r.Effect, r.Risk)
	if r.Idempotent {
		b.WriteString("      idempotent: true\n")
	}
	fmt.Fprintf(&b, "      allow: %s\n", quoted(r.Allow))
	if len(r.HarmlessNames) > 0 {
		fmt.Fprintf(&b, "      harmlessNames: %s\n", quoted(r.HarmlessNames))
	}
	return b.String()
}

// quoted returns a text or a list of texts in the notation that JSON and YAML share.
func quoted(v any) string {
	text, err := strictjson.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("review: a text cannot be written as JSON: %v", err))
	}
	return string(text)
}

// DiffDefinitions compares two published versions of a discovered tool: the parts of the definition
// that come from its server.
func DiffDefinitions(from, to toolspec.Spec) []Change {
	return differences("", definition(from), definition(to))
}

// definition returns the parts of a tool that come from its server, as plain data.
func definition(s toolspec.Spec) any {
	d := map[string]any{
		"title": s.Title, "description": s.Description, "inputSchema": plainJSON(s.InputSchema), "outputSchema": plainJSON(s.OutputSchema),
	}
	if s.Discovered != nil {
		d["name"], d["annotations"] = s.Discovered.Name, plainJSON(s.Discovered.Annotations)
	}
	return d
}

func plainJSON(raw json.RawMessage) any {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}
