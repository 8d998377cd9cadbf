package postgres_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

// recorder is a notifier that records the notices that it gets.
type recorder struct {
	mu      sync.Mutex
	notices []toolspec.Notice
	// answer returns the answer to a notice. Without it, every notice succeeds.
	answer func(ctx context.Context, n toolspec.Notice) error
}

func (h *recorder) Notify(ctx context.Context, n toolspec.Notice) error {
	h.mu.Lock()
	h.notices = append(h.notices, n)
	h.mu.Unlock()
	if h.answer != nil {
		return h.answer(ctx, n)
	}
	return nil
}

// counts returns how often each notice came, by its id.
func (h *recorder) counts() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	times := map[string]int{}
	for _, n := range h.notices {
		times[n.ID]++
	}
	return times
}

func (b bench) newNotices(to map[string]outbox.Notifier) *outbox.Notices {
	return postgres.NewNotices(b.Store, to, slog.New(slog.DiscardHandler))
}

// runNotices delivers notices until the test ends or stop is called, and returns the log of the delivery.
func (b bench) runNotices(to map[string]outbox.Notifier, change ...func(*outbox.Notices)) (log *lockedBuffer, stop func()) {
	log = &lockedBuffer{}
	ctx, cancel := context.WithCancel(b.t.Context())
	stopped := make(chan error, 1)
	h := postgres.NewNotices(b.Store, to, slog.New(slog.NewTextHandler(log, nil))).Poll(10 * time.Millisecond)
	for _, f := range change {
		f(h)
	}
	go func() { stopped <- h.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-stopped; !errors.Is(err, context.Canceled) {
			b.t.Error(err)
		}
	})
	b.t.Cleanup(stop)
	return log, stop
}

// ask admits calls and opens a request for each.
func (b bench) ask(calls ...string) {
	b.t.Helper()
	for _, call := range calls {
		b.admit(call)
		b.request(requestRow(call, 1))
	}
}

func (b bench) sent(notifier string) int {
	b.t.Helper()
	return value[int](b, `SELECT count(*) FROM notice_deliveries WHERE notifier = $1 AND sent_at IS NOT NULL`, notifier)
}

// TestNoticesSayWhatHappened compares the notices that a notifier gets with the history of a request.
func TestNoticesSayWhatHappened(t *testing.T) {
	b := open(t)
	b.admit("call_1")
	b.request(waiting("call_1", 1))
	b.pass("call_1", 21*time.Minute)
	h := &recorder{}
	b.runNotices(map[string]outbox.Notifier{"h": h})
	until(t, "three are told", func() bool { return b.sent("h") == 3 })
	approve := reviewRow("call_1", 1, 1, decision("call_1", 1, toolspec.Approve))
	approve.Judge = func(approval.OpenRequest) (approval.Judgement, error) {
		return final(toolspec.Answer{Counted: true, Reason: "remembered"})
	}
	b.review(approve)
	until(t, "all are told", func() bool { return b.sent("h") == 4 })
	approvalID := toolspec.ApprovalID(id("call_1"), 1)
	seen := map[toolspec.NoticeKind]toolspec.Notice{}
	for _, n := range h.notices {
		seen[n.Kind] = n
		if n.TenantID != tenant || n.InvocationID != id("call_1") || n.WorkflowID != "tool:acme:run_1:call_1" || n.Approval.ApprovalID != approvalID || n.Attempts != 1 ||
			n.Approval.ToolID != "core__write_file" || string(n.Approval.Args) != `{"path":"a.txt"}` || n.Approval.Digest != "approval-digest" ||
			n.Approval.RequestedBy != "user:ann" || len(n.Approval.Escalations) != 2 || n.ID != id("call_1")+"_1_"+string(n.Kind) && n.Kind != toolspec.NoticeEscalated {
			t.Errorf("%+v", n)
		}
	}
	if n := seen[toolspec.NoticeDecided]; n.DecidedBy != "user:bob" || n.Decision != toolspec.Approve || n.Reason != "because" || n.Remark != "remembered" {
		t.Errorf("%+v", n)
	}
	if n := seen[toolspec.NoticeEscalated]; n.EscalatedTo != "role:security" || n.ID != id("call_1")+"_1_escalated_1" || n.DecidedBy != "" {
		t.Errorf("%+v", n)
	}
	if asked, reminded := seen[toolspec.NoticeRequested].At, seen[toolspec.NoticeReminded].At; reminded.Sub(asked) != 10*time.Minute {
		t.Errorf("asked at %s, reminded at %s", asked, reminded)
	}
}

