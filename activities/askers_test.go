package activities_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// asking is a policy of one tenant that asks for all calls, or for none.
func asking(asks bool) string {
	mode := "yolo"
	if asks {
		mode = "ask"
	}
	return `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: ` + mode + `
    approvals: {expiresAfter: 1h, allowUnsigned: true, approvers: ["user:bob"], escalate: [{after: 10m, approvers: ["user:chief"]}], remember: {for: 7d}}
`
}

// TestHookSaysWhoApproves: the people of a hook approve after those of policy where policy asks too, and alone where it does not. Nobody
// else may decide later, and for no longer than policy says.
func TestHookSaysWhoApproves(t *testing.T) {
	t.Parallel()
	two := &hook.Approvals{Approvers: []string{"role:finance"}, Quorum: 2, Chain: []hook.Approvers{}, ExpiresAfter: time.Minute}
	tenants := "user:bob but user:ann; after 10m also user:chief; unsigned decisions count"
	for name, tc := range map[string]struct {
		policyAsks bool
		ask        hook.Ask
		message    string
		who        string
		expires    time.Duration
	}{
		"the hook alone, by policy's people": {false, hook.Ask{Message: "why"}, "why", tenants, time.Hour},
		"the hook alone":                     {false, hook.Ask{Message: "why", Approvals: two}, "why", "2 of role:finance but user:ann; unsigned decisions count", time.Minute},
		"both, by policy's people":           {true, hook.Ask{Message: "why"}, "mode ask asks for calls of risk medium; why", tenants, time.Hour},
		"both": {
			true, hook.Ask{Message: "why", Approvals: two}, "mode ask asks for calls of risk medium; why",
			"user:bob, then 2 of role:finance but user:ann; unsigned decisions count", time.Minute,
		},
		"both, a chain of the hook's": {
			true, hook.Ask{Approvals: &hook.Approvals{Chain: []hook.Approvers{{Name: "lead", Approvers: []string{"user:lea"}}, {Quorum: 2}}, ExpiresAfter: 48 * time.Hour}},
			"mode ask asks for calls of risk medium", "user:bob, then lead (user:lea), then 2 of anyone but user:ann; unsigned decisions count", time.Hour,
		},
		"both, only for how long": {
			true, hook.Ask{Approvals: &hook.Approvals{ExpiresAfter: time.Minute}}, "mode ask asks for calls of risk medium", "user:bob but user:ann; unsigned decisions count", time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks := hook.New("asks", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.RequireApproval(tc.ask) }))
			w := newWorld(t, setup{policy: asking(tc.policyAsks), gate: true, hooks: []hook.Hook{asks}})
			in := hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Hooks: []string{"asks"}, Facts: w.facts(), Terms: &hook.Terms{MaxRuntimeMs: 1000}}
			v, err := w.Stage(as(t.Context(), true), in)
			if err != nil || v.Outcome != hook.Asked || v.Ask.Message != tc.message || v.Permit != nil {
				t.Fatalf("the stage: %+v, %+v, %v", v, v.Ask, err)
			}
			if got, err := w.Request(t.Context(), contract.RequestIn{Facts: in.Facts, Ask: *v.Ask}); err != nil || got.Outcome != contract.Done {
				t.Fatalf("the request: %+v, %v", got, err)
			}
			row := w.records.requests[0]
			if who := row.Rule.Describe("user:ann"); who != tc.who || row.View.Approvers != tc.who || row.ExpireAfter != tc.expires {
				t.Errorf("asks %q for %s, shown as %q", who, row.ExpireAfter, row.View.Approvers)
			}
			if tc.ask.Approvals != nil && row.Rule.RememberForMs != 0 {
				t.Error("what a hook asked for may be remembered")
			}
			// After the approval the stage runs again, and the hook may ask without a condition.
			in.Facts.Approval = recorded(t, row.Granted)
			if v, err := w.Stage(as(t.Context(), true), in); err != nil || v.Outcome != hook.Continue || v.Permit == nil {
				t.Errorf("after the approval: %+v, %v", v, err)
			}
			// An approval of other people is none of what the hook asks for.
			in.Facts.Approval.Approvals = &hook.Approvals{Quorum: 3}
			if tc.ask.Approvals == nil {
				return
			}
			if v, err := w.Stage(as(t.Context(), true), in); err != nil || v.Outcome != hook.Asked || v.Permit != nil {
				t.Errorf("after an approval of others: %+v, %v", v, err)
			}
		})
	}
}

// recorded is an approval as it comes back from the record.
func recorded(t *testing.T, g hook.GrantedApproval) *hook.GrantedApproval {
	t.Helper()
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	g = hook.GrantedApproval{}
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return &g
}

// TestHooksBeforeAPersonIsAsked: where policy asks, a hook may still refuse the call; then nobody is asked.
func TestHooksBeforeAPersonIsAsked(t *testing.T) {
	t.Parallel()
	refuses := hook.New("refuses", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.Abort("not today") }))
	w := newWorld(t, setup{policy: asking(true), gate: true, hooks: []hook.Hook{refuses}})
	v, err := w.Stage(as(t.Context(), true), hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Hooks: []string{"refuses"}, Facts: w.facts()})
	if err != nil || v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodeAborted || v.By != "refuses" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestHookAsksWrongly: approvals that break the bounds of policy fail the call; the log says why, and the caller reads no name.
func TestHookAsksWrongly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		approvals hook.Approvals
		reason    string
	}{
		"nothing":           {hook.Approvals{}, "says nothing"},
		"too many":          {hook.Approvals{Quorum: 17}, "approvals.quorum: must be a whole number from 1 to 16"},
		"a negative number": {hook.Approvals{Quorum: -1}, "approvals.quorum"},
		"out of reach":      {hook.Approvals{Approvers: []string{"user:cy"}, Quorum: 2}, "asks for 2 approvals and names 1 people"},
		"two places":        {hook.Approvals{Quorum: 2, Chain: []hook.Approvers{{}}}, "approvals.chain: stands beside"},
		"an empty name":     {hook.Approvals{Approvers: []string{""}}, "approvals.approvers[0]"},
		"hidden characters": {hook.Approvals{Approvers: []string{"user:c\u200by"}}, "approvals.approvers[0]"},
		"for too long":      {hook.Approvals{ExpiresAfter: 31 * 24 * time.Hour}, "approvals.expiresAfter: must be between 1s and 30d"},
		"half a second":     {hook.Approvals{ExpiresAfter: 1500 * time.Millisecond}, "approvals.expiresAfter: must be whole seconds"},
	} {
		w := newWorld(t, setup{policy: asking(true)})
		got, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts(), Ask: hook.Ask{Approvals: &tc.approvals}})
		if err != nil || got.Outcome != contract.Refused || got.Failure.Code != toolspec.CodeInternal || len(w.records.requests) > 0 {
			t.Errorf("%s: got %+v, %v", name, got, err)
			continue
		}
		if log := w.log.String(); !strings.Contains(log, tc.reason) || strings.Contains(got.Failure.SafeMessage, "user:") {
			t.Errorf("%s: the caller reads %q, the log says %s", name, got.Failure.SafeMessage, log)
		}
	}
}
