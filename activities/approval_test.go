package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows/contract"
)

// everywhere returns a hook at a stage at the beginning and a stage at the end of a call.
func everywhere() hook.Hook {
	return hook.New("everywhere",
		hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }),
		hook.OnError.Do(func(context.Context, *hook.Report) error { return nil }))
}

func TestRequest(t *testing.T) {
	w := newWorld(t, setup{})
	expires := time.UnixMilli(5_000_000).UTC()
	w.records.request = approval.RequestRecord{Number: 2, ExpiresAt: expires, Remaining: 90 * time.Second, State: contract.RequestApproved, Approver: "user:bob",
		Granted: hook.GrantedApproval{Digest: "as recorded"}, Rule: policy.ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:bob"}}}
	f := w.facts()
	f.SafeArgs = json.RawMessage(`{"text":"***"}`)
	got, err := w.Request(t.Context(), contract.RequestIn{Facts: f, Epoch: 3, Last: 1, Ask: hook.Ask{Message: "why", Rule: "rule"}, EditedBy: "user:cid"})
	if err != nil {
		t.Fatal(err)
	}
	digest, err := hydrate.Approved{InvocationID: "inv", ToolID: "core__tool", ToolDigest: f.ToolDigest, Args: f.Args, TenantID: "acme", ActorID: "user:ann"}.Digest()
	if err != nil {
		t.Fatal(err)
	}
	view := toolspec.ApprovalView{
		ToolID: "core__tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, Args: f.SafeArgs, Digest: digest, Message: "why",
		RequestedBy: "user:ann", Approvers: "anyone but user:ann; unsigned decisions count",
	}
	row := w.records.requests[0]
	if row.InvocationID != "inv" || row.TenantID != "acme" || row.Epoch != 3 || row.Last != 1 || !reflect.DeepEqual(row.View, view) || row.EditedBy != "user:cid" ||
		row.PolicyRule != "rule" || row.PolicyID != w.policy.Digest() || row.ExpireAfter != time.Hour || row.Granted.Digest != digest ||
		row.Granted.ToolDigest != f.ToolDigest || row.Granted.RuleDigest != row.Rule.Digest() || !row.Rule.AllowUnsigned {
		t.Errorf("wrote %+v", row)
	}
	// The rule that was recorded with the request counts.
	view.ApprovalID, view.ExpiresAtMs, view.Approvers = "inv.2", 5_000_000, "user:bob, but not the requester user:ann; only signed decisions count"
	if got.Outcome != contract.Done || got.Number != 2 || !reflect.DeepEqual(*got.View, view) || got.RemainingMs != 90_000 || !got.Approved ||
		*got.Granted != (hook.GrantedApproval{ApprovalID: "inv.2", Approver: "user:bob", Digest: "as recorded"}) {
		t.Errorf("got %+v", got)
	}
}

// engine returns this decision for every version of the policy.
type engine policy.Decision

func (e engine) Decide(context.Context, policy.Facts) (policy.Decision, error) {
	return policy.Decision(e), nil
}

// TestRequestAsksTheEngine: the engine that requires the approval also decides who may approve.
func TestRequestAsksTheEngine(t *testing.T) {
	central := engine{Verb: policy.RequireApproval, Approval: policy.ApprovalRule{Enabled: true, ExpiresAfterMs: 7000, Approvers: []document.Pattern{"user:central"}}}
	w := newWorld(t, setup{config: activities.Config{PolicyEngines: func(*policy.Policy) policy.Engine { return central }}})
	if _, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts()}); err != nil {
		t.Fatal(err)
	}
	if row := w.records.requests[0]; !reflect.DeepEqual(row.Rule, central.Approval) || row.ExpireAfter != 7*time.Second {
		t.Errorf("wrote %+v", row)
	}
}

