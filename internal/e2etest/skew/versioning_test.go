package skew

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// versions is a world whose workers are versions of Worker Deployments of Temporal.
type versions struct{ *e2etest.World }

func (v *versions) serve(deployment, build string, environment ...string) *exec.Cmd {
	v.T.Helper()
	return v.ServeInChildWith(append(environment, "PAWL_DEPLOYMENT="+deployment, "PAWL_BUILD_ID="+build)...)
}

// makeCurrent waits until the worker of a build polls, and makes the build the current version of its deployment.
func (v *versions) makeCurrent(deployment, build string) {
	v.T.Helper()
	var last error
	v.Until(func() bool {
		_, last = v.CLI("worker", "deployment", "set-current-version", "--deployment-name", deployment, "--build-id", build, "--yes")
		return last == nil
	}, "build "+build+" is current", &last)
}

func (v *versions) call(name, tool, note string) toolspec.Invocation {
	v.T.Helper()
	inv := e2etest.Invocation(name, tool, fmt.Sprintf(`{"text":%q,"note":%q}`, filepath.Join(v.Workspace, name), note))
	v.Start(inv)
	return inv
}

// ranOn waits for the end of a call, and checks that these workers ran its tool, in this order.
func (v *versions) ranOn(inv toolspec.Invocation, workers ...*exec.Cmd) {
	v.T.Helper()
	id := inv.Identity().WorkflowID()
	if r := v.ResultOf(id, ""); !r.OK {
		v.T.Errorf("%s ended with %s: %s", inv.ToolCallID, r.ErrorCode, r.SafeMessage)
	}
	var want []string
	for _, w := range workers {
		want = append(want, fmt.Sprint(w.Process.Pid))
	}
	if got := v.Effects(filepath.Join(v.Workspace, inv.ToolCallID)); !slices.Equal(got, want) {
		v.T.Errorf("%s ran on %q, want %q", inv.ToolCallID, got, want)
	}
	v.WantSound(id)
	if b := v.Describe(id).GetWorkflowExecutionInfo().GetVersioningInfo().GetBehavior(); b != enumspb.VERSIONING_BEHAVIOR_AUTO_UPGRADE {
		v.T.Errorf("%s is %s", inv.ToolCallID, b)
	}
}

func (v *versions) asks(name string) toolspec.Invocation {
	v.T.Helper()
	inv := v.call(name, "test__asked", "")
	v.Waiting(inv.Identity().WorkflowID())
	return inv
}

// TestWorkerVersions uses the commands of docs/upgrade.md with workers that are versions of a Worker Deployment. New calls go to the current version only.
// Waiting calls go on with the current version, even if the worker that began them still runs, and also after a rollback. Calls of a pool go to the
// deployment of the pool.
func TestWorkerVersions(t *testing.T) {
	t.Parallel()
	v := &versions{e2etest.NewWorld(t, e2etest.PlainPolicy)}
	a := v.serve("pawl", "a")
	pool := v.serve("media", "1", "PAWL_POOL=media")
	v.makeCurrent("pawl", "a")
	v.makeCurrent("media", "1")
	v.ranOn(v.call("first", "test__read", ""), a)
	asked := v.asks("asked")
	busy := v.call("busy", "test__write", "busy")
	v.Retrying(busy.Identity().WorkflowID())

	b := v.serve("pawl", "b")
	v.Until(func() bool {
		_, err := v.CLI("worker", "deployment", "describe-version", "--deployment-name", "pawl", "--build-id", "b")
		return err == nil
	}, "the worker of build b polls")
	v.ranOn(v.call("before", "test__fast", ""), a)
	v.makeCurrent("pawl", "b")
	v.ranOn(v.call("after", "test__fast", ""), b)
	v.Approve(asked.Identity().WorkflowID())
	v.ranOn(asked, b)
	v.ranOn(busy, a, b)
	v.ranOn(v.call("pooled", "test__pooled", ""), pool)

	back := v.asks("back")
	v.makeCurrent("pawl", "a")
	v.Approve(back.Identity().WorkflowID())
	v.ranOn(back, a)
}
