package activities_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const sent = `{"toolId":"core__tool","toolCallId":"call-1","args":{"text":"canary-4711"},"context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann","connectionId":"conn"}}`

func admitIn() contract.AdmitIn {
	return contract.AdmitIn{Input: []byte(sent), Encoding: "json/plain", WorkflowID: "tool:acme:run-1:call-1", RunID: "temporal-run", NowMs: 1000}
}

func TestAdmit(t *testing.T) {
	w := newWorld(t, setup{config: activities.Config{SearchAttributes: true, ConnectionKey: []byte("key")}})
	w.records.record = admit.Record{Epoch: 4, Rounds: contract.Rounds{Gate: 1, Dispatch: 2, Request: 3}, PolicyDigest: "policy"}
	got, err := w.Admit(t.Context(), admitIn())
	if err != nil {
		t.Fatal(err)
	}
	w.checkCanary(t, got)
	id := toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "call-1"}
	if got.Outcome != contract.Done || !got.Recorded || got.InvocationID != id.InvocationID() || got.Epoch != 4 || got.Rounds.Request != 3 ||
		got.PolicyDigest != "policy" || got.ToolID != "core__tool" || got.ToolCallID != "call-1" || got.Context.ActorID != "user:ann" || got.Failure != nil {
		t.Errorf("got %+v", got)
	}
	if len(got.ConnectionHash) != 32 || strings.Contains(got.ConnectionHash, "conn") {
		t.Errorf("the connection is called %s", got.ConnectionHash)
	}
	row := w.records.admitted[0]
	if row.InvocationID != got.InvocationID || row.InputDigest != got.InputDigest || row.WorkflowID != "tool:acme:run-1:call-1" || row.RunID != "temporal-run" ||
		!row.StartedAt.Equal(time.UnixMilli(1000)) || row.Invocation.ToolID != "core__tool" {
		t.Errorf("wrote %+v", row)
	}
	p := got.Plan
	if p.V != hook.PlanVersionOf(hook.RegularLane) || p.ToolDigest != w.bound.Digest() || p.Lane != hook.RegularLane || p.Repeatable || p.MaxAttempts != 1 || !p.SearchAttributes ||
		p.Budgets != (hook.Budgets{MaxRuntimeMs: 30_000, MaxResultBytes: 1 << 20, DeadlineMs: (15*time.Minute + 30*time.Second).Milliseconds()}) {
		t.Errorf("plan %+v", p)
	}
}

