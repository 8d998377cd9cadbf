package approval

import (
	"fmt"
	"slices"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// maxWaiting is the largest number of decisions of one group that may wait in the inbox of a call.
const maxWaiting = 64

// group is a kind of waiting decisions. At most maxWaiting decisions of each group wait, so that a flood of forged
// decisions leaves room for the verified decisions.
type group int

const (
	notOpen      group = iota // decisions on requests that are not open
	openVerified              // verified decisions on the open request
	openOther                 // other decisions on the open request
)

const foreignDecision = "the approvalId belongs to another call"

// delivery is a decision that arrived, with its answer.
type delivery struct {
	decision toolspec.Decision
	// number is the number of the request that the decision is about.
	number int
	// update says that the decision came as an update, whose sender waits for the answer.
	// Otherwise it came as a signal.
	update   bool
	evidence evidence
	// reply is the answer to the sender; nil while the decision has no answer.
	reply *toolspec.Answer
}

// inbox keeps each decision until its request is open and the call reviews the decision. A signal may arrive before
// the workflow opens the request: some senders decide early, and after a reset Temporal delivers the signals again.
type inbox struct {
	invocationID string
	deliveries   []*delivery
	// open is the open request, or nil.
	open *contract.RequestOut
	// highest is the number of the last request that is or was open.
	highest int
	// closed is the reason why the inbox is closed; empty while the inbox is open.
	closed string
	// decided holds the decisions that counted, by the number of the request.
	decided map[int][]countedDecision
	// countedEdits are the edits that counted, in their order.
	countedEdits []toolspec.Decision

	quota quota
	// dropped counts the signals that were dropped because they could not count.
	dropped int
	// acceptedAnswers holds the last answers to signals that the call accepted.
	acceptedAnswers answers
	// droppedAnswers holds the last answers to signals that the call dropped. In one list, many dropped signals
	// would push out the answers to accepted signals.
	droppedAnswers answers
}

// countedDecision is a decision that counted.
type countedDecision struct {
	// becomes is the state that the request has after such a decision, once the decision is final.
	becomes  contract.RequestState
	approver string
	// parked says that the request was about an unknown outcome.
	parked bool
	// confirmed counts how often a repeat of the decision got the answer that it counted.
	confirmed int
}

// recordCounted records a decision that counted. A sender that repeats the decision
// learns that it counted, even if the first answer was lost with a worker.
func (b *inbox) recordCounted(open contract.RequestOut, becomes contract.RequestState, approver string) {
	if b.decided == nil {
		b.decided = map[int][]countedDecision{}
	}
	b.decided[open.Number] = append(b.decided[open.Number], countedDecision{becomes: becomes, approver: approver, parked: open.View.Parked != ""})
}

// findCounted returns the earlier decision of the same approver with the same verb on the
// request if that decision counted, or nil. It never returns an edit, because the
// arguments of two edits may differ.
func (b *inbox) findCounted(d toolspec.Decision, number int) *countedDecision {
	if id, _, _ := toolspec.SplitApprovalID(d.ApprovalID); id != b.invocationID {
		return nil
	}
	of := b.decided[number]
	i := slices.IndexFunc(of, func(s countedDecision) bool {
		becomes, fits := contract.Becomes(d.Decision, s.parked)
		return fits && becomes == s.becomes && becomes != contract.RequestEdited && d.Approver == s.approver
	})
	if i < 0 {
		return nil
	}
	return &of[i]
}

// answer sets the answer of a delivery. The state query shows the answers to signals.
func (b *inbox) answer(entry *delivery, a toolspec.Answer) {
	entry.reply = &a
	if a.Counted && entry.decision.Decision == toolspec.Edit {
		b.countedEdits = append(b.countedEdits, entry.decision)
	}
	if !entry.update {
		b.acceptedAnswers = b.acceptedAnswers.with(entry.decision, a)
	}
}

// drop sets the answer of a delivery that the call does not accept. If the delivery is a signal, drop counts it in
// dropped.
func (b *inbox) drop(entry *delivery, a toolspec.Answer) {
	entry.reply = &a
	if !entry.update {
		b.dropped++
		b.droppedAnswers = b.droppedAnswers.with(entry.decision, a)
	}
}

// answers returns the last answers to signals.
func (b *inbox) answers() []toolspec.SignalAnswer {
	return slices.Concat(b.acceptedAnswers, b.droppedAnswers)
}

// refuse answers a decision with the reason why it cannot count any more. A repeat of a decision that counted gets the
// answer that it counted.
func (b *inbox) refuse(entry *delivery, reason string) {
	if same := b.findCounted(entry.decision, entry.number); same != nil {
		same.confirmed++
		b.answer(entry, toolspec.Answer{Counted: true})
		return
	}
	b.answer(entry, toolspec.Answer{Reason: reason})
}

// closedReason returns why a request accepts no more decisions, or an empty string.
func (b *inbox) closedReason(number int) string {
	switch {
	case b.closed != "":
		return b.closed
	case number <= b.highest && !b.isOpen(number):
		return "the request is no longer open"
	}
	return ""
}

// isOpen reports whether the request with the number is the open request.
func (b *inbox) isOpen(number int) bool { return b.open != nil && b.open.Number == number }

// groupOf returns the group of a decision on the request with the number.
func (b *inbox) groupOf(number int, kind evidence) group {
	switch {
	case !b.isOpen(number):
		return notOpen
	case kind == verified:
		return openVerified
	default:
		return openOther
	}
}

// fullReason returns why a decision cannot wait in the inbox: maxWaiting decisions of its group wait already. If there is
// room, fullReason returns an empty string.
func (b *inbox) fullReason(number int, kind evidence) string {
	own, n := b.groupOf(number, kind), 0
	for _, entry := range b.deliveries {
		if b.groupOf(entry.number, entry.evidence) == own {
			n++
		}
	}
	if n >= maxWaiting {
		return fmt.Sprintf("more than %d decisions wait; decide on the open request", maxWaiting)
	}
	return ""
}

// earlyUpdates returns the number of updates that wait for requests that are not open.
func (b *inbox) earlyUpdates() (n int) {
	for _, entry := range b.deliveries {
		if entry.update && !b.isOpen(entry.number) {
			n++
		}
	}
	return n
}

// add puts a decision into the inbox, or answers at once why it cannot count.
func (b *inbox) add(d toolspec.Decision, update bool, now time.Time) *delivery {
	entry := &delivery{decision: d, update: update}
	invocationID, number, ok := toolspec.SplitApprovalID(d.ApprovalID)
	entry.number = number
	switch {
	case !ok || d.CheckForm() != nil:
		b.drop(entry, toolspec.Answer{Reason: "the decision is malformed"})
		return entry
	// If the inbox is closed, the code below answers also this decision with the reason why it is closed.
	case b.invocationID != "" && invocationID != b.invocationID && b.closed == "":
		b.drop(entry, toolspec.Answer{Reason: foreignDecision})
		return entry
	}
	if reason := b.closedReason(number); reason != "" {
		b.refuse(entry, reason)
		return entry
	}
	if b.isOpen(number) && !b.screenAndCount(entry, now) {
		return entry
	}
	if reason := b.fullReason(number, entry.evidence); reason != "" {
		b.drop(entry, toolspec.Answer{Reason: reason})
		return entry
	}
	b.deliveries = append(b.deliveries, entry)
	return entry
}

// screenAndCount reports whether a delivery may count on the open request, and counts it
// against the quota. Otherwise it drops the delivery.
func (b *inbox) screenAndCount(entry *delivery, now time.Time) bool {
	// A history may have no Accepts. Then the record judges every decision.
	if b.open.Accepts == nil {
		return true
	}
	// Each proof costs the verification of a signature, and a workflow task has little time.
	// The server's limit of updates in flight already bounds the proofs of updates.
	if entry.decision.Proof != "" && !entry.update && !b.quota.countSignature(now) {
		b.drop(entry, toolspec.Answer{Reason: "too many decisions came at once; send the decision again", Again: true})
		return false
	}
	kind, token, refused := b.screen(entry.decision, now, entry.update)
	if refused.reason != "" {
		b.drop(entry, toolspec.Answer{Reason: refused.reason, Again: refused.kind == toolspec.DecideAgain})
		return false
	}
	entry.evidence = kind
	b.quota.count(kind, token, now, entry.update)
	return true
}

// screen returns the kind of evidence and the token of a decision on the open request. If the call does not accept the
// decision, the refusal says why; otherwise it is zero. screen changes nothing.
func (b *inbox) screen(d toolspec.Decision, now time.Time, update bool) (evidence, *decisionToken, refusal) {
	if err := d.Check(); err != nil {
		return 0, nil, refusal{err.Error(), toolspec.DecideRefused}
	}
	view := b.open.View
	_, fits := contract.Becomes(d.Decision, view.Parked != "")
	switch {
	case !fits:
		return 0, nil, refusal{contract.Unfit(view.Parked != ""), toolspec.DecideRefused}
	case d.Digest != "" && d.Digest != view.Digest:
		return 0, nil, refusal{"the decision is about another digest than the request's; look at the request again", toolspec.DecideRefused}
	}
	kind, token, reason := checkEvidence(b.open.Accepts, d)
	if reason != "" {
		return kind, token, refusal{reason, toolspec.DecideRefused}
	}
	return kind, token, b.quota.check(kind, token, now, update)
}

// validate returns why the call does not accept an update, or the zero refusal if the
// call accepts it. validate changes nothing.
func (b *inbox) validate(d toolspec.Decision, now time.Time) refusal {
	_, number, _ := toolspec.SplitApprovalID(d.ApprovalID)
	if reason := b.closedReason(number); reason != "" {
		// The request is closed. The call still accepts a repeat of a decision that
		// counted, to confirm it, at most maxRepeats times.
		if same := b.findCounted(d, number); same != nil && same.confirmed < maxRepeats {
			return refusal{}
		}
		return refusal{reason, toolspec.DecideRefused}
	}
	var kind evidence
	switch {
	// The call cannot screen a decision before its request is open. Updates that wait for
	// a later request use up the server's limit of updates in flight, so they are bounded.
	case !b.isOpen(number):
		if n := b.earlyUpdates(); n >= maxEarlyUpdates {
			return refusal{fmt.Sprintf("%d updates wait for requests that are not open; decide once the request is open", n), toolspec.DecideBySignal}
		}
	case b.open.Accepts != nil:
		var refused refusal
		if kind, _, refused = b.screen(d, now, true); refused.reason != "" {
			return refused
		}
	}
	if reason := b.fullReason(number, kind); reason != "" {
		return refusal{reason, toolspec.DecideRefused}
	}
	return refusal{}
}

// setInvocation sets the id of the call. It refuses the decisions for other calls that
// arrived before the id was known.
func (b *inbox) setInvocation(invocationID string) {
	if b.invocationID = invocationID; invocationID == "" {
		return
	}
	b.remove(func(entry *delivery) bool {
		id, _, _ := toolspec.SplitApprovalID(entry.decision.ApprovalID)
		return id != invocationID
	}, foreignDecision)
}

// openRequest makes open the open request of the inbox. It then screens the decisions on this request that arrived
// earlier, and drops those of them that cannot count.
func (b *inbox) openRequest(open contract.RequestOut, now time.Time) {
	b.open, b.highest = &open, open.Number
	if open.Accepts == nil {
		return
	}
	b.deliveries = slices.DeleteFunc(slices.Clone(b.deliveries), func(entry *delivery) bool {
		return entry.number == open.Number && !b.screenAndCount(entry, now)
	})
}

// setAccepts replaces the Acceptance of the open request by a. If a is nil, because the activity Review did not read
// the Acceptance again, nothing changes.
func (b *inbox) setAccepts(a *contract.Acceptance) {
	if a != nil && b.open != nil {
		b.open.Accepts = a
	}
}

// closeRequest closes the inbox for a request, and refuses the decisions that wait for
// this request or an earlier one.
func (b *inbox) closeRequest(number int) {
	b.open, b.highest = nil, number
	b.remove(func(entry *delivery) bool { return entry.number <= number }, "the request is no longer open")
}

// close refuses every decision that waits in the inbox, and every later decision.
func (b *inbox) close(reason string) {
	b.closed = reason
	b.remove(func(*delivery) bool { return true }, reason)
}

// remove refuses the deliveries for which the function fits returns true.
func (b *inbox) remove(fits func(*delivery) bool, reason string) {
	kept := b.deliveries[:0:0]
	for _, entry := range b.deliveries {
		if fits(entry) {
			b.refuse(entry, reason)
		} else {
			kept = append(kept, entry)
		}
	}
	b.deliveries = kept
}

// hasDecision reports whether a decision waits for the open request.
func (b *inbox) hasDecision() bool {
	return slices.ContainsFunc(b.deliveries, func(entry *delivery) bool { return b.isOpen(entry.number) })
}

// next removes the oldest decision for the open request and returns it, or nil.
func (b *inbox) next() *delivery {
	return b.take(func(entry *delivery) bool { return b.isOpen(entry.number) })
}

// take removes the oldest delivery for which fits returns true and returns it, or nil.
func (b *inbox) take(fits func(*delivery) bool) *delivery {
	i := slices.IndexFunc(b.deliveries, fits)
	if i < 0 {
		return nil
	}
	entry := b.deliveries[i]
	b.deliveries = append(b.deliveries[:i:i], b.deliveries[i+1:]...)
	return entry
}

// edits returns the numbers of the requests for which an edit waits, in ascending order.
func (b *inbox) edits() []int {
	var numbers []int
	for _, entry := range b.deliveries {
		if entry.decision.Decision == toolspec.Edit {
			numbers = append(numbers, entry.number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// edit removes the oldest edit of a request and returns it, or nil.
func (b *inbox) edit(number int) *delivery {
	return b.take(func(entry *delivery) bool { return entry.number == number && entry.decision.Decision == toolspec.Edit })
}