func TestRequestRefused(t *testing.T) {
	tenant := func(rest string) string {
		return "version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: auto\n" + rest
	}
	for name, tc := range map[string]struct{ policy, message string }{
		"deny":          {tenant("    approvals: {enabled: true}\n    rules: [{tool: core__tool, decision: deny, message: not today}]\n"), "not today"},
		"approvals off": {tenant("    approvals: {enabled: false}\n"), "approvals are off"},
		// The hook asks for an approval, and policy does not.
		"approvals off, and allowed": {tenant("    approvals: {enabled: false}\n    rules: [{tool: core__tool, decision: allow}]\n"), "the call needs an approval, and approvals are off for this tenant"},
		"not allowed":                {"version: 1\ntenants: {acme: {allowedTools: [core__other]}}\n", "not allowed"},
		"another tenant":             {"version: 1\ntenants: {other: {allowedTools: [core__tool]}}\n", "no policy"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{policy: tc.policy})
			got, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts()})
			if err != nil || got.Outcome != contract.Refused || got.Failure.Code != toolspec.CodePolicyDenied || !strings.Contains(got.Failure.SafeMessage, tc.message) || got.View != nil {
				t.Errorf("got %+v, %+v, %v", got, got.Failure, err)
			}
			if len(w.records.requests) != 0 {
				t.Error("a request was opened")
			}
		})
	}
}

func TestRequestElsewhere(t *testing.T) {
	w := newWorld(t, setup{})
	w.records.request = approval.RequestRecord{Superseded: true}
	if got, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts()}); err != nil || !reflect.DeepEqual(got, contract.RequestOut{Outcome: contract.Superseded}) {
		t.Errorf("got %+v, %v", got, err)
	}
	f := w.facts()
	f.PolicyDigest = "gone"
	if _, err := w.Request(t.Context(), contract.RequestIn{Facts: f}); !errs.IsTransient(err) {
		t.Errorf("got %v", err)
	}
	w.records.err = errors.New("away")
	if _, err := w.Request(t.Context(), contract.RequestIn{Facts: w.facts()}); err == nil {
		t.Error("an error is lost")
	}
}

