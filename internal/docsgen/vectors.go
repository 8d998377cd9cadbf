package docsgen

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
)

var identities = []toolspec.Identity{
	{TenantID: "acme", RunID: "run-7", ToolCallID: "call_1"},
	{TenantID: "acme", RunID: "run-7", ToolCallID: "functions.f:0"},
	{TenantID: "acme", RunID: "run-7", ToolCallID: "größe prüfen"},
	{TenantID: "acme", RunID: "run-7", ToolCallID: strings.Repeat("a", 120)},
	{TenantID: "acme", RunID: "run-7", ToolCallID: strings.Repeat("a", 121)},
	{TenantID: "a.b-c_D", RunID: "2026-11-20.1", ToolCallID: "0"},
}

// inputs are invocations as they are sent.
var inputs = []string{
	`{"toolId":"core__write_file","toolCallId":"call_1","args":{"path":"notes.md","content":"hello\n"},` +
		`"context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner"}}`,
	`{"toolId":"core__write_file","toolCallId":"call_1","args":"{\"content\": \"hello\\n\", \"path\": \"notes.md\"}",` +
		`"context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner","requestId":"r-1","sessionId":"s-1"},"provider":{"name":"x"}}`,
	`{"toolId":"core__ls","toolCallId":"c","context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner"}}`,
	`{"toolId":"core__ls","toolCallId":"c","args":null,"context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner"}}`,
	`{"toolId":"core__ls","toolCallId":"c","args":"{\"path\":","context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner"}}`,
	`{"toolId":"demo__numbers","toolCallId":"c","args":{"b":1e3,"a":1.10,"ö":"€"},"context":{"tenantId":"acme","runId":"run-7","actorId":"agent:planner",` +
		`"subjectId":"user:ann","graphId":"g","connectionId":"conn-1","virtualKeyId":"vk","toolIds":["core__ls","demo__numbers"]},"allowedConnectionIds":["conn-2","conn-1"]}`,
}

var approved = []hydrate.Approved{
	{
		ToolID: "core__write_file", ToolDigest: strings.Repeat("0", 64), Args: json.RawMessage(`{"content":"hello\n","path":"notes.md"}`),
		TenantID: "acme", ActorID: "agent:planner",
	},
	{
		ToolID: "core__write_file", ToolDigest: strings.Repeat("0", 64), Args: json.RawMessage(`{"content":"hello\n","path":"notes.md"}`),
		TenantID: "acme", ActorID: "agent:planner", SubjectID: "user:ann", ConnectionID: "conn-1",
	},
}

// vectorTables computes the test vectors of the contract.
func vectorTables() (map[string]string, error) {
	var ids [][]string
	for _, id := range identities {
		if err := id.Check(); err != nil {
			return nil, err
		}
		shown := code(id.ToolCallID)
		if len(id.ToolCallID) > 40 {
			shown = code(id.ToolCallID[:1]) + " × " + strconv.Itoa(len(id.ToolCallID))
		}
		ids = append(ids, []string{code(id.TenantID), code(id.RunID), shown, code(id.WorkflowID()), code(id.InvocationID())})
	}
	var b strings.Builder
	for _, input := range inputs {
		inv, fault := hydrate.Decode([]byte(input))
		if fault != nil {
			return nil, fault
		}
		digest, err := hydrate.InputDigest(inv)
		if err != nil {
			return nil, err
		}
		b.WriteString("```json invocation\n" + input + "\n```\n\n" + code(digest) + "\n\n")
	}
	var c strings.Builder
	for _, a := range approved {
		a.InvocationID = identities[0].InvocationID()
		raw, err := json.Marshal(a)
		if err != nil {
			return nil, err
		}
		canonical, err := schema.Canonical(raw)
		if err != nil {
			return nil, err
		}
		digest, err := a.Digest()
		if err != nil {
			return nil, err
		}
		c.WriteString("```json\n" + string(canonical) + "\n```\n\n" + code(digest) + "\n\n")
	}
	return map[string]string{
		"id vectors":              table([]string{"tenantId", "runId", "toolCallId", "workflow id", "invocationId"}, ids),
		"input digest vectors":    b.String(),
		"approval digest vectors": c.String(),
	}, nil
}
