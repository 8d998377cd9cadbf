//go:build unix

package faultkit_test

import (
	"testing"

	"github.com/pawl-run/pawl/internal/faultkit/failpoint"
	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/toolspec"
)

// A token comes back after three days, so no token comes back during a test.
const quotaRules = `
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    limits:
      - {tool: "chaos__*", quota: {tokens: 10, every: 30d}}
      - {tool: "chaos__*", concurrent: 1}
`

// taken returns how many tokens the bucket lacks, and the number of leases and debits.
func (w *world) taken() (tokens float64, left int) {
	w.t.Helper()
	if err := w.queries.QueryRow(w.t.Context(), `
		SELECT coalesce((SELECT round(extract(epoch FROM full_at - now()) / (3 * 86400), 2) FROM quotas), 0)::float8,
			(SELECT count(*) FROM leases) + (SELECT count(*) FROM debits)`).Scan(&tokens, &left); err != nil {
		w.t.Fatal(err)
	}
	return tokens, left
}

// TestQuotaUnderKills: at whatever point the worker is killed, a call takes one token, and gives it back once if its tool was not
// dispatched.
func TestQuotaUnderKills(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		tool   string
		plans  []point.Name
		cancel bool
		code   toolspec.Code
		tokens float64
	}{
		{"after admit", ledger.LocalRead, []point.Name{point.AdmitAfter}, false, "", 1},
		{"taken, in a task that never ends", ledger.LocalRead, []point.Name{point.EffectBefore, point.EffectBefore}, false, "", 1},
		{"taken, before the claim", ledger.Read, []point.Name{point.ClaimBefore}, false, "", 1},
		{"after settle", ledger.LocalRead, []point.Name{point.SettleAfter}, false, "", 1},
		{"taken and never dispatched", ledger.Send, []point.Name{point.ClaimBefore, point.SettleAfter}, true, toolspec.CodeCancelled, 0},
		{"taken and claimed", ledger.Send, []point.Name{point.ClaimAfter, point.SettleAfter}, false, toolspec.CodeOutcomeUnknown, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.apply(quotaRules)
			call := w.start(invocation("call", tc.tool, ledger.In{Text: "x"}))
			for i, at := range tc.plans {
				if tc.cancel && i == 1 {
					if err := w.temporal.CancelWorkflow(t.Context(), call.WorkflowID, ""); err != nil {
						t.Fatal(err)
					}
				}
				w.work(failpoint.Plan{At: at, Nth: 1, By: failpoint.Kill}).crashed()
				if tokens, _ := w.taken(); at != point.AdmitAfter && at != point.SettleAfter && tokens != 1 {
					t.Errorf("%.2f tokens are taken after the kill at %s", tokens, at)
				}
			}
			w.work(healthy)
			if r := w.result(call); r.ErrorCode != tc.code {
				t.Errorf("ended with %+v, want %q", r, tc.code)
			}
			if tokens, left := w.taken(); tokens < tc.tokens-0.02 || tokens > tc.tokens+0.02 || left != 0 {
				t.Errorf("%.2f tokens are taken, want %.0f; %d rows are left", tokens, tc.tokens, left)
			}
		})
	}
}
