package activities_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// TestExecuteClaims: without a claim the tool does not run.
func TestExecuteClaims(t *testing.T) {
	for _, tc := range []struct {
		claim workflows.Outcome
		want  workflows.ExecuteOut
	}{
		{workflows.Done, workflows.ExecuteOut{Outcome: workflows.Done, Value: json.RawMessage(`{"text":"hello"}`)}},
		{workflows.Superseded, workflows.ExecuteOut{Outcome: workflows.Superseded}},
		{workflows.Claimed, workflows.ExecuteOut{Outcome: workflows.Claimed}},
		{workflows.Tombstoned, workflows.ExecuteOut{Outcome: workflows.Tombstoned}},
		{workflows.Unleased, workflows.ExecuteOut{Outcome: workflows.Unleased}},
		{workflows.Refused, workflows.ExecuteOut{Outcome: workflows.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeApprovalStale, Details: &toolspec.Details{ApprovalID: "inv.1"},
		}}},
		{workflows.Killed, workflows.ExecuteOut{Outcome: workflows.Refused, Failure: &hook.Failure{
			Code: toolspec.CodePolicyDenied, SafeMessage: "a kill switch stops this call", Details: &toolspec.Details{Rule: "kill switch"},
		}}},
	} {
		t.Run(string(tc.claim), func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.claim = tc.claim
			if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if want := tc.claim == workflows.Done; (w.runs == 1) != want {
				t.Errorf("the tool ran %d times", w.runs)
			}
			want := activities.ClaimRow{
				InvocationID: "inv", Epoch: 3, Dispatch: 2, Effect: toolspec.StateChange, Answered: []int{1}, ApprovalID: "inv.1", Runtime: 10 * time.Second,
			}
			if len(w.records.claims) != 1 || !reflect.DeepEqual(w.records.claims[0], want) {
				t.Errorf("claimed %+v", w.records.claims)
			}
		})
	}
}

func TestExecuteRecordsAway(t *testing.T) {
	w := newWorld(t, setup{})
	w.records.err = hook.Transient(errors.New(canary))
	want := workflows.ExecuteOut{Outcome: workflows.Undispatched}
	if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, want) || w.runs != 0 || len(w.records.claims) != 1 {
		t.Errorf("got %+v after %d runs and %d claims", got, w.runs, len(w.records.claims))
	}
	w.records.err = errors.New(canary)
	want.Failure = &hook.Failure{Code: toolspec.CodeInternal}
	if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, want) || w.runs != 0 {
		t.Errorf("for good: got %+v after %d runs", got, w.runs)
	}
}

// TestExecuteClaimHangs: it is given up before the worker would count as lost.
func TestExecuteClaimHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		w.records.stuck = true
		started := time.Now()
		got := w.execute(t.Context(), t, w.executeIn())
		if took := time.Since(started); got.Outcome != workflows.Undispatched || w.runs != 0 || took > 5*time.Second {
			t.Errorf("got %+v after %s", got, took)
		}
	})
}

// TestLocalLaneClaimsNothing: dispatch 0 is the local lane.
func TestLocalLaneClaimsNothing(t *testing.T) {
	w := newWorld(t, setup{})
	in := w.executeIn()
	in.Dispatch = 0
	if got := w.execute(t.Context(), t, in); got.Outcome != workflows.Done || w.runs != 1 || len(w.records.claims) != 0 {
		t.Errorf("got %+v after %d runs with %d claims", got, w.runs, len(w.records.claims))
	}
}

func TestClaimKnowsWhatMayBeRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		def  func(*toolspec.Definition)
		once bool
		want bool
	}{
		"read":                                 {func(d *toolspec.Definition) { d.Effect = toolspec.ReadOnly }, false, true},
		"write":                                {nil, false, false},
		"idempotent write":                     {func(d *toolspec.Definition) { d.Idempotent = true }, false, true},
		"idempotent only since the call began": {func(d *toolspec.Definition) { d.Idempotent = true }, true, false},
	} {
		w := newWorld(t, setup{def: tc.def})
		in := w.executeIn()
		in.Once = tc.once
		w.execute(t.Context(), t, in)
		if got := w.records.claims[0].Repeatable; got != tc.want {
			t.Errorf("%s: repeatable %v", name, got)
		}
	}
}
