package authorization

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// noTests returns the plain policy, changed so that it denies every tool of the tests.
func noTests(t *testing.T) string {
	t.Helper()
	return e2etest.PlainPolicyWith(t, `["core__*", "test__*"]`, `["core__*"]`)
}

func digestOf(t *testing.T, rules string) string {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return p.Digest()
}

// TestPolicyReload: a running worker applies a new version of the policy to the next call. Calls that run go on.
func TestPolicyReload(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	slow := e2etest.NewHung()
	w.Work(worker.Tools(e2etest.Tool("test__echo", e2etest.Echo, e2etest.Fast),
		e2etest.Tool("test__slow", slow.Run, e2etest.Within(2*time.Minute))))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__echo", `{"text":"hello"}`)), "hello")
	running := w.Start(e2etest.Invocation("running", "test__slow", `{"text":"hello"}`))
	e2etest.Receive(t, slow.Entered)

	rules := noTests(t)
	began := time.Now()
	w.Apply(rules)
	// The test does not wait, because each call reads which version is active.
	r := w.Invoke(e2etest.Invocation("after", "test__echo", `{"text":"hello"}`))
	e2etest.WantCode(t, r, toolspec.CodePolicyDenied)
	t.Logf("the next call was denied %s after the change began", time.Since(began))
	digest := digestOf(t, rules)
	if record := w.Record(e2etest.Invocation("after", "", "")); record.PolicyDigest != digest || r.Details.Rule != "allowedTools" {
		t.Errorf("judged by %s, %+v; want %s", record.PolicyDigest, r.Details, digest)
	}
	w.Until(func() bool { return w.Log.Has("policy changed\" digest=" + digest) }, "the worker says that policy changed")

	// The call that runs keeps the version with which it began: it does not wait, and so it is not judged again.
	close(slow.Release)
	e2etest.WantText(t, w.Result(running), "hello")

	// The worker has read the next version before a call needs it. Its row cannot be read from now on, and calls are judged by it in spite of that.
	rules = e2etest.PlainPolicyWith(t, "mode: auto", "mode: yolo")
	began = time.Now()
	w.Apply(rules)
	w.Until(func() bool { return w.Log.Has("policy changed\" digest=" + digestOf(t, rules)) }, "the worker says that policy changed once more")
	t.Logf("the worker had read the version %s after the change began", time.Since(began))
	release := w.LockTable("policies")
	defer release()
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("ahead", "test__echo", `{"text":"hello"}`)), "hello")
}

// TestPolicyOfANewerRelease: when the worker cannot read the active version, a call is not judged by an older version and does not fail. It waits for a worker
// that can read the version, or for a version that this worker can read.
func TestPolicyOfANewerRelease(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__echo", e2etest.Echo, e2etest.Fast),
		e2etest.Tool("test__write", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("before", "test__echo", `{"text":"hello"}`)), "hello")
	asking := w.Start(e2etest.Invocation("asking", "test__write", `{"text":"hello"}`))
	w.Waiting(asking.WorkflowID)

	const source = `{"tenants":{},"version":99}`
	sum := sha256.Sum256([]byte(source))
	digest := hex.EncodeToString(sum[:])
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, w.Database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `INSERT INTO policies (digest, source) VALUES ('`+digest+`', '`+source+`');
		UPDATE policy_active SET digest = '`+digest+`', activated_by = 'newer'; NOTIFY pawl_policy`); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return w.Log.Has("this worker cannot read; calls wait for a worker that can") }, "the worker says so")
	call := w.Start(e2etest.Invocation("call", "test__echo", `{"text":"hello"}`))
	w.Approve(asking.WorkflowID)
	w.Until(func() bool {
		return e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_TIMER_STARTED) > 0
	}, "the call waits for a worker")
	if state := w.State(call.WorkflowID); state.Status != toolspec.StatusRunning {
		t.Errorf("%+v", state)
	}

	w.Apply(e2etest.PlainPolicy)
	e2etest.WantText(t, w.Result(call), "hello")
	e2etest.WantText(t, w.Result(asking), "hello")
	w.Replay(call.WorkflowID)
	w.Replay(asking.WorkflowID)
}
