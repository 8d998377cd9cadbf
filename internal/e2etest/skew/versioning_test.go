package skew

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/health"
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
	v.set("set-current-version", "--deployment-name", deployment, "--build-id", build)
}

// ramp makes build b the version of the deployment pawl that gets these per cent of the calls.
func (v *versions) ramp(percentage string) {
	v.T.Helper()
	v.set("set-ramping-version", "--deployment-name", "pawl", "--build-id", "b", "--percentage", percentage)
}

// set runs a command on a deployment until it succeeds. It fails before a worker of the build polls, and while the workflow in which Temporal keeps
// the deployment continues in a new run.
func (v *versions) set(args ...string) {
	v.T.Helper()
	var last error
	v.Until(func() bool {
		_, last = v.CLI(append(append([]string{"worker", "deployment"}, args...), "--yes")...)
		return last == nil
	}, strings.Join(args, " "), &last)
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

var probedAt = regexp.MustCompile(`the worker answers probes" address=(\S+)`)

// ready returns the HTTP status of /readyz of the one worker with a listener, or 0 unless a check is in a state and says something.
func (v *versions) ready(name string, state health.State, says string) (status int) {
	v.T.Helper()
	at := probedAt.FindStringSubmatch(v.Log.String())
	if at == nil {
		return 0
	}
	req, err := http.NewRequestWithContext(v.T.Context(), http.MethodGet, "http://"+at[1]+"/readyz", nil)
	if err != nil {
		v.T.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	var report health.Report
	if json.NewDecoder(answer.Body).Decode(&report) != nil {
		return 0
	}
	if !slices.ContainsFunc(report.Checks, func(c health.Check) bool {
		return c.Name == name && c.State == state && strings.Contains(c.Message, says)
	}) {
		return 0
	}
	return answer.StatusCode
}

// doctor returns what pawl doctor says in the environment of a build of the deployment pawl, and its exit status.
func (v *versions) doctor(build string) (text string, status int) {
	v.T.Helper()
	cmd := v.Child(v.T.Context(), e2etest.ChildCommand, "doctor")
	cmd.Env = append(cmd.Env, "PAWL_DEPLOYMENT=pawl", "PAWL_BUILD_ID="+build)
	out, err := cmd.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		v.T.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
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

	b := v.serve("pawl", "b", "PAWL_HEALTH_LISTEN=127.0.0.1:0")
	var waits int
	v.Until(func() bool { waits = v.ready("deployment", health.Degraded, "build b is neither"); return waits > 0 }, "build b knows that it gets no calls")
	if waits != http.StatusOK {
		t.Errorf("a build that waits for its turn answers %d, so no rollout ends", waits)
	}
	if text, status := v.doctor("b"); status != 1 || !strings.Contains(text, "FAIL  deployment") || !strings.Contains(text, "set-current-version --deployment-name pawl --build-id b") {
		t.Errorf("pawl doctor of build b: %d %s", status, text)
	}
	if text, _ := v.doctor("a"); !strings.Contains(text, "ok    deployment  build a is the current one of the deployment pawl") {
		t.Errorf("pawl doctor of build a: %s", text)
	}
	v.ramp("5")
	v.Until(func() bool { return v.ready("deployment", health.OK, "build b gets 5 %") > 0 }, "build b knows that it gets some calls")
	v.ramp("0")
	busy := v.call("busy", "test__write", "busy")
	v.Retrying(busy.Identity().WorkflowID())
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
	v.Until(func() bool { return v.ready("deployment", health.OK, "build b is the current one") > 0 }, "build b knows that it gets the calls")

	back := v.asks("back")
	v.makeCurrent("pawl", "a")
	v.Approve(back.Identity().WorkflowID())
	v.ranOn(back, a)
}
