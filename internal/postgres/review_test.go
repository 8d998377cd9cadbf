package postgres_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestRequestOpens(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	got := b.request(requestRow("call_1", 1))
	if got.Number != 1 || got.State != contract.RequestOpen || got.Superseded || got.Remaining <= 59*time.Minute || got.Remaining > time.Hour ||
		got.Granted.ApprovalID != toolspec.ApprovalID(id("call_1"), 1) || got.Granted.Digest != "approval-digest" || got.Granted.Approver != "" {
		t.Errorf("%+v", got)
	}
}

// TestRequestIsFoundAgain: a retry and a later run of the call get the request that is open already.
func TestRequestIsFoundAgain(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	first := b.request(requestRow("call_1", 1))
	if again := b.request(requestRow("call_1", 1)); again.Number != 1 || !again.ExpiresAt.Equal(first.ExpiresAt) {
		t.Errorf("a retry: %+v", again)
	}
	b.admit("call_1")
	later := requestRow("call_1", 2)
	later.Granted.ToolDigest = "newer tool"
	if again := b.request(later); again.Number != 1 || again.Granted.ToolDigest != "tool" {
		t.Errorf("a later run: %+v", again)
	}
	b.review(reviewRow("call_1", 2, 1, decision("call_1", 1, toolspec.Approve)))
	if again := b.request(requestRow("call_1", 2)); again.Number != 1 || again.State != contract.RequestApproved || again.Approver != "user:bob" || again.Granted.Approver != "user:bob" {
		t.Errorf("approved: %+v", again)
	}
}

func TestRequestIsNotFoundAgain(t *testing.T) {
	for why, c := range map[string]struct {
		change func(b bench, row *approval.RequestRow)
		old    string
	}{
		"other digest":                {func(_ bench, row *approval.RequestRow) { row.View.Digest = "another" }, "closed"},
		"who edited must not approve": {func(_ bench, row *approval.RequestRow) { row.EditedBy = "user:bob" }, "closed"},
		"approved, and then edited to the same": {func(b bench, row *approval.RequestRow) {
			b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve)))
			row.EditedBy = "user:bob"
		}, "approved"},
	} {
		t.Run(why, func(t *testing.T) {
			b := open(t)
			b.admit("call_1")
			b.request(requestRow("call_1", 1))
			row := requestRow("call_1", 1)
			row.Last = 1
			c.change(b, &row)
			if got := b.request(row); got.Number != 2 {
				t.Errorf("%+v", got)
			}
			if state := value[string](b, `SELECT state FROM approvals WHERE number = 1`); state != c.old {
				t.Errorf("the first is %s, want %s", state, c.old)
			}
		})
	}
}

func TestRequestNumbersGoOn(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := requestRow("call_1", 1)
	row.Last = 4
	if got := b.request(row); got.Number != 5 {
		t.Errorf("%+v", got)
	}
	row.View.Digest, row.Last = "another", 5
	if got := b.request(row); got.Number != 6 {
		t.Errorf("%+v", got)
	}
}

