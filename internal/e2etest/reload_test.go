package e2etest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// noTests is the plain policy with every tool of the tests denied.
func noTests(t *testing.T) string {
	t.Helper()
	return changed(t, `["core__*", "test__*"]`, `["core__*"]`)
}

func digestOf(t *testing.T, rules string) string {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	return p.Digest()
}

// TestPolicyReload: a running worker obeys a new version at the next call, and has read it by then; what runs goes on.
func TestPolicyReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	slow := newHung()
	w.work(worker.Tools(tool("test__echo", echo, fast), tool("test__slow", slow.run, within(2*time.Minute))))
	wantText(t, w.invoke(invocation("before", "test__echo", `{"text":"hello"}`)), "hello")
	running := w.start(invocation("running", "test__slow", `{"text":"hello"}`))
	receive(t, slow.entered)

	rules := noTests(t)
	began := time.Now()
	w.apply(rules)
	// Nobody waits for anything: the pointer is read by the call itself.
	r := w.invoke(invocation("after", "test__echo", `{"text":"hello"}`))
	wantCode(t, r, toolspec.CodePolicyDenied)
	t.Logf("the next call was denied %s after the change began", time.Since(began))
	digest := digestOf(t, rules)
	if record := w.record(invocation("after", "", "")); record.PolicyDigest != digest || r.Details.Rule != "allowedTools" {
		t.Errorf("judged by %s, %+v; want %s", record.PolicyDigest, r.Details, digest)
	}
	w.until(func() bool { return w.log.has("policy changed\" digest=" + digest) }, "the worker says that policy changed")

	// A call in flight keeps what it began with: it does not wait, so nobody asks again.
	close(slow.release)
	wantText(t, w.result(running), "hello")

	// The next version has been read ahead: nobody can read it now, and calls are judged by it all the same.
	rules = changed(t, "mode: auto", "mode: yolo")
	began = time.Now()
	w.apply(rules)
	w.until(func() bool { return w.log.has("policy changed\" digest=" + digestOf(t, rules)) }, "the worker says that policy changed once more")
	t.Logf("the worker had read the version %s after the change began", time.Since(began))
	release := w.lock("policies")
	defer release()
	wantText(t, w.invoke(invocation("ahead", "test__echo", `{"text":"hello"}`)), "hello")
}

// TestPolicyOfANewerRelease: a version that this worker cannot read. It is not judged by memory, and not failed: it waits for a worker that
// can read it, or for a version that this one can.
func TestPolicyOfANewerRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.work(worker.Tools(tool("test__echo", echo, fast), tool("test__write", echo, once, risky)))
	wantText(t, w.invoke(invocation("before", "test__echo", `{"text":"hello"}`)), "hello")
	asking := w.start(invocation("asking", "test__write", `{"text":"hello"}`))
	w.waiting(asking.WorkflowID)

	const source = `{"tenants":{},"version":99}`
	sum := sha256.Sum256([]byte(source))
	digest := hex.EncodeToString(sum[:])
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `INSERT INTO policies (digest, source) VALUES ('`+digest+`', '`+source+`');
		UPDATE policy_active SET digest = '`+digest+`', activated_by = 'newer'; NOTIFY pawl_policy`); err != nil {
		t.Fatal(err)
	}
	w.until(func() bool { return w.log.has("this worker cannot read; calls wait for a worker that can") }, "the worker says so")
	call := w.start(invocation("call", "test__echo", `{"text":"hello"}`))
	w.approve(asking.WorkflowID)
	w.until(func() bool { return count(w.history(call.WorkflowID, ""), enumspb.EVENT_TYPE_TIMER_STARTED) > 0 }, "the call waits for a worker")
	if state := w.state(call.WorkflowID); state.Status != toolspec.StatusRunning {
		t.Errorf("%+v", state)
	}

	w.apply(plainPolicy)
	wantText(t, w.result(call), "hello")
	wantText(t, w.result(asking), "hello")
	w.replay(call.WorkflowID)
	w.replay(asking.WorkflowID)
}
