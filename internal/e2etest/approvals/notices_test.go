package approvals

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const (
	chief        = "user:chief"
	noticeSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	noticePolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals:
      expiresAfter: 1h
      allowUnsigned: true
      approvers: ["user:ann"]
      remindAfter: 1s
      escalate: [{after: 2s, approvers: ["role:chiefs"]}, {after: 30m, approvers: ["user:boss"]}]
    roles: {chiefs: ["user:chief"]}
`
)

// receiver is a receiver of webhooks with its own verification of signatures. It ignores notices that it has already got.
type receiver struct {
	t      *testing.T
	server *httptest.Server

	mu sync.Mutex
	// kinds has the kinds of the notices of each approval, in the order in which they came. came counts the deliveries of each notice.
	kinds  map[string][]string
	came   map[string]int
	bodies map[string]string
	// answer writes the response to delivery number n of a notice. It may be nil.
	answer func(w http.ResponseWriter, r *http.Request, kind string, n int)
}

type noticeBody struct {
	Type string `json:"type"`
	Data struct {
		Approval    toolspec.ApprovalView `json:"approval"`
		EscalatedTo string                `json:"escalatedTo"`
		DecidedBy   string                `json:"decidedBy"`
		Decision    string                `json:"decision"`
	} `json:"data"`
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t, kinds: map[string][]string{}, came: map[string]int{}, bodies: map[string]string{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	text, err := io.ReadAll(req.Body)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(noticeSecret, "whsec_"))
	mac := hmac.New(sha256.New, key)
	id := req.Header.Get("webhook-id")
	mac.Write([]byte(id + "." + req.Header.Get("webhook-timestamp") + "." + string(text)))
	if err != nil || req.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
		r.t.Errorf("%s is not signed: %v", id, err)
		http.Error(w, "who are you", http.StatusUnauthorized)
		return
	}
	var b noticeBody
	if err := json.Unmarshal(text, &b); err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	r.came[id]++
	n := r.came[id]
	if n > 1 && r.bodies[id] != string(text) {
		r.t.Errorf("%s said first %s and then %s", id, r.bodies[id], text)
	}
	r.bodies[id] = string(text)
	if n == 1 {
		call := b.Data.Approval.ApprovalID
		r.kinds[call] = append(r.kinds[call], strings.TrimPrefix(b.Type, "approval."))
	}
	r.mu.Unlock()
	if r.answer != nil {
		r.answer(w, req, b.Type, n)
	}
}

// of returns the kinds of the notices of a request, sorted.
func (r *receiver) of(approvalID string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := slices.Clone(r.kinds[approvalID])
	slices.Sort(kinds)
	return strings.Join(kinds, " ")
}

func (r *receiver) body(kind, approvalID string) (b noticeBody) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.bodies[strings.ReplaceAll(approvalID, ".", "_")+"_"+kind]
	if err := json.Unmarshal([]byte(text), &b); err != nil {
		r.t.Errorf("%s of %s: %v in %q", kind, approvalID, err, text)
	}
	return b
}

// notifying returns the configuration of a worker that sends its notices to the receiver.
func notifying(w *e2etest.World, r *receiver) worker.Config {
	c := w.Config()
	c.Notify = worker.Notify{URL: r.server.URL, Secret: noticeSecret, Log: true}
	return c
}

// TestNoticesOfApprovals: two workers send notices to a receiver that refuses the first deliveries, and each notice arrives once.
func TestNoticesOfApprovals(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.Replace(noticePolicy, `remindAfter: 1s
      escalate: [{after: 2s, approvers: ["role:chiefs"]}, {after: 30m, approvers: ["user:boss"]}]`, "", 1))
	r, own := newReceiver(t), &sync.Map{}
	r.answer = func(rw http.ResponseWriter, req *http.Request, _ string, n int) {
		switch n {
		case 1:
			http.Error(rw, "not now", http.StatusInternalServerError)
		case 2:
			http.Redirect(rw, req, r.server.URL+"/elsewhere", http.StatusFound)
		}
	}
	options := []worker.Option{worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)),
		worker.Notifier("own", func(_ context.Context, n toolspec.Notice) error {
			own.Store(n.ID, n)
			return nil
		})}
	w.WorkWith(notifying(w, r), options...)
	w.WorkWith(notifying(w, r), options...)
	asked := w.Start(e2etest.Invocation("asked", "test__send", `{"text":"hello"}`))
	view := w.Approve(asked.WorkflowID)
	e2etest.WantText(t, w.Result(asked), "hello")
	cancelled := w.Start(e2etest.Invocation("cancelled", "test__send", `{"text":"hello"}`))
	other := w.Waiting(cancelled.WorkflowID)
	end(w, cancelled)
	w.Until(func() bool {
		return r.of(view.ApprovalID) == "decided requested" && r.of(other.ApprovalID) == "closed requested"
	}, "the receiver is told")
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM notice_deliveries WHERE sent_at IS NOT NULL`) == 12
	}, "all of them are noted")
	r.mu.Lock()
	for id, n := range r.came {
		if n < 3 {
			t.Errorf("%s came %d times, want two refusals and at least one more", id, n)
		}
	}
	r.mu.Unlock()
	if b := r.body("decided", view.ApprovalID); b.Data.DecidedBy != e2etest.Ann || b.Data.Decision != "approve" ||
		b.Data.Approval.Digest != view.Digest {
		t.Errorf("%+v", b)
	}
	if n, ok := own.Load(strings.ReplaceAll(view.ApprovalID, ".", "_") + "_decided"); !ok || n.(toolspec.Notice).DecidedBy != e2etest.Ann {
		t.Errorf("a notifier of one's own was told %+v", n)
	}
	if log := w.Log.String(); !strings.Contains(log, "kind=decided") || !strings.Contains(log, "webhook: status 500") ||
		strings.Contains(log, "not now") || strings.Contains(log, "MfKQ9r8") {
		t.Error("the log lacks a notice or a failure, or says too much")
	}
}

