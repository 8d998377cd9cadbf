package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// notices returns the notices of a call as a text. A notice of something that has not happened yet is in brackets.
func (b bench) notices(call string) string {
	b.t.Helper()
	got := value[string](b, `SELECT coalesce(string_agg(
		CASE WHEN happened THEN '' ELSE '(' END || substr(notice_id, 38) || CASE WHEN decision = '' THEN '' ELSE ' ' || decision || ' by ' || n.approver || ': ' || n.reason || n.remark END
			|| CASE WHEN happened THEN '' ELSE ')' END, ', ' ORDER BY notice_id), '') FROM notices n JOIN approvals USING (approval_id) WHERE invocation_id = $1`, id(call))
	return strings.ReplaceAll(got, ": because", "")
}

// waiting returns a request that sends a reminder after 10 minutes, escalates after 20 and 30 minutes, and expires after an hour. No test runs that long,
// even on a busy machine, so only pass makes these things due.
func waiting(call string, epoch int) approval.RequestRow {
	row := requestRow(call, epoch)
	row.Rule.Approvers = []document.Pattern{"user:bob"}
	minutes := func(n int) int64 { return (time.Duration(n) * time.Minute).Milliseconds() }
	row.Rule.ExpiresAfterMs, row.ExpireAfter = minutes(60), time.Hour
	row.Rule.RemindAfterMs = minutes(10)
	row.Rule.Escalate = []policy.Escalation{
		{AfterMs: minutes(20), Approvers: []document.Pattern{"role:security"}}, {AfterMs: minutes(30), Approvers: []document.Pattern{"user:chief"}},
		{AfterMs: minutes(60), Approvers: []document.Pattern{"user:late"}},
	}
	return row
}

// pass moves the times of all requests of a call, and of their notices, back by d.
func (b bench) pass(call string, d time.Duration) {
	b.t.Helper()
	// This is one statement, because a worker that looks between two statements would see times that do not fit together.
	b.sql(`WITH asked AS (
			UPDATE approvals SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval WHERE invocation_id = $1 RETURNING approval_id
		)
		UPDATE notices n SET at = at - $2::interval FROM asked a WHERE a.approval_id = n.approval_id`, id(call), d)
}

