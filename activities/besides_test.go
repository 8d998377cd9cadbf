package activities_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const remembering = "version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: auto\n" +
	"    approvals: {approvers: [\"role:lead\"], expiresAfter: 1h, escalate: [{after: 1m, approvers: [\"user:chief\"]}], remember: {for: 1h, anyArgs: true, anyActor: true}}\n"

// TestRequestBesides: hooks add people to the rule of policy and shorten its lifetime. The other parts of the
// rule stay, and the approval is not remembered.
func TestRequestBesides(t *testing.T) {
	ask := func(name string, a hook.Approvals) hook.Ask {
		return hook.Ask{Hook: name, Message: name + " asks", Approvals: &a}
	}
	cfo := hook.Approvals{Approvers: []string{"user:cfo"}, Quorum: 1}
	chain := hook.Approvals{Chain: []hook.ChainEntry{{Name: "law", Approvers: []string{"role:law"}}, {Approvers: []string{"*"}, Quorum: 2}}}
	const lead = "role:lead, but not the requester user:ann; after 1m also user:chief"
	for _, tc := range []struct {
		name    string
		asks    []hook.Ask
		who     string
		message string
		expires time.Duration
		grants  int
	}{
		{"nobody", nil, lead + "; only signed decisions count", "why", time.Hour, 1},
		{"a hook that names nobody", []hook.Ask{{Hook: "h", Message: "h asks"}}, lead + "; only signed decisions count", "why", time.Hour, 0},
		{"a hook that only shortens", []hook.Ask{ask("h", hook.Approvals{ExpiresAfter: time.Minute})}, lead + "; only signed decisions count", "why", time.Minute, 0},
		{"one", []hook.Ask{ask("h", cfo)}, lead + "; hook h asks for user:cfo; only signed decisions count", "why; h asks", time.Hour, 0},
		{"two", []hook.Ask{ask("h", cfo), ask("g", chain)}, lead + `; hook h asks for user:cfo; hook g asks for law (role:law), then 2 of *; only signed decisions count`, "why; h asks; g asks", time.Hour, 0},
		{"a longer lifetime", []hook.Ask{ask("h", hook.Approvals{Approvers: []string{"user:cfo"}, ExpiresAfter: 2 * time.Hour})}, lead + "; hook h asks for user:cfo; only signed decisions count", "why; h asks", time.Hour, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{policy: remembering})
			bare := w.policy.Decide(policy.Facts{TenantID: "acme", ToolID: "core__tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk}).Approval
			f := w.facts()
			if _, err := w.Request(t.Context(), contract.RequestIn{Facts: f, Ask: hook.Ask{Message: "why"}, Asks: tc.asks}); err != nil {
				t.Fatal(err)
			}
			row := w.records.requests[0]
			if row.View.Approvers != tc.who || row.View.Message != tc.message || row.ExpireAfter != tc.expires || w.records.grantQueries != tc.grants {
				t.Errorf("asks for %q, %q, for %s, %d questions for grants", row.View.Approvers, row.View.Message, row.ExpireAfter, w.records.grantQueries)
			}
			// The gate compares the digest of policy's rule, so an approval is bound to this digest, with and without
			// hooks.
			if row.Granted.RuleDigest != bare.Digest() {
				t.Error("the gate would find another rule")
			}
			got := row.Rule
			got.Hooks, got.ExpiresAfterMs, got.RememberForMs, got.RememberAnyArgs, got.RememberAnyActor = nil, bare.ExpiresAfterMs, bare.RememberForMs, true, true
			if !reflect.DeepEqual(got, bare) || (row.Rule.RememberForMs == 0) != (tc.grants == 0) {
				t.Errorf("the rule is %+v", row.Rule)
			}
		})
	}
	// The code of hooks refuses such approvals, so somebody else has made them: the request is refused.
	for _, bad := range []hook.Approvals{{}, {Approvers: []string{}}, {Chain: []hook.ChainEntry{{}}}} {
		w := newWorld(t, setup{policy: remembering})
		if got, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts(), Asks: []hook.Ask{ask("h", bad)}}); err == nil || len(w.records.requests) != 0 {
			t.Errorf("%+v: got %+v", bad, got)
		}
	}
	// Only parkUnknown of the policy lets a call be parked, even if a hook names approvers.
	w := newWorld(t, setup{policy: remembering})
	if got, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts(), Asks: []hook.Ask{ask("h", cfo)}, Parked: "lost"}); err != nil || got.Outcome != contract.Refused {
		t.Errorf("parked: %+v, %v", got, err)
	}
}