// TestRemindedEscalatedDecided: a request that nobody decides on sends a reminder, and then escalates to other people, who can decide from then on and not
// earlier.
func TestRemindedEscalatedDecided(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, noticePolicy)
	r := newReceiver(t)
	w.WorkWith(notifying(w, r), worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	inv := e2etest.Invocation("waits", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	if len(view.Escalations) != 2 || view.Escalations[0].Approvers != "role:chiefs" ||
		view.ExpiresAtMs-view.Escalations[0].AtMs != (time.Hour-2*time.Second).Milliseconds() ||
		!strings.HasPrefix(view.Approvers, "user:ann, but not the requester "+e2etest.Actor+"; after 2s also role:chiefs; after 30m also user:boss") {
		t.Errorf("state shows %+v", view)
	}
	boss := e2etest.Approving(view.ApprovalID, "user:boss")
	if answer := w.Decide(call.WorkflowID, boss); answer.Counted || !strings.Contains(answer.Reason, "may not decide yet") {
		t.Errorf("the boss, too soon: %+v", answer)
	}
	w.Until(func() bool { return r.of(view.ApprovalID) == "escalated reminded requested" }, "the receiver is told of reminder and escalation")
	if b := r.body("escalated_1", view.ApprovalID); b.Data.EscalatedTo != "role:chiefs" {
		t.Errorf("%+v", b)
	}
	printed := w.PawlCLI("approvals", "show waits")
	for _, text := range printed {
		if !strings.Contains(text, "went to") || !strings.Contains(text, "role:chiefs, since 20") || !strings.Contains(text, "goes to") ||
			!strings.Contains(text, "user:boss, at 20") {
			t.Errorf("pawl shows %s", text)
		}
	}
	boss.Reason = "again"
	if answer := w.Decide(call.WorkflowID, boss); answer.Counted {
		t.Errorf("the boss, still too soon: %+v", answer)
	}
	if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, chief)); !answer.Counted {
		t.Errorf("the chief, in time: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	w.Until(func() bool { return r.of(view.ApprovalID) == "decided escalated reminded requested" }, "the receiver is told of the decision")
	var kinds []string
	record := w.Record(inv)
	for _, e := range record.Events {
		if strings.HasPrefix(e.Kind, "approval_") {
			kinds = append(kinds, e.Kind)
		}
	}
	if want := []string{"approval_requested", "approval_reminded", "approval_escalated"}; !slices.Equal(kinds, want) ||
		len(record.Approvals[0].Decisions) != 3 {
		t.Errorf("the record has %v and %d decisions, want %v and three", kinds, len(record.Approvals[0].Decisions), want)
	}
	w.Replay(call.WorkflowID)
}

// TestExpiredIsNotified: a request that expires sends a notice of that, and a reminder before.
func TestExpiredIsNotified(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.NewReplacer("expiresAfter: 1h", "expiresAfter: 12s", `
      escalate: [{after: 2s, approvers: ["role:chiefs"]}, {after: 30m, approvers: ["user:boss"]}]`, "").Replace(noticePolicy))
	r := newReceiver(t)
	w.WorkWith(notifying(w, r), worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Invocation("expires", "test__send", `{"text":"hello"}`))
	e2etest.WantCode(t, w.Result(call), toolspec.CodeApprovalExpired)
	w.Until(func() bool { return r.of(toolspec.ApprovalID(call.InvocationID, 1)) == "expired reminded requested" }, "the receiver is told")
}