// TestTwoWorkersNotifyOnce: a notice that one worker has taken is not taken by another.
func TestTwoWorkersNotifyOnce(t *testing.T) {
	b := open(t)
	h, other := &recorder{}, &recorder{}
	for range 2 {
		b.runNotices(map[string]outbox.Notifier{"h": h, "other": other})
	}
	var calls []string
	for i := range 40 {
		calls = append(calls, "call_"+string(rune('A'+i)))
	}
	b.ask(calls...)
	until(t, "all are told", func() bool { return b.sent("h") == 40 && b.sent("other") == 40 })
	for _, counts := range []map[string]int{h.counts(), other.counts()} {
		for notice, n := range counts {
			if n != 1 {
				t.Errorf("%s came %d times", notice, n)
			}
		}
	}
}

// TestNoticeIsSentAgain: when a worker has sent a notice and cannot record that, another worker sends the notice again under the same id.
func TestNoticeIsSentAgain(t *testing.T) {
	b := open(t)
	h := &recorder{}
	log, stop := b.runNotices(map[string]outbox.Notifier{"h": h})
	b.sql(`ALTER TABLE notice_deliveries ADD CONSTRAINT broken CHECK (sent_at IS NULL)`)
	b.ask("call_1")
	until(t, "the notice is told and not noted", func() bool { return contains(log.String(), "was not noted") })
	stop()
	if leased := value[bool](b, `SELECT bool_and(d.next_at > n.spread_at + interval '1 minute') FROM notice_deliveries d JOIN notices n USING (notice_id)`); !leased {
		t.Error("what was taken is due at once: there is no lease")
	}
	b.sql(`UPDATE notice_deliveries SET next_at = next_at + interval '1 hour'`) // so that its lease ends after the test
	b.sql(`ALTER TABLE notice_deliveries DROP CONSTRAINT broken`)
	b.runNotices(map[string]outbox.Notifier{"h": h})
	b.ask("call_2")
	until(t, "the fresh one is told", func() bool { return b.sent("h") == 1 })
	if n := h.counts()[id("call_1")+"_1_requested"]; n != 1 {
		t.Errorf("told %d times: the lease was not respected", n)
	}
	b.sql(`UPDATE notice_deliveries SET next_at = now() WHERE sent_at IS NULL`)
	until(t, "it is told again", func() bool { return b.sent("h") == 2 })
	if counts := h.counts(); len(counts) != 2 || counts[id("call_1")+"_1_requested"] != 2 {
		t.Errorf("%v", counts)
	}
}

// TestStopRecordsSentNotice: a worker that stops while it sends a notice still records that the notice was sent, so that it is not sent again.
func TestStopRecordsSentNotice(t *testing.T) {
	b := open(t)
	b.ask("call_1")
	ctx, stop := context.WithCancel(t.Context())
	h := b.newNotices(map[string]outbox.Notifier{"h": &recorder{answer: func(context.Context, toolspec.Notice) error { stop(); return nil }}})
	if err := h.Poll(10 * time.Millisecond).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if b.sent("h") != 1 {
		t.Error("the delivery was not noted")
	}
}

// TestFailedNoticeComesAgain: a notice that fails is sent again for one day, with a longer pause each time. The record keeps the kind of the error without its
// text. A panic of a notifier is such an error.
func TestFailedNoticeComesAgain(t *testing.T) {
	b := open(t)
	h := &recorder{answer: func(_ context.Context, n toolspec.Notice) error {
		if n.Attempts == 1 {
			panic("canary")
		}
		return errors.New("canary")
	}}
	b.noting("notice_deliveries")
	log, _ := b.runNotices(map[string]outbox.Notifier{"h": h})
	b.ask("call_1")
	for attempt, want := range []string{"panic", "*errors.errorString", "*errors.errorString"} {
		until(t, "the failure is noted", func() bool {
			return value[int](b, `SELECT count(*) FROM noted WHERE attempts = $1 AND error = $2 AND away > $3 * interval '0.5 s' AND away < interval '5 s'`,
				attempt+1, want, 1<<attempt) == 1
		})
		if n := value[int](b, `SELECT count(*) FROM notice_deliveries WHERE given_up_at IS NOT NULL`); n != 0 {
			t.Errorf("given up after %d attempts", attempt+1)
		}
		b.sql(`UPDATE notice_deliveries SET next_at = now() WHERE attempts = $1`, attempt+1)
	}
	backlog, err := b.NoticeBacklogs(t.Context())
	if err != nil || len(backlog) != 1 || backlog[0] != (reads.NoticeBacklog{Notifier: "h"}) {
		t.Errorf("of a moment: %+v, %v", backlog, err)
	}
	b.sql(`UPDATE notices SET at = at - interval '6 minutes'`)
	backlog, err = b.NoticeBacklogs(t.Context())
	if err != nil || len(backlog) != 1 || backlog[0].Late != 1 || backlog[0].GivenUp != 0 || backlog[0].Since == nil || backlog[0].LastError != "*errors.errorString" {
		t.Errorf("%+v, %v", backlog, err)
	}
	// A notice is given up after a day.
	b.sql(`UPDATE notices SET at = at - interval '1 day'`)
	b.sql(`UPDATE notice_deliveries SET next_at = now()`)
	until(t, "it is given up", func() bool {
		return value[int](b, `SELECT count(*) FROM notice_deliveries WHERE given_up_at IS NOT NULL`) == 1
	})
	backlog, err = b.NoticeBacklogs(t.Context())
	if err != nil || len(backlog) != 1 || backlog[0].Late != 0 || backlog[0].GivenUp != 1 || backlog[0].Notifier != "h" {
		t.Errorf("%+v, %v", backlog, err)
	}
	until(t, "the log says so", func() bool { return contains(log.String(), "level=ERROR msg=\"notices: one was given up\"") })
	if contains(log.String(), "canary") {
		t.Error(log.String())
	}
}

