package review_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

// TestJudgeByThePublishedSchema: a declaration of the author takes nothing from what a worker has
// published. A case whose arguments the tool refuses is an error, though the author declares the
// tool without a schema.
func TestJudgeByThePublishedSchema(t *testing.T) {
	published := []toolspec.Spec{{
		Name: "mail__send", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk, Tags: []string{"mail"},
		InputSchema: json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","pattern":"^[^<]*$"}},"additionalProperties":false}`),
	}}
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
tenants:
  acme:
    allowedTools: [mail__*]
    mode: yolo
    rules: [{tool: mail__send, decision: allow, when: 'args.to.endsWith("@acme.example")'}]
`))
	if err != nil {
		t.Fatal(err)
	}
	const spoofed = `{tool: mail__send, args: {to: "<eve@evil.example> ann@acme.example"}, verdict: allow}`
	for name, tc := range map[string]struct{ tools, test, err string }{
		"the tool is published": {"", spoofed, "not valid for mail__send"},
		"declared without a schema": {
			"mail__send: {effect: external_side_effect, risk: high}", spoofed, "not valid for mail__send",
		},
		"declared with a schema of its own": {
			"mail__send: {effect: external_side_effect, risk: high, inputSchema: {type: object}}", spoofed, "not valid for mail__send",
		},
		"as it is published": {
			"mail__send: {effect: external_side_effect, risk: high, tags: [mail]}", `{tool: mail__send, args: {to: ann@acme.example}, verdict: allow}`, "",
		},
		"with another risk": {
			"mail__send: {effect: external_side_effect, risk: low}", `{tool: mail__send, verdict: allow}`, "published with the risk high, and not low",
		},
		"with other tags": {
			"mail__send: {effect: external_side_effect, risk: high, tags: [chat]}", `{tool: mail__send, verdict: allow}`, "published with the tags [mail], and not [chat]",
		},
		"a tool of nobody": {"", `{tool: mail__read, verdict: deny}`, "no worker has published \"mail__read\""},
		"not published":    {"mail__read: {effect: read_only, risk: low}", `{tool: mail__read, args: {any: 1}, verdict: allow}`, ""},
	} {
		cases, err := review.ParseCases("cases.yaml", []byte("tenant: acme\nactor: user:ann\ntools: {"+tc.tools+"}\ncases:\n  - "+tc.test+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, differences, err := cases.Judge(cases.List[0], p, published)
		if tc.err == "" && (err != nil || differences != nil) || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, %+v, want %q", name, err, differences, tc.err)
		}
	}
}
