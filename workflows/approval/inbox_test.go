package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

const testCall = "0b6ee7ae-3e26-5b1c-9a4e-0d2f4e7f7a11"

var now = time.UnixMilli(1_000_000)

// decision returns an unsigned decision on the n-th request of the call.
func decision(n int, verb toolspec.Verb, approver string) toolspec.Decision {
	d := toolspec.Decision{ApprovalID: toolspec.ApprovalID(testCall, n), Decision: verb, Approver: approver}
	if verb == toolspec.Edit {
		d.EditedArgs = json.RawMessage(`{}`)
	}
	return d
}

// opened returns the n-th request of the call. A request without accepts has the record judge every decision.
func opened(n int, accepts *contract.Acceptance) contract.RequestOut {
	return contract.RequestOut{Number: n, View: &toolspec.ApprovalView{ApprovalID: toolspec.ApprovalID(testCall, n)}, Accepts: accepts}
}

func newInbox() *inbox { return &inbox{invocationID: testCall} }

// fill adds n decisions that wait, and expects that all of them do.
func fill(t *testing.T, b *inbox, n, request int, update bool) {
	t.Helper()
	for i := range n {
		if l := b.add(decision(request, toolspec.Approve, fmt.Sprintf("user:%d", i)), update, now); l.reply != nil {
			t.Fatalf("decision %d on request %d got the answer %+v", i, request, *l.reply)
		}
	}
}

// TestInboxHasThreeBounds: decisions of one kind leave room for those of the others.
func TestInboxHasThreeBounds(t *testing.T) {
	t.Parallel()
	b := newInbox()
	b.openRequest(opened(1, nil), now)
	fill(t, b, maxWaiting, 1, false)
	if reason := b.fullReason(1, unverified); reason == "" {
		t.Error("the open request takes more decisions than its bound")
	}
	if reason := b.fullReason(1, verified); reason != "" {
		t.Errorf("a verified decision finds no room: %s", reason)
	}
	if reason := b.fullReason(2, unverified); reason != "" {
		t.Errorf("a decision on another request finds no room: %s", reason)
	}
	fill(t, b, maxWaiting, 2, false)
	// Which of the later requests does not matter, and neither does the kind of evidence.
	for _, kind := range []evidence{unverified, verified} {
		if reason := b.fullReason(3, kind); reason == "" {
			t.Error("the requests that are not open take more decisions than their bound")
		}
	}
	if l := b.add(decision(2, toolspec.Approve, "user:late"), false, now); l.reply == nil || l.reply.Counted || b.dropped != 1 {
		t.Errorf("a decision without room: %+v, dropped %d", l.reply, b.dropped)
	}
	if refused := b.validate(decision(2, toolspec.Approve, "user:late"), now); refused.kind != toolspec.DecideRefused {
		t.Errorf("an update without room: %+v", refused)
	}
}

// TestEarlyUpdatesAreBounded: updates that wait for a later request use up what the server lets wait, and signals do not.
func TestEarlyUpdatesAreBounded(t *testing.T) {
	t.Parallel()
	b := newInbox()
	b.openRequest(opened(1, nil), now)
	fill(t, b, maxEarlyUpdates, 1, true)
	fill(t, b, maxEarlyUpdates, 2, false)
	fill(t, b, maxEarlyUpdates-1, 2, true)
	if refused := b.validate(decision(2, toolspec.Approve, "user:bob"), now); refused.reason != "" {
		t.Errorf("the last one: %+v", refused)
	}
	fill(t, b, 1, 2, true)
	if n := b.earlyUpdates(); n != maxEarlyUpdates {
		t.Errorf("%d updates are early, want %d", n, maxEarlyUpdates)
	}
	if refused := b.validate(decision(3, toolspec.Approve, "user:bob"), now); refused.kind != toolspec.DecideBySignal {
		t.Errorf("one more: %+v", refused)
	}
	if refused := b.validate(decision(1, toolspec.Approve, "user:bob"), now); refused.reason != "" {
		t.Errorf("on the open request: %+v", refused)
	}
}