// TestNoticesComeWithTheirChange: each change of a request writes exactly the notices about that change.
func TestNoticesComeWithTheirChange(t *testing.T) {
	decide := func(b bench, who string, verb toolspec.Verb) {
		d := decision("call_1", 1, verb)
		d.Approver = who
		b.review(reviewRow("call_1", 1, 1, d))
	}
	for _, tc := range []struct {
		name string
		row  func(*approval.RequestRow)
		then func(b bench)
		want string
	}{
		{"open", nil, func(bench) {}, "1_requested"},
		{"asked again", nil, func(b bench) { b.request(requestRow("call_1", 1)) }, "1_requested"},
		{"approved", nil, func(b bench) { decide(b, "user:bob", toolspec.Approve) }, "1_decided approve by user:bob, 1_requested"},
		{"decided twice", nil, func(b bench) {
			decide(b, "user:bob", toolspec.Deny)
			decide(b, "user:cid", toolspec.Approve)
			decide(b, "user:bob", toolspec.Deny)
		}, "1_decided deny by user:bob, 1_requested"},
		{"withdrawn", nil, func(b bench) { decide(b, "user:bob", toolspec.Withdraw) }, "1_decided withdraw by user:bob, 1_requested"},
		{"not counted", nil, func(b bench) { decide(b, "user:ann", toolspec.Approve) }, "1_requested"},
		{"of two", func(r *approval.RequestRow) { r.Rule.Quorum = 2 }, func(b bench) {
			decide(b, "user:bob", toolspec.Approve)
			decide(b, "user:cid", toolspec.Approve)
		}, "1_decided approve by user:cid, 1_requested, 1_voted_1 approve by user:bob1 of 2 approvals"},
		{"expired", nil, func(b bench) {
			b.pass("call_1", time.Hour)
			b.review(reviewRow("call_1", 1, 1, nil))
			b.review(reviewRow("call_1", 1, 1, nil))
		}, "1_expired, 1_requested"},
		{"expired, and found so by a decision", nil, func(b bench) {
			b.pass("call_1", time.Hour)
			decide(b, "user:bob", toolspec.Approve)
		}, "1_expired, 1_requested"},
		{"not needed any more", nil, func(b bench) {
			row := reviewRow("call_1", 1, 1, nil)
			row.Close = true
			b.review(row)
		}, "1_closed, 1_requested"},
		{"other arguments", nil, func(b bench) {
			row := requestRow("call_1", 1)
			row.View.Digest, row.Last = "another", 1
			b.request(row)
		}, "1_closed, 1_requested, 2_requested"},
		{"settled", nil, func(b bench) { b.settle(settleIn("call_1", 1)) }, "1_closed, 1_requested"},
		{"settled too late", nil, func(b bench) {
			b.pass("call_1", time.Hour)
			b.settle(settleIn("call_1", 1))
		}, "1_expired, 1_requested"},
		{"swept", nil, func(b bench) {
			b.sql(`UPDATE invocations SET namespace = 'here'`)
			if _, err := b.Sweep(b.t.Context(), upkeep.SweepRow{InvocationID: id("call_1"), Namespace: "here", RunID: ownRun, Epoch: 1, Cause: upkeep.OwnerTerminated, Code: toolspec.CodeCancelled}); err != nil {
				b.t.Fatal(err)
			}
		}, "1_closed, 1_requested"},
		{"of another epoch", nil, func(b bench) {
			b.admit("call_1")
			decide(b, "user:bob", toolspec.Approve)
			b.settle(settleIn("call_1", 1))
		}, "1_requested"},
		{"parked", func(r *approval.RequestRow) { r.View.Parked = "lost" }, func(b bench) { decide(b, "user:bob", toolspec.SettleOK) },
			"1_decided settle_ok by user:bob, 1_requested"},
		{"that waits", func(r *approval.RequestRow) { *r = waiting("call_1", 1) }, func(bench) {},
			"(1_escalated_1), (1_escalated_2), (1_reminded), 1_requested"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.admit("call_1")
			row := requestRow("call_1", 1)
			if tc.row != nil {
				tc.row(&row)
			}
			b.request(row)
			tc.then(b)
			if got := b.notices("call_1"); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestNoticeAndChangeAreOne: if the notice of a decision cannot be written, the decision is not written either.
func TestNoticeAndChangeAreOne(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	b.sql(`ALTER TABLE notices ADD CONSTRAINT broken CHECK (kind <> 'decided')`)
	if _, err := b.Review(own(t), reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))); err == nil {
		t.Error("decided without a word")
	}
	if state := value[string](b, `SELECT state || (SELECT count(*) FROM decisions) FROM approvals`); state != "open0" {
		t.Errorf("the request is %s", state)
	}
}

func TestRememberedApprovalSendsNoNotice(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := requestRow("call_1", 1)
	row.Remembered = value[string](b, `INSERT INTO approval_grants (tenant_id, tool_id, granted, approver, approval_id, expires_at)
		VALUES ('acme', 'core__write_file', '{}', 'user:bob', 'x.1', now() + interval '1 hour') RETURNING grant_id::text`)
	if got := b.request(row); got.State != contract.RequestApproved {
		t.Fatalf("%+v", got)
	}
	if got := b.notices("call_1"); got != "" {
		t.Error(got)
	}
}

// TestWaitingBringsAboutWhatIsDue: a reminder or an escalation happens once, when it is due, with an event in the record, and only while the request can be
// decided on.
func TestWaitingBringsAboutWhatIsDue(t *testing.T) {
	b := open(t)
	for _, call := range []string{"waits", "decided", "expired"} {
		b.admit(call)
		b.request(waiting(call, 1))
	}
	b.runNotices(nil)
	b.runNotices(nil)
	events := func(call string) string {
		return value[string](b, `SELECT coalesce(string_agg(kind || coalesce(' ' || (detail ->> 'step') || ' ' || (detail ->> 'approvers'), ''), ', ' ORDER BY at), '')
			FROM events WHERE invocation_id = $1 AND kind IN ('approval_reminded', 'approval_escalated')`, id(call))
	}
	b.pass("waits", 5*time.Minute)
	b.pass("decided", 5*time.Minute)
	b.review(reviewRow("decided", 1, 1, decision("decided", 1, toolspec.Approve)))
	b.pass("expired", 61*time.Minute)
	until(t, "what nobody waits for is dropped", func() bool { return b.notices("expired") == "1_requested" })
	if got := b.notices("waits"); got != "(1_escalated_1), (1_escalated_2), (1_reminded), 1_requested" {
		t.Errorf("too soon: %s", got)
	}
	b.pass("waits", 6*time.Minute)
	until(t, "a reminder", func() bool { return b.notices("waits") == "(1_escalated_1), (1_escalated_2), 1_reminded, 1_requested" })
	b.pass("waits", 10*time.Minute)
	b.pass("decided", 30*time.Minute)
	until(t, "an escalation", func() bool { return b.notices("waits") == "1_escalated_1, (1_escalated_2), 1_reminded, 1_requested" })
	until(t, "no more of the decided one", func() bool { return b.notices("decided") == "1_decided approve by user:bob, 1_requested" })
	if got := events("waits"); got != `approval_reminded, approval_escalated 1 ["role:security"]` {
		t.Errorf("in the record: %s", got)
	}
	if got := events("decided") + events("expired"); got != "" {
		t.Errorf("in the record: %s", got)
	}
	approvals, err := b.Approvals(t.Context(), client.ApprovalFilter{TenantID: tenant})
	if err != nil || len(approvals) != 1 || approvals[0].Escalated != 1 || len(approvals[0].Escalations) != 2 || approvals[0].Escalations[1].Approvers != "user:chief" {
		t.Errorf("listed: %+v, %v", approvals, err)
	}
}

// TestTheJudgeKnowsHowLongItWaited: the function that judges a decision gets the age of the request by the clock of the database.
func TestTheJudgeKnowsHowLongItWaited(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	record := b.request(waiting("call_1", 1))
	if record.ExpiresAt.Sub(record.CreatedAt) != time.Hour {
		t.Errorf("%+v", record)
	}
	chief := decision("call_1", 1, toolspec.Approve)
	chief.Approver = "user:chief"
	// waiting lets user:chief decide after 30 minutes. The waits add up, so only the last decision is late enough.
	for _, wait := range []time.Duration{0, 20 * time.Minute, 11 * time.Minute} {
		b.pass("call_1", wait)
		row := reviewRow("call_1", 1, 1, chief)
		row.Judge = func(r approval.OpenRequest) (approval.Judgement, error) {
			ok, reason := r.Rule.At(r.Waited).MayDecide(policy.Voter{Identity: "user:chief"}, r.RequestedBy)
			return final(toolspec.Answer{Counted: ok, Reason: reason})
		}
		chief.Reason = fmt.Sprint("after ", wait)
		got := b.review(row)
		if counts := wait == 11*time.Minute; got.Answer.Counted != counts || !counts && !contains(got.Answer.Reason, "may not decide yet") {
			t.Errorf("after %s more: %+v", wait, got)
		}
	}
}

// TestNoticesCostNoRoundTrip: a request, a review and a settle need no extra round trip for their notices.
func TestNoticesCostNoRoundTrip(t *testing.T) {
	b := open(t)
	for _, call := range []string{"warm", "call_1"} {
		b.admit(call)
		b.trips.Store(0)
		b.request(waiting(call, 1))
		b.review(reviewRow(call, 1, 1, decision(call, 1, toolspec.Approve)))
		b.settle(settleIn(call, 1))
	}
	if n := b.trips.Load(); n != 4 {
		t.Errorf("a request, a decision and an end took %d round trips, want 1, 2 and 1", n)
	}
}

// TestOldNoticesArePruned: notices of things that happened are deleted after a week, and all notices of a call are deleted with the call. Notices of things
// that have not happened yet stay.
func TestOldNoticesArePruned(t *testing.T) {
	b := open(t)
	for _, call := range []string{"old", "young", "gone"} {
		b.admit(call)
		b.request(waiting(call, 1))
	}
	b.sql(`UPDATE notices SET at = at - interval '8 days' WHERE approval_id = $1`, toolspec.ApprovalID(id("old"), 1))
	b.sql(`UPDATE notices SET at = at - interval '6 days' WHERE approval_id = $1`, toolspec.ApprovalID(id("young"), 1))
	b.sql(`INSERT INTO notice_deliveries (notice_id, notifier) SELECT notice_id, 'x' FROM notices WHERE happened`)
	b.newNotices(nil).Prune(t.Context())
	b.sql(`DELETE FROM invocations WHERE invocation_id = $1`, id("gone"))
	left := []string{b.notices("old"), b.notices("young"), b.notices("gone"), fmt.Sprint(value[int](b, `SELECT count(*) FROM notice_deliveries`))}
	if want := []string{"(1_escalated_1), (1_escalated_2), (1_reminded)", "(1_escalated_1), (1_escalated_2), (1_reminded), 1_requested", "", "1"}; !slices.Equal(left, want) {
		t.Errorf("left: %q", left)
	}
}