// TestKilledWorkerResendsNotice: a worker is killed after the receiver has got a notice and before it has answered. The next worker sends the notice again
// under the same id, and also the notices that became due in between.
func TestKilledWorkerResendsNotice(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, noticePolicy)
	r := newReceiver(t)
	has, release := make(chan struct{}, 1), make(chan struct{})
	r.answer = func(_ http.ResponseWriter, _ *http.Request, kind string, n int) {
		if kind == "approval.requested" && n == 1 {
			has <- struct{}{}
			<-release
		}
	}
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	dying := w.ServeInChildWith("PAWL_NOTIFY_URL="+r.server.URL, "PAWL_NOTIFY_SECRET="+noticeSecret)
	inv := e2etest.Invocation("waits", "test__asked", `{"text":"`+t.TempDir()+`/ran"}`)
	call := w.Start(inv)
	e2etest.Receive(t, has)
	view := w.Waiting(call.WorkflowID)
	e2etest.Kill(dying)
	// Two seconds pass without a worker, and no notice is sent.
	w.Until(func() bool {
		return e2etest.Scalar[bool](w, `SELECT bool_and(at < now()) FROM notices WHERE kind = 'reminded' OR kind = 'escalated' AND number = 1`)
	}, "time passes")
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM notice_deliveries WHERE sent_at IS NOT NULL`); n != 0 {
		t.Errorf("%d deliveries are noted", n)
	}
	w.ServeInChildWith("PAWL_NOTIFY_URL="+r.server.URL, "PAWL_NOTIFY_SECRET="+noticeSecret)
	w.Until(func() bool { return r.of(view.ApprovalID) == "escalated reminded requested" }, "what happened meanwhile is told")
	// The lease of the dead worker would last for two minutes. The test ends it earlier.
	e2etest.Scalar[int](w, `WITH over AS (UPDATE notice_deliveries SET next_at = now() WHERE sent_at IS NULL RETURNING 1) SELECT count(*)::int FROM over`)
	requested := strings.ReplaceAll(view.ApprovalID, ".", "_") + "_requested"
	w.Until(func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.came[requested] >= 2
	}, "what the dead one had is told again")
	if answer := w.Decide(call.WorkflowID, e2etest.Approving(view.ApprovalID, chief)); !answer.Counted {
		t.Errorf("%+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "done")
	w.Until(func() bool { return r.of(view.ApprovalID) == "decided escalated reminded requested" }, "the decision is told")
}

// TestDoctorListsFailedNotifiers: `pawl doctor` reports a notifier whose notices fail.
func TestDoctorListsFailedNotifiers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	// This is a plain server and not a receiver: a receiver would take the notice whose time is changed below for a forgery.
	refusing := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(refusing.Close)
	c := w.Config()
	c.Notify = worker.Notify{URL: refusing.URL, Secret: noticeSecret}
	w.WorkWith(c, worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Invocation("asked", "test__send", `{"text":"hello"}`))
	w.Waiting(call.WorkflowID)
	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM notice_deliveries WHERE last_error = 'webhook: status 418'`) == 1
	}, "the failure is noted")
	e2etest.Scalar[int](w, `WITH old AS (UPDATE notices SET at = at - interval '10 minutes' RETURNING 1) SELECT count(*)::int FROM old`)
	if text := w.PawlCLI("doctor")[0]; !strings.Contains(text, "FAIL  notices     webhook: 1 notices are late, the oldest of 20") ||
		!strings.Contains(text, "(webhook: status 418)") {
		t.Errorf("doctor says %s", text)
	}
	end(w, call)
}