// TestLateDecisions: a decision on a request that was open before is refused, one on a later request waits, and a closed inbox refuses all.
func TestLateDecisions(t *testing.T) {
	t.Parallel()
	b := newInbox()
	b.openRequest(opened(2, nil), now)
	for n, late := range map[int]bool{1: true, 2: false, 3: false} {
		if reason := b.closedReason(n); (reason != "") != late {
			t.Errorf("on request %d: %q", n, reason)
		}
	}
	b.closeRequest(2)
	if b.closedReason(2) == "" || b.closedReason(3) != "" || b.isOpen(2) {
		t.Error("after request 2 only later ones are open to decisions")
	}
	waits := b.add(decision(3, toolspec.Approve, "user:bob"), true, now)
	b.close("the call is settled")
	if waits.reply == nil || waits.reply.Reason != "the call is settled" || len(b.deliveries) != 0 {
		t.Errorf("a decision that waited: %+v", waits.reply)
	}
	// A closed inbox says so to everybody, also about the requests of other calls.
	foreign := toolspec.Decision{ApprovalID: toolspec.ApprovalID("7d0cdf3c-9b5c-5c5a-8f4e-0d2f4e7f7a11", 1), Decision: toolspec.Approve, Approver: "user:bob"}
	if l := b.add(foreign, true, now); l.reply.Reason != "the call is settled" {
		t.Errorf("of another call: %+v", l.reply)
	}
}

// TestDecisionsOfOtherCalls: they are dropped as soon as the id of the call is known.
func TestDecisionsOfOtherCalls(t *testing.T) {
	t.Parallel()
	foreign := toolspec.Decision{ApprovalID: toolspec.ApprovalID("7d0cdf3c-9b5c-5c5a-8f4e-0d2f4e7f7a11", 1), Decision: toolspec.Approve, Approver: "user:bob"}
	b := &inbox{}
	early, own := b.add(foreign, true, now), b.add(decision(1, toolspec.Approve, "user:bob"), true, now)
	if b.setInvocation(""); early.reply != nil || own.reply != nil {
		t.Errorf("before the id is known: %+v, %+v", early.reply, own.reply)
	}
	if b.setInvocation(testCall); early.reply == nil || early.reply.Reason != foreignDecision || own.reply != nil {
		t.Errorf("after it: %+v, %+v", early.reply, own.reply)
	}
	if l := b.add(foreign, false, now); l.reply == nil || l.reply.Reason != foreignDecision || b.dropped != 1 {
		t.Errorf("a later one: %+v", l.reply)
	}
	if l := b.add(toolspec.Decision{ApprovalID: "none", Decision: toolspec.Approve, Approver: "user:bob"}, false, now); l.reply == nil || l.reply.Reason != "the decision is malformed" {
		t.Errorf("one without a form: %+v", l.reply)
	}
}

// TestCountedDecisionsAreConfirmed: who repeats a decision that has counted learns that, and nobody else does.
func TestCountedDecisionsAreConfirmed(t *testing.T) {
	t.Parallel()
	b := newInbox()
	b.openRequest(opened(1, nil), now)
	b.recordCounted(opened(1, nil), contract.RequestApproved, "user:bob")
	b.closeRequest(1)
	for name, tc := range map[string]struct {
		decision toolspec.Decision
		counted  bool
	}{
		"the same":         {decision(1, toolspec.Approve, "user:bob"), true},
		"another verb":     {decision(1, toolspec.Deny, "user:bob"), false},
		"another approver": {decision(1, toolspec.Approve, "user:eve"), false},
		"another question": {decision(1, toolspec.SettleOK, "user:bob"), false},
	} {
		if refused := b.validate(tc.decision, now); (refused.reason == "") != tc.counted {
			t.Errorf("%s, as an update: %+v", name, refused)
		}
		if l := b.add(tc.decision, true, now); l.reply == nil || l.reply.Counted != tc.counted || (l.reply.Reason == "") != tc.counted {
			t.Errorf("%s: %+v", name, l.reply)
		}
	}
	for range maxRepeats - 1 {
		b.add(decision(1, toolspec.Approve, "user:bob"), true, now)
	}
	if refused := b.validate(decision(1, toolspec.Approve, "user:bob"), now); refused.reason == "" {
		t.Errorf("after %d repeats the call still confirms", maxRepeats)
	}
	// The arguments of two edits may differ, so an edit is never confirmed.
	b.recordCounted(opened(2, nil), contract.RequestEdited, "user:bob")
	if same := b.findCounted(decision(2, toolspec.Edit, "user:bob"), 2); same != nil {
		t.Errorf("an edit is confirmed: %+v", same)
	}
}