// TestReviewBesides: the record has the entries of hooks for which an approval counts. The request ends when
// all entries have their approvals.
func TestReviewBesides(t *testing.T) {
	rule, err := policy.ApprovalRule{Enabled: true, AllowUnsigned: true}.Besides(
		policy.HookEntries{Hook: "h", Entries: []policy.ChainEntry{{Approvers: []document.Pattern{"user:cfo"}}}},
		policy.HookEntries{Hook: "g", Entries: []policy.ChainEntry{{Approvers: []document.Pattern{"role:law"}}}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, setup{})
	w.records.open = approval.OpenRequest{Rule: rule, RequestedBy: "user:ann"}
	w.records.state = contract.RequestOpen
	w.records.roles = map[string][]string{"user:lee": {"role:law"}}
	for _, tc := range []struct {
		who     string
		entries []int
		entry   int
		final   bool
		why     string
	}{
		{"user:bob", []int{-1, -1}, 0, false, "the request now waits for user:cfo"},
		{"user:cfo", []int{0, -1}, -1, false, "the request now waits for role:law"},
		{"user:lee", []int{-1, 0}, -1, true, ""},
	} {
		d := toolspec.Decision{ApprovalID: "inv.1", Decision: toolspec.Approve, Approver: tc.who}
		got, err := w.Review(t.Context(), contract.ReviewIn{TenantID: "acme", ToolID: "core__tool", ApprovalID: "inv.1", Decision: &d})
		j := w.records.judgement
		if err != nil || !got.Answer.Counted || got.Answer.Reason != tc.why || j.Final != tc.final || j.Entry != tc.entry || !reflect.DeepEqual(j.HookEntries, tc.entries) {
			t.Errorf("%s: got %+v, %+v, %v", tc.who, got.Answer, j, err)
		}
		w.records.open.Votes = append(w.records.open.Votes, policy.Vote{Entry: j.Entry, HookEntries: j.HookEntries, Approver: tc.who})
	}
}

// TestHookApproverNamesMatchPolicy: hooks and policies accept the same names of approvers.
func TestHookApproverNamesMatchPolicy(t *testing.T) {
	for _, name := range []string{
		"user:ann", "role:finance", "user:*", "*", "u ser", "user:a *", "", " ", "us*er", "user:**", "role:", "role:*", "role:a*", "user:ann ", "a  b", "user:\u200b", "user:\n", "Ünal", string(make([]byte, 300)),
	} {
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		_, refused := policy.Parse("p.yaml", fmt.Appendf(nil, "version: 1\ntenants: {acme: {allowedTools: [core__a], approvals: {approvers: [%s]}}}\n", quoted))
		a := hook.Approvals{Approvers: []string{name}}
		if bad := a.Check(); (bad == nil) != (refused == nil) {
			t.Errorf("%q: a hook hears %v, a policy %v", name, bad, refused)
		}
	}
	if hook.MaxQuorum != document.MaxQuorum || hook.MaxChain != document.MaxChain || hook.MaxApprovers != document.MaxApprovers ||
		hook.MinExpiry != document.MinExpiry || hook.MaxExpiry != document.MaxExpiry {
		t.Error("hooks and policies have other bounds")
	}
}
