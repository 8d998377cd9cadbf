package activities_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestExecuteClaims: without a claim the tool does not run.
func TestExecuteClaims(t *testing.T) {
	for _, tc := range []struct {
		claim contract.Outcome
		want  contract.ExecuteOut
	}{
		{contract.Done, contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"hello"}`), OutputInfo: toolspec.OutputInfo{Bytes: 16}}},
		{contract.Superseded, contract.ExecuteOut{Outcome: contract.Superseded}},
		{contract.Claimed, contract.ExecuteOut{Outcome: contract.Claimed}},
		{contract.Tombstoned, contract.ExecuteOut{Outcome: contract.Tombstoned}},
		{contract.Unleased, contract.ExecuteOut{Outcome: contract.Unleased}},
		{contract.Refused, contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeApprovalStale, Details: &toolspec.Details{ApprovalID: "inv.1"},
		}}},
		{contract.Killed, contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodePolicyDenied, SafeMessage: "a kill switch stops this call", Details: &toolspec.Details{Rule: "kill switch"},
		}}},
	} {
		t.Run(string(tc.claim), func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.claim = tc.claim
			in := w.executeIn()
			in.Facts.Approval = &hook.GrantedApproval{ApprovalID: "inv.1", Digest: "of the history"}
			if got := w.execute(t.Context(), t, in); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if want := tc.claim == contract.Done; (w.runs == 1) != want {
				t.Errorf("the tool ran %d times", w.runs)
			}
			digest, err := hydrate.Approved{
				InvocationID: "inv", ToolID: "core__tool", ToolDigest: w.bound.Digest(), Args: in.Facts.Args, TenantID: "acme", ActorID: "user:ann",
			}.Digest()
			want := attempt.ClaimRow{
				InvocationID: "inv", TenantID: "acme", ToolID: "core__tool", Epoch: 3, Dispatch: 2, ClaimID: w.claimID, Effect: toolspec.StateChange,
				SafeArgs: in.Facts.SafeArgs, Answered: in.Answered, ApprovalID: "inv.1", ApprovalDigest: digest, Runtime: 10 * time.Second,
			}
			if err != nil || len(w.records.claims) != 1 || !reflect.DeepEqual(w.records.claims[0], want) {
				t.Errorf("claimed %+v", w.records.claims)
			}
		})
	}
}

func TestExecuteRecordsAway(t *testing.T) {
	w := newWorld(t, setup{})
	w.records.err = errs.Transient(errors.New(canary))
	want := contract.ExecuteOut{Outcome: contract.Undispatched}
	if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, want) || w.runs != 0 || len(w.records.claims) != 1 {
		t.Errorf("got %+v after %d runs and %d claims", got, w.runs, len(w.records.claims))
	}
	w.records.err = errors.New(canary)
	want.Failure = &hook.Failure{Code: toolspec.CodeInternal}
	if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, want) || w.runs != 0 {
		t.Errorf("for good: got %+v after %d runs", got, w.runs)
	}
}

// TestExecuteClaimHangs: an attempt gives up a claim without an answer before Temporal counts the worker as
// lost.
func TestExecuteClaimHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{})
		w.records.stuck = true
		started := time.Now()
		got := w.execute(t.Context(), t, w.executeIn())
		if took := time.Since(started); got.Outcome != contract.Undispatched || w.runs != 0 || took > 5*time.Second {
			t.Errorf("got %+v after %s", got, took)
		}
	})
}

// TestLocalLaneClaimsNothing: an attempt with dispatch 0 is in the local lane, and makes no claim.
func TestLocalLaneClaimsNothing(t *testing.T) {
	w := newWorld(t, setup{})
	in := w.executeIn()
	in.Dispatch = 0
	if got := w.execute(t.Context(), t, in); got.Outcome != contract.Done || w.runs != 1 || len(w.records.claims) != 0 {
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