// TestEdits: the inbox names the requests for which an edit waits, and gives out the oldest edit of a request.
func TestEdits(t *testing.T) {
	t.Parallel()
	b := newInbox()
	for _, d := range []toolspec.Decision{
		decision(3, toolspec.Edit, "user:ann"), decision(1, toolspec.Approve, "user:ann"), decision(2, toolspec.Edit, "user:bob"), decision(3, toolspec.Edit, "user:cid"),
	} {
		b.add(d, false, now)
	}
	if got := b.edits(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("edits wait for %v", got)
	}
	if b.edit(1) != nil {
		t.Error("an approval is taken for an edit")
	}
	for _, want := range []string{"user:ann", "user:cid"} {
		if l := b.edit(3); l == nil || l.decision.Approver != want {
			t.Fatalf("got %+v, want the edit of %s", l, want)
		}
	}
	if b.edit(3) != nil || !slices.Equal(b.edits(), []int{2}) || len(b.deliveries) != 2 {
		t.Errorf("left are %v", b.edits())
	}
	if b.next() != nil || b.hasDecision() {
		t.Error("no request is open")
	}
	b.openRequest(opened(1, nil), now)
	if l := b.next(); l == nil || l.number != 1 || b.hasDecision() {
		t.Errorf("got %+v for the open request", l)
	}
}

// TestDecisionsAreScreenedWhenTheRequestOpens: what cannot count on it is dropped, and what waits for another request stays.
func TestDecisionsAreScreenedWhenTheRequestOpens(t *testing.T) {
	t.Parallel()
	for unsigned, kept := range map[bool]int{true: 2, false: 1} {
		b := newInbox()
		b.add(decision(1, toolspec.Approve, "user:bob"), false, now)
		b.add(decision(2, toolspec.Approve, "user:bob"), false, now)
		b.openRequest(opened(1, &contract.Acceptance{Unsigned: unsigned}), now)
		if len(b.deliveries) != kept || b.hasDecision() != unsigned || len(b.answers()) != 2-kept {
			t.Errorf("where unsigned decisions count (%t) %d decisions wait, with %d answers", unsigned, len(b.deliveries), len(b.answers()))
		}
	}
	// The keys are read again while the request is open, and only then.
	b := newInbox()
	b.setAccepts(&contract.Acceptance{})
	b.openRequest(opened(1, &contract.Acceptance{}), now)
	if b.setAccepts(nil); b.open.Accepts == nil || b.open.Accepts.Unsigned {
		t.Error("nothing was read, and the acceptance changed")
	}
	if b.setAccepts(&contract.Acceptance{Unsigned: true}); !b.open.Accepts.Unsigned {
		t.Error("what was read again does not count")
	}
}

// TestScreen: a decision must fit the question and the digest of the open request.
func TestScreen(t *testing.T) {
	t.Parallel()
	own, other := strings.Repeat("d", 64), strings.Repeat("e", 64)
	for name, tc := range map[string]struct {
		parked bool
		verb   toolspec.Verb
		digest string
		fits   bool
	}{
		"an approval": {false, toolspec.Approve, "", true}, "with the digest": {false, toolspec.Approve, own, true}, "with another digest": {false, toolspec.Approve, other, false},
		"of a parked call": {true, toolspec.Approve, "", false}, "a resolution of it": {true, toolspec.SettleOK, "", true}, "a resolution of another": {false, toolspec.SettleOK, "", false},
	} {
		b := newInbox()
		open := opened(1, &contract.Acceptance{Unsigned: true})
		if open.View.Digest = own; tc.parked {
			open.View.Parked = "timeout"
		}
		b.openRequest(open, now)
		d := decision(1, tc.verb, "user:bob")
		d.Digest = tc.digest
		if _, _, refused := b.screen(d, now, false); (refused.reason == "") != tc.fits {
			t.Errorf("%s: %+v", name, refused)
		}
	}
}