func TestConnectionHash(t *testing.T) {
	hash := func(key, input string) string {
		w := newWorld(t, setup{config: activities.Config{ConnectionKey: []byte(key)}})
		in := admitIn()
		in.Input = []byte(input)
		in.WorkflowID = strings.Replace(in.WorkflowID, "acme", map[bool]string{true: "acme2", false: "acme"}[strings.Contains(input, "acme2")], 1)
		got, err := w.Admit(t.Context(), in)
		if err != nil || got.Outcome != contract.Done {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.ConnectionHash
	}
	whole := hash("key", sent)
	if hash("", sent) != "" || hash("key", strings.Replace(sent, `,"connectionId":"conn"`, "", 1)) != "" {
		t.Error("a hash of nothing, or without a key")
	}
	if hash("key", sent) != whole || hash("other", sent) == whole || hash("key", strings.Replace(sent, `"conn"`, `"conn2"`, 1)) == whole {
		t.Error("it does not hang on the key and the connection alone")
	}
	if hash("key", strings.Replace(sent, "acme", "acme2", 1)) == whole {
		t.Error("two tenants' connections have the same name")
	}
}

// TestAdmitConnection: a connection is requested if the call's list names it, whatever the stored connection
// says.
func TestAdmitConnection(t *testing.T) {
	stored := &hook.Connection{Requested: true, Generation: 3, Status: "active"}
	for _, tc := range []struct {
		name, connection, list string
		stored, want           *hook.Connection
	}{
		{"named", `"conn"`, `["other","conn"]`, stored, &hook.Connection{Requested: true, Generation: 3, Status: "active"}},
		{"not named", `"conn"`, `["other"]`, stored, &hook.Connection{Generation: 3, Status: "active"}},
		{"an empty list", `"conn"`, `[]`, stored, &hook.Connection{Generation: 3, Status: "active"}},
		{"named and unknown", `"conn"`, `["conn"]`, nil, &hook.Connection{Requested: true}},
		{"no connection", `""`, `["conn"]`, stored, nil},
	} {
		w := newWorld(t, setup{})
		w.records.record = admit.Record{Connection: tc.stored}
		in := admitIn()
		in.Input = []byte(strings.Replace(sent, `"connectionId":"conn"}`, `"connectionId":`+tc.connection+`},"allowedConnectionIds":`+tc.list, 1))
		if got, err := w.Admit(t.Context(), in); err != nil || !reflect.DeepEqual(got.Connection, tc.want) {
			t.Errorf("%s: %+v, %v", tc.name, got.Connection, err)
		}
	}
}

// TestAdmitLanes: the lane, the repeats and the version of the plan follow from the definition of the tool.
func TestAdmitLanes(t *testing.T) {
	for _, tc := range []struct {
		name string
		def  func(*toolspec.Definition)
		lane hook.Lane
		rep  bool
	}{
		{"write", nil, hook.RegularLane, false},
		{"read", func(d *toolspec.Definition) { d.Effect = toolspec.ReadOnly }, hook.RegularLane, true},
		{"fast read", func(d *toolspec.Definition) { d.Effect, d.Fast = toolspec.ReadOnly, true }, hook.LocalLane, true},
		{"idempotent write", func(d *toolspec.Definition) { d.Idempotent = true }, hook.RegularLane, true},
		{"fast write", func(d *toolspec.Definition) { d.Fast = true }, hook.ClaimedLane, false},
		{"fast idempotent write", func(d *toolspec.Definition) { d.Fast, d.Idempotent = true, true }, hook.ClaimedLane, true},
		{"fast write with a connection", func(d *toolspec.Definition) { d.Fast, d.RequiresConnection = true, true }, hook.RegularLane, false},
	} {
		w := newWorld(t, setup{def: tc.def})
		got, err := w.Admit(t.Context(), admitIn())
		// Workers of release 0.1.0 know version 4, which has no claimed lane.
		version := map[bool]int{true: 5, false: 4}[tc.lane == hook.ClaimedLane]
		if err != nil || got.Plan.Lane != tc.lane || got.Plan.Repeatable != tc.rep || got.Plan.V != version {
			t.Errorf("%s: %+v, %v", tc.name, got.Plan, err)
		}
	}
}

// TestAdmitRefuses: an input whose identity cannot be trusted gets no record. Pawl notes the refusal, and the
// note has nothing of the input.
func TestAdmitRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*contract.AdmitIn)
		kind   string
		path   string
	}{
		{"nothing", func(in *contract.AdmitIn) { in.Input, in.Encoding = nil, "binary/null" }, "undecodable", ""},
		{"another encoding", func(in *contract.AdmitIn) { in.Encoding = "binary/encrypted" }, "undecodable", ""},
		{"no encoding", func(in *contract.AdmitIn) { in.Encoding = "" }, "undecodable", ""},
		{"not an object", func(in *contract.AdmitIn) { in.Input = []byte(`"canary-4711"`) }, "type_mismatch", ""},
		{"unknown field", func(in *contract.AdmitIn) { in.Input = []byte(strings.Replace(sent, `"args"`, `"arguments"`, 1)) }, "unknown_field", "/arguments"},
		{"no tenant", func(in *contract.AdmitIn) { in.Input = []byte(strings.Replace(sent, `"acme"`, `""`, 1)) }, "invalid_field", "/context/tenantId"},
		{"no actor", func(in *contract.AdmitIn) { in.Input = []byte(strings.Replace(sent, `"user:ann"`, `""`, 1)) }, "invalid_field", "/context/actorId"},
		{"secret-shaped", func(in *contract.AdmitIn) {
			in.Input = []byte(strings.Replace(sent, `"args"`, `"apiKey":"canary-4711","args"`, 1))
		}, "secret_shaped", "/apiKey"},
		{"another call's workflow id", func(in *contract.AdmitIn) { in.WorkflowID = "tool:acme:run-1:call-2" }, "foreign_workflow_id", ""},
		{"another tenant's workflow id", func(in *contract.AdmitIn) { in.WorkflowID = "tool:other:run-1:call-1" }, "foreign_workflow_id", ""},
		{"any workflow id", func(in *contract.AdmitIn) { in.WorkflowID = "w" }, "foreign_workflow_id", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			in := admitIn()
			tc.change(&in)
			got, err := w.Admit(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			w.checkCanary(t, got)
			w.checkCanary(t, w.records.refused)
			if got.Outcome != contract.Refused || got.Recorded || got.InvocationID != "" || got.Failure.Code != toolspec.CodeValidation ||
				got.Failure.SafeMessage == "" || got.Failure.Details.Kind != tc.kind || got.Failure.Details.Path != tc.path || len(got.Failure.Details.Problems) != 1 {
				t.Errorf("got %+v, %+v", got, got.Failure)
			}
			want := []admit.Refused{{WorkflowID: in.WorkflowID, RunID: "temporal-run", Code: toolspec.CodeValidation, Reason: tc.kind, Bytes: len(in.Input)}}
			if !reflect.DeepEqual(w.records.refused, want) || len(w.records.admitted) != 0 {
				t.Errorf("noted %+v and %d records", w.records.refused, len(w.records.admitted))
			}
		})
	}
}

