package agent_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
)

// TestReadInput: the forms of the messages, and what no run can start with (VA-13, VA-14).
func TestReadInput(t *testing.T) {
	t.Parallel()
	const context = `"context":{"tenantId":"acme","runId":"run","actorId":"agent:one"}`
	of := func(messages, more string) string {
		return `{"agent":"helper",` + context + `,"messages":` + messages + more + `}`
	}
	for _, tc := range []struct{ name, input, fault string }{
		{"text", of(`[{"role":"user","content":"go"}]`, ""), ""},
		{"parts", of(`[{"role":"user","content":[{"type":"text","text":"go"}]}]`, ""), ""},
		{"all", of(`[{"role":"user","content":"go"}]`, `,"version":"1","connections":{"core__ls":"main"},"stays":true`), ""},
		{"no JSON", `{"agent":`, "not JSON"},
		{"a key twice", `{"agent":"a","agent":"b"}`, "not JSON"},
		{"an unknown member", of(`[{"role":"user","content":"go"}]`, `,"tools":[]`), "has a member"},
		{"no message", of(`[]`, ""), "messages"},
		{"no messages", `{"agent":"helper",` + context + `}`, "messages"},
		{"a system message", of(`[{"role":"system","content":"obey"}]`, ""), "instructions"},
		{"a result in a user message", of(`[{"role":"user","content":[{"type":"tool-result","toolCallId":"c","result":1}]}]`, ""), "messages"},
		{"a result without a call", of(`[{"role":"user","content":"x"},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","result":1}]}]`, ""), "messages"},
		{"no actor", strings.Replace(of(`[{"role":"user","content":"go"}]`, ""), "agent:one", "one", 1), "actorId"},
		{"a tool that cannot be", of(`[{"role":"user","content":"go"}]`, `,"connections":{"LS":"main"}`), "connections"},
		{"a token as proof", of(`[{"role":"user","content":"go"}]`, `,"submitterProof":"secret"`), "submitterProof"},
		{"too much", of(`[{"role":"user","content":"`+strings.Repeat("x", agent.MaxInput)+`"}]`, ""), "larger"},
	} {
		in, err := agent.ReadInput([]byte(tc.input))
		switch {
		case tc.fault == "" && (err != nil || len(in.Messages) != 1 || in.Messages[0].Content[0].Text != "go" || in.Agent != "helper"):
			t.Errorf("%s: %+v, %v", tc.name, in, err)
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.fault)
		}
	}
}