// TestDeadNotifierDelaysNoOther: a notifier that does not answer delays neither the notices of another notifier nor reminders and escalations.
func TestDeadNotifierDelaysNoOther(t *testing.T) {
	b := open(t)
	dead, alive := &recorder{answer: func(ctx context.Context, _ toolspec.Notice) error { <-ctx.Done(); return ctx.Err() }}, &recorder{}
	b.runNotices(map[string]outbox.Notifier{"dead": dead, "alive": alive})
	b.admit("waits")
	b.request(waiting("waits", 1))
	until(t, "the dead one has it", func() bool { return len(dead.counts()) == 1 })
	b.ask("a", "b", "c", "d", "e", "f", "g", "h")
	b.pass("waits", 11*time.Minute)
	until(t, "the other is told all", func() bool { return b.sent("alive") == 10 })
	if n := b.sent("dead"); n != 0 {
		t.Errorf("%d of the dead one", n)
	}
}

// TestWorkerWithoutNotifiers: a worker without notifiers creates due notices and leaves their delivery to workers that have notifiers. Notices that are older
// than a day are not sent.
func TestWorkerWithoutNotifiers(t *testing.T) {
	b := open(t)
	b.ask("old")
	b.sql(`UPDATE notices SET at = at - interval '25 hours'`)
	b.admit("call_1")
	b.request(waiting("call_1", 1))
	b.runNotices(nil)
	b.pass("call_1", 11*time.Minute)
	until(t, "notices are created", func() bool { return b.notices("call_1") == "(1_escalated_1), (1_escalated_2), 1_reminded, 1_requested" })
	h := &recorder{}
	b.runNotices(map[string]outbox.Notifier{"h": h})
	until(t, "a later worker tells", func() bool { return b.sent("h") == 2 })
	if counts := h.counts(); len(counts) != 2 || counts[id("old")+"_1_requested"] != 0 {
		t.Errorf("%v", counts)
	}
}

// TestNotifierOfAnotherWorker: a worker that does not have one of the notifiers leaves its deliveries until a worker comes that has this notifier.
func TestNotifierOfAnotherWorker(t *testing.T) {
	b := open(t)
	h, own := &recorder{}, &recorder{}
	_, stop := b.runNotices(map[string]outbox.Notifier{"h": h, "own": own})
	until(t, "both are known", func() bool { return value[int](b, `SELECT count(*) FROM notifiers`) == 2 })
	stop()
	b.runNotices(map[string]outbox.Notifier{"h": h})
	b.ask("call_1")
	until(t, "one is told", func() bool { return b.sent("h") == 1 })
	b.runNotices(map[string]outbox.Notifier{"h": h, "own": own})
	until(t, "and the other", func() bool { return b.sent("own") == 1 })
	if len(h.notices) != 1 {
		t.Errorf("the first was told %d times", len(h.notices))
	}
	// No delivery waits for a notifier that no worker has had for a day.
	b.sql(`UPDATE notifiers SET seen_at = seen_at - interval '25 hours'`)
	b.sql(`INSERT INTO notifiers VALUES ('gone', now() - interval '25 hours')`)
	until(t, "both say again that they are there", func() bool {
		return value[int](b, `SELECT count(*) FROM notifiers WHERE seen_at > now() - interval '1 hour'`) == 2
	})
	b.ask("call_2")
	until(t, "both are told", func() bool { return b.sent("h") == 2 && b.sent("own") == 2 })
	if n := value[int](b, `SELECT count(*) FROM notice_deliveries WHERE notifier = 'gone'`); n != 0 {
		t.Errorf("%d wait for nobody", n)
	}
	if n := value[int](b, `SELECT count(*) FROM notifiers WHERE seen_at > now() - interval '1 hour'`); n != 2 {
		t.Errorf("%d are there, want two", n)
	}
}