// TestReview: the rule of the request says whose decision counts.
func TestReview(t *testing.T) {
	open := approval.OpenRequest{Rule: policy.ApprovalRule{Enabled: true, AllowUnsigned: true}, RequestedBy: "user:ann", Digest: strings.Repeat("0", 64)}
	approve := toolspec.Decision{ApprovalID: "inv.1", Decision: toolspec.Approve, Approver: "user:bob"}
	with := func(change func(*approval.OpenRequest)) approval.OpenRequest { o := open; change(&o); return o }
	say := func(change func(*toolspec.Decision)) toolspec.Decision { d := approve; change(&d); return d }
	by := func(who string) toolspec.Decision { return say(func(d *toolspec.Decision) { d.Approver = who }) }
	edit := func(args string) toolspec.Decision {
		return say(func(d *toolspec.Decision) { d.Decision, d.EditedArgs = toolspec.Edit, json.RawMessage(args) })
	}
	escalated := func(after time.Duration) approval.OpenRequest {
		return with(func(o *approval.OpenRequest) {
			o.Rule.Approvers, o.Waited = []document.Pattern{"lead:*"}, after
			o.Rule.Escalate = []policy.Escalation{{AfterMs: 60_000, Approvers: []document.Pattern{"user:bob"}}}
		})
	}
	for _, tc := range []struct {
		name string
		open approval.OpenRequest
		d    toolspec.Decision
		want bool
		why  string
	}{
		{"approve", open, approve, true, ""},
		{"deny", open, say(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), true, ""},
		{"remember", open, say(func(d *toolspec.Decision) { d.Remember = true }), true, "lets nobody remember"},
		{"the requester", open, by("user:ann"), false, "does not let the requester decide"},
		{"the requester, where allowed", with(func(o *approval.OpenRequest) { o.Rule.AllowSelfApproval = true }), by("user:ann"), true, ""},
		{"the editor", with(func(o *approval.OpenRequest) { o.EditedBy = "user:bob" }), approve, false, "editor"},
		{"another than the editor", with(func(o *approval.OpenRequest) { o.EditedBy = "user:cid" }), approve, true, ""},
		{"somebody policy does not name", with(func(o *approval.OpenRequest) { o.Rule.Approvers = []document.Pattern{"lead:*"} }), approve, false, "does not name"},
		{"somebody policy names", with(func(o *approval.OpenRequest) { o.Rule.Approvers = []document.Pattern{"lead:*"} }), by("lead:eve"), true, ""},
		{"somebody to whom it has not gone yet", escalated(time.Minute - time.Millisecond), approve, false, "may not decide yet; the request goes to user:bob after 1m"},
		{"the same denies", escalated(0), say(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), false, "may not decide yet"},
		{"the same edits", escalated(0), edit(`{"text":"b"}`), false, "may not decide yet"},
		{"to whom it has gone", escalated(time.Minute), approve, true, ""},
		{"and who denies", escalated(time.Minute), say(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), true, ""},
		{"whose it was before", escalated(time.Hour), by("lead:eve"), true, ""},
		{"unsigned", with(func(o *approval.OpenRequest) { o.Rule.AllowUnsigned = false }), approve, false, "only signed"},
		{"a proof that is none", open, say(func(d *toolspec.Decision) { d.Proof = "x" }), false, "no token"},
		{"another digest than the request's", open, say(func(d *toolspec.Decision) { d.Digest = strings.Repeat("1", 64) }), false, "another digest"},
		{"another preview than the request's", with(func(o *approval.OpenRequest) { o.Granted.PreviewDigest = strings.Repeat("2", 64) }),
			say(func(d *toolspec.Decision) { d.PreviewDigest = strings.Repeat("1", 64) }), false, "another preview"},
		{"a preview where there is none", open, say(func(d *toolspec.Decision) { d.PreviewDigest = strings.Repeat("1", 64) }), false, "another preview"},
		{"the request's preview", with(func(o *approval.OpenRequest) { o.Granted.PreviewDigest = strings.Repeat("2", 64) }),
			say(func(d *toolspec.Decision) { d.PreviewDigest = strings.Repeat("2", 64) }), true, ""},
		{"the request's digest", open, say(func(d *toolspec.Decision) { d.Digest = open.Digest }), true, ""},
		{"on whose behalf the call is", with(func(o *approval.OpenRequest) { o.OnBehalfOf = "user:bob" }), approve, false, "does not let the requester decide"},
		{"the first of two", with(func(o *approval.OpenRequest) { o.Rule.Quorum = 2 }), approve, true, "1 of 2"},
		{"the same one of two", with(func(o *approval.OpenRequest) {
			o.Rule.Quorum, o.Votes = 2, []policy.Vote{{Approver: "user:bob"}}
		}), approve, false, "has approved already"},
		{"one is enough to deny", with(func(o *approval.OpenRequest) { o.Rule.Quorum = 2 }), say(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }), true, ""},
		{"approvals off", with(func(o *approval.OpenRequest) { o.Rule.Enabled = false }), approve, false, "approvals are off"},
		{"withdraw by the requester", open, say(func(d *toolspec.Decision) { d.Decision, d.Approver = toolspec.Withdraw, "user:ann" }), true, ""},
		{"withdraw by an approver", open, say(func(d *toolspec.Decision) { d.Decision = toolspec.Withdraw }), true, ""},
		{"withdraw by nobody", with(func(o *approval.OpenRequest) { o.Rule.Approvers = []document.Pattern{"lead:*"} }),
			say(func(d *toolspec.Decision) { d.Decision = toolspec.Withdraw }), false, "does not name"},
		{"withdraw unsigned", with(func(o *approval.OpenRequest) { o.Rule.AllowUnsigned = false }),
			say(func(d *toolspec.Decision) { d.Decision, d.Approver = toolspec.Withdraw, "user:ann" }), false, "only signed"},
		{"edit", open, edit(`{"text":"b"}`), true, ""},
		{"edit by the requester", open, say(func(d *toolspec.Decision) {
			d.Decision, d.Approver, d.EditedArgs = toolspec.Edit, "user:ann", json.RawMessage(`{}`)
		}), false, "does not let"},
		{"edit that does not fit", open, edit(`{"n":"canary-4711"}`), false, "the edited arguments are not valid"},
		{"edit that is broken", open, edit(`"{canary-4711"`), false, "the edited arguments are not valid"},
		{"edit with a credential", open, edit(`{"text":"sk-canary-4711aaaaaaaaaaaaaaaaaa"}`), false, "the edited arguments are not valid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.open, w.records.state = tc.open, contract.RequestOpen
			got, err := w.Review(t.Context(), contract.ReviewIn{InvocationID: "inv", ToolID: "core__tool", TenantID: "acme", ApprovalID: "inv.1", Decision: &tc.d})
			if err != nil {
				t.Fatal(err)
			}
			w.checkCanary(t, got)
			if got.Answer.Counted != tc.want || tc.why == "" && got.Answer.Reason != "" || !strings.Contains(got.Answer.Reason, tc.why) {
				t.Errorf("got %+v, want %v, %q", got.Answer, tc.want, tc.why)
			}
			if edited := tc.want && tc.d.Decision == toolspec.Edit; (got.EditedArgs != nil) != edited || edited && string(got.EditedArgs) != `{"text":"b"}` {
				t.Errorf("edited to %s", got.EditedArgs)
			}
		})
	}
}

