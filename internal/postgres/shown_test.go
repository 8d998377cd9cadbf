package postgres_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/client"
)

// TestShownInput: the list of runs and the roles of readers have the actor, the fork and the texts of an input, and nothing of its proof, its calls and their results.
func TestShownInput(t *testing.T) {
	b := open(t)
	for run, tc := range map[string]struct {
		input, shown string
		want         client.AgentRunRecord
	}{
		"texts": {
			`{"submitterProof":"secret","stays":true,"graphRunId":"gr-1","context":{"actorId":"user:ann","graphId":"g"},"messages":[
				{"role":"user","content":[{"type":"text","text":"a\u0041"},{"type":"text","text":"b"}]},
				{"role":"assistant","content":[{"type":"tool_call","toolCallId":"c","toolName":"core__ls","args":{"path":"secret"}}]},
				{"role":"tool","content":[{"type":"tool_result","toolCallId":"c","result":"secret"}]},
				{"role":"assistant","content":[{"type":"text","text":"c"}]}]}`,
			`{"actorId":"user:ann","graphId":"g","graphRunId":"gr-1","stays":true,"fork":null,"began":[{"role":"user","text":"aAb"},{"role":"assistant","text":"c"}]}`,
			client.AgentRunRecord{AgentRunSummary: client.AgentRunSummary{ActorID: "user:ann", GraphID: "g", GraphRunID: "gr-1", Stays: true}, Began: []client.BeganMessage{{Role: "user", Text: "aAb"}, {Role: "assistant", Text: "c"}}},
		},
		"fork": {
			`{"context":{"actorId":"user:ann"},"messages":null,"fork":{"runId":"texts","rounds":2}}`,
			`{"actorId":"user:ann","graphId":null,"graphRunId":null,"stays":null,"fork":{"runId":"texts","rounds":2},"began":null}`,
			client.AgentRunRecord{AgentRunSummary: client.AgentRunSummary{ActorID: "user:ann", ForkOf: "texts", ForkRounds: 2}},
		},
		"a text that Postgres cannot read": {`{"context":{"actorId":"user:ann"},"messages":[{"role":"user","content":[{"type":"text","text":"\ud800"}]}]}`, `{}`, client.AgentRunRecord{}},
	} {
		b.sql(`INSERT INTO agent_runs (tenant_id, run_id, input_digest, agent, version, document, input) VALUES ($1, $2, '', 'a', '1', '{}', $3)`, tenant, run, tc.input)
		var shown, want any
		if json.Unmarshal([]byte(value[string](b, `SELECT shown::text FROM agent_runs WHERE run_id = $1`, run)), &shown) != nil || json.Unmarshal([]byte(tc.shown), &want) != nil || !reflect.DeepEqual(shown, want) {
			t.Errorf("%s shows %v", run, shown)
		}
		got, err := b.ShowAgentRun(t.Context(), client.RoundFilter{TenantID: tenant, RunID: run})
		if err != nil {
			t.Fatal(err)
		}
		if got.ActorID != tc.want.ActorID || got.GraphID != tc.want.GraphID || got.GraphRunID != tc.want.GraphRunID || got.Stays != tc.want.Stays || got.ForkOf != tc.want.ForkOf || got.ForkRounds != tc.want.ForkRounds ||
			!reflect.DeepEqual(got.Began, tc.want.Began) {
			t.Errorf("%s: %+v", run, got)
		}
	}
	if all, err := b.AgentRuns(t.Context(), client.AgentRunFilter{TenantID: tenant}); err != nil || len(all) != 3 {
		t.Errorf("%d runs, %v", len(all), err)
	}
}
