package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

var (
	errLost = errors.New("the statement is wrong")
	errAway = errs.Transient(errors.New("the connection broke"))
)

// TestLost: how a call continues after a dispatch without an answer. A side effect that may
// have happened is never repeated.
func TestLost(t *testing.T) {
	first := func(outcome contract.Outcome, err error) func(*rig) {
		return func(r *rig) {
			r.records.onClaim = func(n int) (contract.Outcome, error) {
				if n == 1 {
					return outcome, err
				}
				return "", nil
			}
		}
	}
	// begun writes the first claim, although its tool never runs. repeatable says whether the claim allows
	// another attempt.
	begun := func(outcome contract.Outcome, err error, repeatable bool) func(*rig) {
		return func(r *rig) {
			r.records.onClaim = func(n int) (contract.Outcome, error) {
				if n == 1 {
					r.records.written(repeatable)
					return outcome, err
				}
				return "", nil
			}
		}
	}
	for _, tc := range []struct {
		name     string
		tool     string
		setup    func(*rig)
		code     toolspec.Code
		cause    string
		attempts int
		runs     int
		claims   int
		admits   int
	}{
		{"never began", "core__mail", first(dies, nil), "", "", 1, 1, 2, 1},
		{"had begun", "core__mail", begun(dies, nil, false), toolspec.CodeOutcomeUnknown, "lost", 1, 0, 1, 1},
		{"had begun, and may be repeated", "core__write", begun(dies, nil, true), "", "", 2, 1, 2, 1},
		{"had begun, and might not be repeated then", "core__write", begun(dies, nil, false), toolspec.CodeOutcomeUnknown, "lost", 2, 0, 2, 1},
		{"no answer of the claim, which was not written", "core__mail", first("", errAway), "", "", 1, 1, 2, 1},
		{"no answer of the claim, which was written", "core__mail", begun("", errAway, false), "", "", 1, 1, 2, 1},
		{"no answer of the claim of a read", "core__remote", begun("", errAway, true), "", "", 1, 1, 2, 1},
		{"a claim that fails for good", "core__mail", first("", errLost), toolspec.CodeInternal, "", 0, 0, 1, 1},
		{"claimed before", "core__mail", first(contract.Claimed, nil), toolspec.CodeOutcomeUnknown, "lost", 1, 0, 1, 1},
		{"claimed before, and may be repeated", "core__write", first(contract.Claimed, nil), toolspec.CodeOutcomeUnknown, "lost", 1, 0, 1, 1},
		{"declared dead before it began", "core__mail", first(contract.Tombstoned, nil), "", "", 1, 1, 2, 1},
		{"superseded", "core__mail", first(contract.Superseded, nil), "", "", 1, 1, 2, 2},
		{"the approval is gone", "core__mail", first(contract.Refused, nil), toolspec.CodeApprovalStale, "", 1, 0, 1, 1},
		{"nobody can say whether it had begun", "core__mail", func(r *rig) {
			begun(dies, nil, false)(r)
			r.records.onCheck = func(int) contract.Outcome { return dies }
		}, toolspec.CodeOutcomeUnknown, "lost", 1, 0, 1, 1},
		{"superseded when it asks", "core__mail", func(r *rig) {
			first(dies, nil)(r)
			r.records.onCheck = func(n int) contract.Outcome {
				if n == 1 {
					return contract.Superseded
				}
				return ""
			}
		}, "", "", 1, 1, 2, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy})
			tc.setup(r)
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || result.Attempts != tc.attempts || r.ran() != tc.runs {
				t.Errorf("got %+v after %d runs, want %q after %d", result, r.ran(), tc.code, tc.runs)
			}
			if tc.cause != "" && (result.Details == nil || result.Details.Cause != tc.cause) {
				t.Errorf("details %+v, want the cause %s", result.Details, tc.cause)
			}
			if r.records.claimed != tc.claims || r.records.admits != tc.admits || len(r.records.settled) != 1 {
				t.Errorf("%d claims, %d admits, settled %d times", r.records.claimed, r.records.admits, len(r.records.settled))
			}
		})
	}
}

// TestClaimWithoutAnswer: the database does not say whether it wrote a claim, so the tool does not
// run. The call waits and dispatches again until its deadline, and the dispatch does not count as an
// attempt.
func TestClaimWithoutAnswer(t *testing.T) {
	for _, tc := range []struct {
		name  string
		away  int
		code  toolspec.Code
		claim int
		took  time.Duration
	}{
		{"three times", 3, "", 4, 7 * time.Second},
		{"until the deadline", 1 << 20, toolspec.CodeUnavailable, 0, 14*time.Minute + 45*time.Second},
	} {
		r := newRig(t, rigOptions{policy: freePolicy})
		r.records.onClaim = func(n int) (contract.Outcome, error) {
			if n <= tc.away {
				r.records.written(false)
				return "", errAway
			}
			return "", nil
		}
		result := r.run(call("core__mail", args))
		runs := 1
		if tc.code != "" {
			runs = 0
		}
		if result.ErrorCode != tc.code || r.ran() != runs || result.Attempts != runs {
			t.Errorf("%s: got %+v after %d runs", tc.name, result, r.ran())
		}
		if tc.claim > 0 && r.records.claimed != tc.claim {
			t.Errorf("%s: %d claims", tc.name, r.records.claimed)
		}
		if took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond; took < tc.took || took > tc.took+time.Minute {
			t.Errorf("%s: took %s, want %s", tc.name, took, tc.took)
		}
		for i, row := range r.records.rows {
			if row.Dispatch != i+1 || len(row.Answered) != i {
				t.Errorf("%s: claim %d is %+v", tc.name, i, row)
			}
		}
	}
}

// TestUnsavedResult: the tool ran, but its large value could not be stored. The message of the
// result says this.
func TestUnsavedResult(t *testing.T) {
	large := echoIn{Text: strings.Repeat("x", toolspec.MaxInline)}
	for tool, want := range map[string]struct {
		code     toolspec.Code
		attempts int
	}{"core__big_mail": {toolspec.CodeOutcomeUnknown, 1}, "core__big_read": {toolspec.CodeTimeout, 3}} {
		effect := toolspec.ReadOnly
		if want.attempts == 1 {
			effect = toolspec.ExternalSideEffect
		}
		r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{toolspec.Define(toolspec.Definition{
			ID: tool, Description: "test tool", Effect: effect, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, func(context.Context, echoIn, toolspec.Call) (echoOut, error) { return echoOut{Text: large.Text}, nil })}})
		r.records.unsaved = errLost
		result := r.run(call(tool, args))
		if result.ErrorCode != want.code || result.Attempts != want.attempts || result.SafeMessage != "The tool ran, but its result could not be kept" {
			t.Errorf("%s: got %+v", tool, result)
		}
		if want.attempts == 1 && result.Details.Cause != string(contract.CauseUnsaved) {
			t.Errorf("%s: cause %q", tool, result.Details.Cause)
		}
	}
}
