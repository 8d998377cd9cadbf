package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// maxLetters bounds what waits in the inbox of a call.
const maxLetters = 64

const foreignLetter = "the approvalId belongs to another call"

// letter is a decision on its way, with the place for its answer.
type letter struct {
	decision toolspec.Decision
	number   int
	reply    *toolspec.Answer
}

func (l *letter) answer(a toolspec.Answer) { l.reply = &a }

// inbox keeps decisions until the request they are for is open. Signals may
// arrive before the workflow asks: early, and after a reset again.
type inbox struct {
	invocationID string
	letters      []*letter
	// expected is the number of the open request, 0 if none is; highest is the
	// last one that was open.
	expected, highest int
	closed            string
	// stands is what has counted, by the numbers of the requests.
	stands map[int][]standing
	looks  int
	looked bool
}

// standing is what a decision has made of a request.
type standing struct {
	becomes  RequestState
	approver string
	parked   bool
}

// stand notes a decision that counted. Who sends it again hears that it did, also
// where the answer to the first one was lost with a worker.
func (b *inbox) stand(open RequestOut, becomes RequestState, approver string) {
	if b.stands == nil {
		b.stands = map[int][]standing{}
	}
	b.stands[open.Number] = append(b.stands[open.Number], standing{becomes, approver, open.View.Parked != ""})
}

// counted reports whether a decision is one that stands. An edit may be of other
// arguments.
func (b *inbox) counted(l *letter) bool {
	if id, _, _ := toolspec.SplitApprovalID(l.decision.ApprovalID); id != b.invocationID {
		return false
	}
	return slices.ContainsFunc(b.stands[l.number], func(s standing) bool {
		becomes, fits := Becomes(l.decision.Decision, s.parked)
		return fits && becomes == s.becomes && becomes != RequestEdited && l.decision.Approver == s.approver
	})
}

// refuse answers a decision that comes too late.
func (b *inbox) refuse(l *letter, reason string) {
	if b.counted(l) {
		l.answer(toolspec.Answer{Counted: true})
		return
	}
	l.answer(toolspec.Answer{Reason: reason})
}

// put takes a decision in, or answers at once why it cannot count.
func (b *inbox) put(d toolspec.Decision) *letter {
	l := &letter{decision: d}
	invocationID, number, ok := toolspec.SplitApprovalID(d.ApprovalID)
	l.number = number
	switch {
	case !ok || d.Check() != nil:
		l.answer(toolspec.Answer{Reason: "the decision is malformed"})
	case b.closed != "":
		b.refuse(l, b.closed)
	case b.invocationID != "" && invocationID != b.invocationID:
		l.answer(toolspec.Answer{Reason: foreignLetter})
	case number <= b.highest && number != b.expected:
		b.refuse(l, "the request is no longer open")
	case b.waits(number == b.expected) >= maxLetters:
		l.answer(toolspec.Answer{Reason: fmt.Sprintf("more than %d decisions wait; decide on the open request", maxLetters)})
	default:
		b.letters = append(b.letters, l)
	}
	return l
}

// waits counts the letters for the open request, or all others: those that come
// too early must not keep anybody from deciding.
func (b *inbox) waits(open bool) int {
	n := 0
	for _, l := range b.letters {
		if (l.number == b.expected) == open {
			n++
		}
	}
	return n
}

// own says whose inbox this is. What came before admit knew it may be for
// another call.
func (b *inbox) own(invocationID string) {
	if b.invocationID = invocationID; invocationID == "" {
		return
	}
	b.drop(func(l *letter) bool {
		id, _, _ := toolspec.SplitApprovalID(l.decision.ApprovalID)
		return id != invocationID
	}, foreignLetter)
}

// expect opens the inbox for a request.
func (b *inbox) expect(number int) { b.expected, b.highest = number, number }

// done closes it, and answers whoever comes too late.
func (b *inbox) done(number int) {
	b.expected = 0
	b.drop(func(l *letter) bool { return l.number <= number }, "the request is no longer open")
}

// close answers everybody for good.
func (b *inbox) close(reason string) {
	b.closed = reason
	b.drop(func(*letter) bool { return true }, reason)
}

func (b *inbox) drop(which func(*letter) bool, reason string) {
	kept := b.letters[:0:0]
	for _, l := range b.letters {
		if which(l) {
			b.refuse(l, reason)
		} else {
			kept = append(kept, l)
		}
	}
	b.letters = kept
}

// await holds until a decision for the open request is there, somebody asks to
// look again, or d has passed.
func (b *inbox) await(ctx workflow.Context, d time.Duration) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timerCtx, max(d, 0), workflow.TimerOptions{Summary: "the approval request expires"})
	return workflow.Await(ctx, func() bool { return b.waiting() || b.looks > 0 || timer.IsReady() })
}

// rest holds until somebody asks to look again, or d has passed. What was asked
// before counts too.
func (b *inbox) rest(ctx workflow.Context, d time.Duration, summary string) error {
	timerCtx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timerCtx, max(d, 0), workflow.TimerOptions{Summary: summary})
	err := workflow.Await(ctx, func() bool { return b.looks > 0 || timer.IsReady() })
	b.looks = 0
	return err
}

func (b *inbox) waiting() bool {
	for _, l := range b.letters {
		if l.number == b.expected {
			return true
		}
	}
	return false
}

// next takes the oldest decision for the open request, or nil.
func (b *inbox) next() *letter {
	for i, l := range b.letters {
		if l.number == b.expected {
			b.letters = append(b.letters[:i:i], b.letters[i+1:]...)
			return l
		}
	}
	b.looked, b.looks = b.looks > 0, 0
	return nil
}

// edits are the numbers of the requests that somebody wants to edit, in order.
func (b *inbox) edits() []int {
	var numbers []int
	for _, l := range b.letters {
		if l.decision.Decision == toolspec.Edit {
			numbers = append(numbers, l.number)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// edit takes the oldest edit of a request, or nil.
func (b *inbox) edit(number int) *letter {
	for i, l := range b.letters {
		if l.number == number && l.decision.Decision == toolspec.Edit {
			b.letters = append(b.letters[:i:i], b.letters[i+1:]...)
			return l
		}
	}
	return nil
}

// recheck reports, once, whether somebody asked to look again.
func (b *inbox) recheck() bool {
	looked := b.looked
	b.looked = false
	return looked
}