// TestAdmitKnows: an existing record decides the outcome of an admit.
func TestAdmitKnows(t *testing.T) {
	result := &toolspec.Result{OK: true, ToolCallID: "call-1"}
	for _, tc := range []struct {
		name   string
		record admit.Record
		tool   string
		want   contract.Outcome
		code   toolspec.Code
	}{
		{"conflict", admit.Record{Digest: "other"}, "core__tool", contract.Refused, toolspec.CodeConflict},
		{"conflict with a settled call", admit.Record{Digest: "other", Result: result}, "core__tool", contract.Refused, toolspec.CodeConflict},
		{"settled", admit.Record{Result: result}, "core__tool", contract.AlreadySettled, ""},
		{"unknown tool", admit.Record{}, "core__gone", contract.Done, toolspec.CodeUnavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.record = tc.record
			got, code := admitTool(t, w, tc.tool, "")
			if got.Outcome != tc.want || code != tc.code || got.Recorded != (tc.code != toolspec.CodeConflict) {
				t.Errorf("got %+v", got)
			}
			// A caller who sends another call under this id learns nothing of the result.
			if (got.Result != nil) != (tc.want == contract.AlreadySettled) {
				t.Errorf("result %+v", got.Result)
			}
		})
	}
}

// admitTool admits a call of a tool, and returns the answer and the code of its failure.
func admitTool(t *testing.T, w *world, tool, namespace string) (got contract.AdmitOut, code toolspec.Code) {
	t.Helper()
	in := admitIn()
	in.Namespace, in.Input = namespace, []byte(strings.Replace(sent, "core__tool", tool, 1))
	got, err := w.Admit(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if got.Failure != nil {
		code = got.Failure.Code
	}
	return got, code
}

// TestUnknownToolHasNoGate: the plan of a call of an unknown tool has no gate. It has only the stages of
// errors.
func TestUnknownToolHasNoGate(t *testing.T) {
	w := newWorld(t, setup{hooks: []hook.Hook{everywhere()}})
	in := admitIn()
	in.Input = []byte(strings.Replace(sent, "core__tool", "core__gone", 1))
	got, err := w.Admit(t.Context(), in)
	if err != nil || len(got.Plan.Pre)+len(got.Plan.Execute)+len(got.Plan.Post) != 0 || len(got.Plan.Error) == 0 || got.Plan.ToolDigest != "" {
		t.Errorf("plan %+v, %v", got.Plan, err)
	}
}

// others has the tools that other workers have.
type others []string

func (o others) IsLive(_ context.Context, namespace, toolID string) (bool, error) {
	return namespace == "ns" && slices.Contains(o, toolID), nil
}

func (others) PoolsOf(context.Context, string, string) ([]string, error) { return nil, nil }

// TestAdmitMissingTool: a call whose tool this worker does not have waits for a live worker that has the tool, even if the operator
// turned the tool off here. Without such a worker, the call of a tool that is turned off is denied.
func TestAdmitMissingTool(t *testing.T) {
	const denied, unavailable = toolspec.CodePolicyDenied, toolspec.CodeUnavailable
	for _, tc := range []struct {
		name, tool string
		live, off  bool
		want       contract.Outcome
		code       toolspec.Code
	}{
		{"another worker has it", "core__gone", true, false, contract.NotHere, ""},
		{"another worker has it, off here", "core__gone", true, true, contract.NotHere, ""},
		{"no worker has it", "core__gone", false, false, contract.Done, unavailable},
		{"no worker has it, off here", "core__gone", false, true, contract.Done, denied},
		{"the tool of another tenant", "tenant-other__gone", true, false, contract.Done, unavailable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := activities.Config{IsOff: func(toolID string) bool { return tc.off && toolID == tc.tool }, Workers: others{}}
			if tc.live {
				config.Workers = others{tc.tool}
			}
			w := newWorld(t, setup{config: config})
			got, code := admitTool(t, w, tc.tool, "ns")
			if got.Outcome != tc.want || code != tc.code || (got.By == "tool "+tc.tool) != (tc.want == contract.NotHere) {
				t.Errorf("got %+v, %+v", got, got.Failure)
			}
		})
	}
}

func TestAdmitRecordsAway(t *testing.T) {
	for _, input := range []string{sent, "x"} {
		w := newWorld(t, setup{})
		w.records.err = errs.Transient(errors.New("away"))
		in := admitIn()
		in.Input = []byte(input)
		if _, err := w.Admit(t.Context(), in); !errs.IsTransient(err) {
			t.Errorf("got %v", err)
		}
	}
}