// TestEditWithoutValidator: if the validator of a tool cannot be made, the approver of an edit is told so, and
// may try again.
func TestEditWithoutValidator(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
	}{{"fails", errors.New("canary-4711")}, {"is nil", nil}} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{config: activities.Config{Validators: func(toolspec.Spec) (hydrate.Validator, error) { return nil, tc.err }}})
			w.records.state = contract.RequestOpen
			w.records.open = approval.OpenRequest{Rule: policy.ApprovalRule{Enabled: true, AllowUnsigned: true}, RequestedBy: "user:ann"}
			got, err := w.Review(t.Context(), contract.ReviewIn{InvocationID: "inv", ToolID: "core__tool", TenantID: "acme", ApprovalID: "inv.1", Decision: &toolspec.Decision{
				ApprovalID: "inv.1", Decision: toolspec.Edit, Approver: "user:bob", EditedArgs: json.RawMessage(`{"text":"b"}`),
			}})
			if err != nil {
				t.Fatal(err)
			}
			w.checkCanary(t, got)
			if want := "this worker cannot check arguments of the tool; try again"; got.Answer.Counted || !got.Answer.Again || got.Answer.Reason != want {
				t.Errorf("got %+v, want %q", got.Answer, want)
			}
		})
	}
}

func TestReviewLooks(t *testing.T) {
	w := newWorld(t, setup{})
	w.records.state = contract.RequestExpired
	got, err := w.Review(t.Context(), contract.ReviewIn{ApprovalID: "inv.1"})
	got.DurationUs = 0
	want := contract.ReviewOut{Outcome: contract.Done, State: contract.RequestExpired, PolicyDigest: "now", RemainingMs: 60_000, Approver: "user:bob"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	w.records.err = errs.Transient(errors.New("away"))
	if _, err := w.Review(t.Context(), contract.ReviewIn{}); !errs.IsTransient(err) {
		t.Errorf("got %v", err)
	}
}

func TestCheckAndSettlePassOn(t *testing.T) {
	w := newWorld(t, setup{})
	if got, err := w.Check(t.Context(), contract.CheckIn{}); err != nil || got.Epoch != 7 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := w.Settle(t.Context(), contract.SettleIn{}); err != nil || got.Outcome != contract.Done {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestRequestOfAConnection: an approval covers the connection in the state in which people saw the call.
func TestRequestOfAConnection(t *testing.T) {
	for _, n := range []*hook.Connection{nil, {Requested: true, Generation: 7}} {
		w := newWorld(t, setup{})
		f := w.facts()
		if f.Connection = n; n != nil {
			f.Context.ConnectionID = "c1"
		}
		if _, err := w.Request(t.Context(), contract.RequestIn{Facts: f}); err != nil {
			t.Fatal(err)
		}
		if got := w.records.requests[0].Granted; got.ConnectionID != f.Context.ConnectionID || got.Generation != n.Value().Generation {
			t.Errorf("of the connection %+v the request covers %+v", n, got)
		}
	}
}
