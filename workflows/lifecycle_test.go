package workflows_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

var update = flag.Bool("update", false, "rewrite golden files")

func startOptions(id string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: toolspec.TaskQueue}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "stages", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("stages of %s:\n%s\nwant:\n%s", name, got, want)
	}
}

func TestStageOrder(t *testing.T) {
	const args = `{"text":"hello"}`
	for _, tc := range []struct {
		name  string
		tool  string
		args  string
		code  toolspec.Code
		rig   rigOptions
		setup func(*rig)
	}{
		{name: "read", tool: "core__read", args: args},
		{name: "write_approved", tool: "core__write", args: args, setup: func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
		}},
		{name: "denied", tool: "core__read", args: args, code: toolspec.CodePolicyDenied,
			rig: rigOptions{policy: "version: 1\ntenants: {acme: {allowedTools: [core__write]}}\n"}},
		{name: "unavailable", tool: "core__nothing", args: args, code: toolspec.CodeUnavailable},
		{name: "invalid", tool: "core__read", args: `{"text":7}`, code: toolspec.CodeValidation},
		{name: "abort_in_willAuthorize", tool: "core__read", args: args, code: toolspec.CodeAborted,
			rig: rigOptions{hooks: []hook.Hook{hook.New("closed", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
				return v.Abort("closed today", hook.Code("closed"), hook.HTTPStatus(451))
			}))}}},
		{name: "failing_tool", tool: "core__write", args: args, code: toolspec.CodeExecution,
			rig: rigOptions{fail: func(int) error { return errPlain }}, setup: func(r *rig) {
				r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
			}},
		{name: "approval_denied", tool: "core__write", args: args, code: toolspec.CodeApprovalDenied, setup: func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Deny, "user:bob")
		}},
		{name: "approval_expired", tool: "core__write", args: args, code: toolspec.CodeApprovalExpired},
		{name: "cancel_while_waiting", tool: "core__write", args: args, code: toolspec.CodeCancelled, setup: func(r *rig) {
			r.env.RegisterDelayedCallback(r.env.CancelWorkflow, time.Minute)
		}},
		{name: "approval_edited", tool: "core__write", args: args, setup: func(r *rig) {
			r.decideAfter(time.Minute, 1, toolspec.Edit, "user:bob", func(d *toolspec.Decision) { d.EditedArgs = []byte(`{"text":"edited"}`) })
			r.decideAfter(2*time.Minute, 2, toolspec.Approve, "user:cid")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, tc.rig)
			if tc.setup != nil {
				tc.setup(r)
			}
			result := r.run(call(tc.tool, tc.args))
			if result.ErrorCode != tc.code || result.OK != (tc.code == "") {
				t.Errorf("result %+v, want code %q", result, tc.code)
			}
			golden(t, tc.name, r.stages())
		})
	}
}
