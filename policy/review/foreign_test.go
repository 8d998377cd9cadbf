package review

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// TestConditionsOnDocuments: conditions are checked against a schema that no Go type
// made as against others: what it says is known, the rest is open.
func TestConditionsOnDocuments(t *testing.T) {
	const input = `{
	  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "additionalProperties": false,
	  "properties": {
	    "repo": {"type": "string"}, "n": {"$ref": "#/$defs/n"}, "labels": {"type": "array", "items": {"enum": ["bug", "idea"]}},
	    "assignee": {"anyOf": [{"type": "string"}, {"type": "null"}]},
	    "dates": {"type": "object", "properties": {"due": {"type": "string"}}, "additionalProperties": {"type": "string"}},
	    "size": {"allOf": [{"type": "object", "properties": {"w": {"type": "integer"}}}, {"type": "object", "properties": {"h": {"type": "integer"}}}]},
	    "more": {}
	  },
	  "$defs": {"n": {"type": "integer"}}
	}`
	tool := toolspec.Spec{Name: "mcp__github__create_issue", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}
	for when, want := range map[string]string{
		`args.repo == "a/b"`: "", `args.n > 3`: "", `args.assignee == "ann"`: "", `"bug" in args.labels`: "",
		`args.dates.due == "x" && args.dates.start == "x"`: "", `args.size.w > args.size.h`: "", `args.more.x + 1 > 2`: "",
		`args.size.w == "x"`: "cannot be applied to (int, string)", `args.size.h == "x"`: "cannot be applied to (int, string)", `args.size.d == 1`: "has no argument d",
		`args.repo == 1`: "cannot be applied to (string, int)", `args.typo == 1`: "has no argument typo",
	} {
		rules := fmt.Sprintf("version: 1\ntenants:\n  acme:\n    allowedTools: [\"mcp__*\"]\n    mode: auto\n    rules:\n      - {tool: %s, when: '%s', decision: deny}\n", tool.Name, when)
		p, err := policy.Parse("policy.yaml", []byte(rules))
		if err != nil {
			t.Fatal(err)
		}
		tool.InputSchema = json.RawMessage(input)
		err = Check(p, []toolspec.Spec{tool})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", when, err, want)
		}
		// Where there is no schema, nothing is known.
		tool.InputSchema = json.RawMessage(`{"type":"object"}`)
		if err := Check(p, []toolspec.Spec{tool}); err != nil {
			t.Errorf("%s without a schema: %v", when, err)
		}
	}
}
