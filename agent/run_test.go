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
		{"too many messages", of(`[`+strings.Repeat(`{"role":"user","content":"go"},`, 4095)+`{"role":"user","content":"go"}]`, ""), "more than 4095"},
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

// TestReadFork: a fork has no message or texts of people, and names a run that it is not itself.
func TestReadFork(t *testing.T) {
	t.Parallel()
	of := func(fork, more string) string {
		return `{"agent":"helper","context":{"tenantId":"acme","runId":"run","actorId":"agent:one"},"fork":` + fork + more + `}`
	}
	const source = `{"runId":"source","rounds":1}`
	for _, tc := range []struct{ name, input, fault string }{
		{"no messages", of(source, ""), ""},
		{"null", of(source, `,"messages":null`), ""},
		{"an empty list", of(source, `,"messages":[]`), ""},
		{"an empty list with white space", of(source, ",\"messages\":[ \n]"), ""},
		{"texts", of(source, `,"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]`), ""},
		{"no round", of(`{"runId":"source","rounds":0}`, ""), ""},
		{"an answer", of(source, `,"messages":[{"role":"assistant","content":"a"}]`), "role user"},
		{"two parts", of(source, `,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`), "role user"},
		{"a long text", of(source, `,"messages":[{"role":"user","content":"`+strings.Repeat("x", agent.MaxMessage+1)+`"}]`), "role user"},
		{"too many", of(source, `,"messages":[`+strings.Repeat(`{"role":"user","content":"a"},`, agent.MaxForkMessages)+`{"role":"user","content":"a"}]`), "at most"},
		{"of itself", of(`{"runId":"run","rounds":1}`, ""), "itself"},
		{"of nothing", of(`{"runId":"","rounds":1}`, ""), "fork"},
		{"rounds below zero", of(`{"runId":"source","rounds":-1}`, ""), "rounds"},
		{"of a child", `{"parent":{"runId":"p","toolCallId":"c"},"context":{"tenantId":"acme","runId":"run"},"fork":` + source + `}`, "fork"},
		{"an unknown member", of(`{"runId":"source","rounds":1,"tenantId":"globex"}`, ""), "has a member"},
	} {
		in, err := agent.ReadInput([]byte(tc.input))
		switch {
		case tc.fault == "" && (err != nil || in.Fork == nil || in.Fork.RunID != "source"):
			t.Errorf("%s: %+v, %v", tc.name, in, err)
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.fault)
		}
	}
}