func TestRequestsAtOnceAreOne(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	together(10, func(int) {
		if got, err := b.Request(own(t), requestRow("call_1", 1)); err != nil || got.Number != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestDecisions(t *testing.T) {
	for verb, want := range map[toolspec.Verb]contract.RequestState{
		toolspec.Approve: contract.RequestApproved, toolspec.Deny: contract.RequestDenied,
		toolspec.Edit: contract.RequestEdited, toolspec.Withdraw: contract.RequestWithdrawn,
		toolspec.Retry: contract.RequestOpen, toolspec.SettleOK: contract.RequestOpen, toolspec.SettleFailed: contract.RequestOpen,
	} {
		t.Run(string(verb), func(t *testing.T) {
			b := open(t)
			b.admit("call_1")
			b.request(requestRow("call_1", 1))
			d := decision("call_1", 1, verb)
			if verb == toolspec.Edit {
				d.EditedArgs = []byte(`{"canary":"raw-edit"}`)
			}
			got := b.review(reviewRow("call_1", 1, 1, d))
			counts := want != contract.RequestOpen
			if got.State != want || got.Answer.Counted != counts || (got.Answer.Reason == "") != counts || (got.Approver == "user:bob") != counts {
				t.Errorf("%+v", got)
			}
			if d := b.detail("call_1").Approvals[0].Decisions; len(d) != 1 || d[0].Final != counts {
				t.Errorf("the decisions are %+v", d)
			}
			if n := value[int](b, `SELECT count(*) FROM decisions WHERE counted = $1`, counts); n != 1 {
				t.Errorf("%d decisions", n)
			}
			if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'decision' AND detail->>'approver' = 'user:bob'`); n != 1 {
				t.Errorf("%d events", n)
			}
			kept := value[string](b, `SELECT coalesce(string_agg(d::text, ' '), '') || (SELECT string_agg(e::text, ' ') FROM events e) FROM decisions d`)
			if strings.Contains(kept, "raw-edit") {
				t.Errorf("the edited arguments are stored: %s", kept)
			}
		})
	}
}

func TestTheJudgeDecidesWhatCounts(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	row := requestRow("call_1", 1)
	row.EditedBy = "user:eve"
	b.request(row)
	judged := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	var saw approval.OpenRequest
	judged.Judge = func(r approval.OpenRequest) (approval.Judgement, error) {
		saw = r
		return final(toolspec.Answer{Reason: "not you"})
	}
	got := b.review(judged)
	if got.State != contract.RequestOpen || got.Answer != (toolspec.Answer{Reason: "not you"}) || got.Approver != "" || got.Remaining <= 0 {
		t.Errorf("%+v", got)
	}
	if saw.EditedBy != "user:eve" || saw.RequestedBy != "user:ann" || saw.Rule.Digest() != row.Rule.Digest() {
		t.Errorf("the judge saw %+v", saw)
	}
}

// TestARemarkReachesTheSender: the sender of a decision that counts gets the remark of the answer, also when the decision is repeated.
func TestARemarkReachesTheSender(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	row := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	want := toolspec.Answer{Counted: true, Reason: "for this call only"}
	row.Judge = func(approval.OpenRequest) (approval.Judgement, error) { return final(want) }
	for range 2 {
		if got := b.review(row); got.Answer != want {
			t.Errorf("%+v", got)
		}
	}
}

// TestTheSameDecisionAgain: a decision that is delivered again, as after a reset, must get the same answer as the first time.
func TestTheSameDecisionAgain(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	refused := decision("call_1", 1, toolspec.Approve)
	refused.Approver = "user:ann"
	approve := decision("call_1", 1, toolspec.Approve)
	first, second := b.review(reviewRow("call_1", 1, 1, refused)), b.review(reviewRow("call_1", 1, 1, approve))
	if first.Answer.Counted || !second.Answer.Counted {
		t.Fatalf("%+v, %+v", first, second)
	}
	b.admit("call_1")
	for d, want := range map[*toolspec.Decision]approval.ReviewRecord{
		refused: {Answer: first.Answer, State: contract.RequestApproved, Approver: "user:bob"},
		approve: {Answer: second.Answer, State: contract.RequestApproved, Approver: "user:bob"},
	} {
		row := reviewRow("call_1", 2, 1, d)
		row.Judge = func(approval.OpenRequest) (approval.Judgement, error) {
			t.Error("judged again")
			return approval.Judgement{}, nil
		}
		got := b.review(row)
		got.Remaining = 0
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM decisions`); n != 2 {
		t.Errorf("%d decisions", n)
	}
}

// TestDecisionsDifferInAnything: two decisions are the same only if all their fields are equal. The JSON formatting of edited arguments makes no difference.
func TestDecisionsDifferInAnything(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	edit := func(args string) *toolspec.Decision {
		d := decision("call_1", 1, toolspec.Edit)
		d.EditedArgs = json.RawMessage(args)
		return d
	}
	if got := b.review(reviewRow("call_1", 1, 1, edit(`{"a":1,"b":2}`))); !got.Answer.Counted {
		t.Fatalf("%+v", got)
	}
	if got := b.review(reviewRow("call_1", 1, 1, edit(`{"b": 2.0, "a": 1}`))); !got.Answer.Counted {
		t.Errorf("the same in another form: %+v", got)
	}
	if got := b.review(reviewRow("call_1", 1, 1, edit(`{"a":1,"b":3}`))); got.Answer != (toolspec.Answer{Reason: "the request is already edited"}) {
		t.Errorf("another edit: %+v", got)
	}
	proof := edit(`{"a":1,"b":2}`)
	proof.Proof = "token"
	if got := b.review(reviewRow("call_1", 1, 1, proof)); got.Answer.Counted {
		t.Errorf("with a proof: %+v", got)
	}
	if got := value[string](b, `SELECT string_agg(DISTINCT d::text, ' ') FROM decisions d`); strings.Contains(got, "token") {
		t.Errorf("a proof is stored: %s", got)
	}
}

func TestFirstFinalDecisionWins(t *testing.T) {
	b := open(t)
	for round := range 10 {
		call := "call_" + string(rune('a'+round))
		b.admit(call)
		b.request(requestRow(call, 1))
		var mu sync.Mutex
		var winners []string
		states := map[contract.RequestState]bool{}
		together(8, func(i int) {
			verb := toolspec.Approve
			if i%2 == 1 {
				verb = toolspec.Deny
			}
			d := decision(call, 1, verb)
			d.Approver = "user:" + string(rune('A'+i))
			got, err := b.Review(own(t), reviewRow(call, 1, 1, d))
			mu.Lock()
			defer mu.Unlock()
			states[got.State] = true
			switch {
			case err != nil:
				t.Error(err)
			case got.Answer.Counted:
				winners = append(winners, d.Approver)
			case got.Answer.Reason != "the request is already "+string(got.State):
				t.Errorf("%+v", got)
			}
		})
		if len(winners) != 1 || len(states) != 1 {
			t.Fatalf("winners %v, states %v", winners, states)
		}
		if got := value[string](b, `SELECT approver FROM approvals WHERE invocation_id = $1`, id(call)); got != winners[0] {
			t.Errorf("recorded %s, told %s", got, winners[0])
		}
	}
	if n := value[int](b, `SELECT count(*) FROM decisions`); n != 80 {
		t.Errorf("%d decisions", n)
	}
}

// TestExpiryIsTheDatabasesMatter: only the clock of the database decides whether a request has expired.
func TestExpiryIsTheDatabasesMatter(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	look := b.review(reviewRow("call_1", 1, 1, nil))
	if look.State != contract.RequestOpen || look.Remaining <= 0 {
		t.Errorf("%+v", look)
	}
	b.sql(`UPDATE approvals SET expires_at = now()`)
	late := b.review(reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve)))
	if late.State != contract.RequestExpired || late.Answer != (toolspec.Answer{Reason: "the request is already expired"}) || late.Remaining != 0 {
		t.Errorf("%+v", late)
	}
	if state := value[string](b, `SELECT state FROM approvals`); state != "expired" {
		t.Error(state)
	}
}

// TestExpiryBetweenTheSteps: a request that expires while its decision is being judged stays expired.
func TestExpiryBetweenTheSteps(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	row := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	judge := row.Judge
	row.Judge = func(r approval.OpenRequest) (approval.Judgement, error) {
		b.sql(`UPDATE approvals SET expires_at = now()`)
		return judge(r)
	}
	if got := b.review(row); got.State != contract.RequestExpired || got.Answer.Counted {
		t.Errorf("%+v", got)
	}
}

// TestSupersededBetweenTheSteps: a run that loses its call while a decision is being judged writes nothing.
func TestSupersededBetweenTheSteps(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(requestRow("call_1", 1))
	row := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	row.Judge = func(approval.OpenRequest) (approval.Judgement, error) {
		b.admit("call_1")
		return final(toolspec.Answer{Counted: true})
	}
	if got := b.review(row); !got.Superseded {
		t.Errorf("%+v", got)
	}
	if n := value[int](b, `SELECT count(*) FROM decisions`); n != 0 {
		t.Errorf("%d decisions", n)
	}
}

func TestLookWithoutARequest(t *testing.T) {
	b := open(t)
	p := development(t)
	b.admit("call_1")
	row := reviewRow("call_1", 1, 1, nil)
	row.ApprovalID, row.Gate = "", 3
	if got := b.review(row); !reflect.DeepEqual(got, approval.ReviewRecord{}) {
		t.Errorf("%+v", got)
	}
	if _, err := b.ApplyPolicy(t.Context(), p, "ops"); err != nil {
		t.Fatal(err)
	}
	if got := b.review(row); got.PolicyDigest != p.Digest() {
		t.Errorf("%+v", got)
	}
	row.Gate = 2
	b.review(row)
	if gate := b.admit("call_1").Rounds.Gate; gate != 3 {
		t.Errorf("gate %d", gate)
	}
	b.settle(settleIn("call_1", 2))
	row.Epoch = 2
	if got := b.review(row); !got.Superseded {
		t.Errorf("settled: %+v", got)
	}
}

func TestReviewRoundTrips(t *testing.T) {
	b := open(t)
	for _, call := range []string{"warm", "call_1"} {
		b.admit(call)
		b.request(requestRow(call, 1))
		b.trips.Store(0)
		b.review(reviewRow(call, 1, 1, nil))
		b.review(reviewRow(call, 1, 1, decision(call, 1, toolspec.Approve)))
	}
	if n := b.trips.Load(); n != 3 {
		t.Errorf("a look and a decision took %d round trips, want 1 and 2", n)
	}
}
