package takeovers

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// These are the tools of the releases. Calls of the first one need an approval, and calls of the second one do not.
const (
	deployedAsked = "test__deployed_asked"
	deployedWrite = "test__deployed_write"
)

// releases returns the options of the releases that a team has deployed, one after the other. They have the same binary and differ in the tools and hooks, which
// are the code of the user. TestNewerPlanOnAnOlderWorker has releases with different code of Pawl.
func releases() map[string][]worker.Option {
	tools := func(change ...func(*toolspec.Definition)) worker.Option {
		return worker.Tools(
			e2etest.Tool(deployedWrite, e2etest.Entered, append(change, e2etest.Idempotent, e2etest.Attempts(5),
				e2etest.Within(2*time.Minute))...),
			e2etest.Tool(deployedAsked, e2etest.Entered, append(change, e2etest.Idempotent, e2etest.Risky)...),
		)
	}
	stricter := func(id string, change ...func(*toolspec.Definition)) toolspec.Tool {
		def := toolspec.Definition{
			ID: id, Description: "wants more", Version: "2", Effect: toolspec.StateChange, Idempotent: true, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}
		for _, c := range change {
			c(&def)
		}
		return toolspec.Define(def, func(context.Context, struct {
			Text string `json:"text"`
			Note string `json:"note"`
			Must string `json:"must"`
		}, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: "done"}, nil
		})
	}
	// The hook guard can end a call, and meter cannot. newcomer records the calls for which it runs.
	guard := hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil })
	meter := hook.New("meter", hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return nil }))
	newcomer := hook.New("newcomer", hook.WillExecute.Do(func(_ context.Context, v *hook.Attempt) error {
		var args e2etest.In
		if err := json.Unmarshal(v.Args(), &args); err != nil {
			return err
		}
		return e2etest.Enter(args.Text+".newcomer", v.ToolCallID())
	}))
	return map[string][]worker.Option{
		"first":                 {tools(), worker.Hooks(hook.New("guard", guard), meter)},
		"without a closed hook": {tools(), worker.Hooks(meter)},
		"with a hook renamed":   {tools(), worker.Hooks(hook.New("guardian", guard), meter)},
		"without a logged hook": {tools(), worker.Hooks(hook.New("guard", guard))},
		"with a new hook":       {tools(), worker.Hooks(hook.New("guard", guard), meter, newcomer)},
		"with a changed tool":   {tools(e2etest.Version("2")), worker.Hooks(hook.New("guard", guard), meter)},
		"with a stricter tool": {worker.Tools(stricter(deployedWrite), stricter(deployedAsked, e2etest.Risky)),
			worker.Hooks(hook.New("guard", guard), meter)},
		"without the tool at all": {worker.Hooks(hook.New("guard", guard), meter)},
	}
}

// TestDeploys: a new release replaces another one while one call waits for a person, one waits for its next attempt, and one is in execute.
func TestDeploys(t *testing.T) {
	t.Parallel()
	const ok, stale, invalid = toolspec.Code(""), toolspec.CodeApprovalStale, toolspec.CodeValidation
	for release, want := range map[string]struct {
		// lacks names what the release does not have. The calls wait for it until the first release is deployed again.
		lacks  string
		parked toolspec.Code
		others toolspec.Code
	}{
		"without a closed hook":   {"hook guard", ok, ok},
		"with a hook renamed":     {"hook guard", ok, ok},
		"without the tool at all": {"tool test__deployed", ok, ok},
		"without a logged hook":   {"", ok, ok},
		"with a new hook":         {"", ok, ok},
		"with a changed tool":     {"", stale, ok},
		"with a stricter tool":    {"", stale, invalid},
	} {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			d := deploy(t)
			d.next(release)
			if want.lacks != "" {
				for _, inv := range d.calls {
					d.w.Until(func() bool {
						return strings.Contains(d.w.History(inv.Identity().WorkflowID(), "").String(), want.lacks)
					}, inv.ToolCallID+" waits")
				}
				d.next("first")
			}
			for name, inv := range d.calls {
				code := want.others
				if name == "parked" {
					code = want.parked
				}
				d.check(name, inv, code)
				d.meter(inv, release == "without a logged hook")
			}
			d.newcomer(release == "with a new hook")
		})
	}
}

// deployment has three calls that were started with the first release, each at another point of its life.
type deployment struct {
	w      *e2etest.World
	runs   *exec.Cmd
	calls  map[string]toolspec.Invocation
	files  map[string]string
	parked toolspec.ApprovalView
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{w: e2etest.NewWorld(t, e2etest.PlainPolicy), calls: map[string]toolspec.Invocation{}, files: map[string]string{}}
	d.runs = d.w.ServeInChild("first")
	d.begin("parked", deployedAsked, "")
	d.begin("executing", deployedWrite, "hang")
	d.parked = d.w.Waiting(d.calls["parked"].Identity().WorkflowID())
	d.w.Until(func() bool { return len(d.w.Effects(d.files["executing"])) >= 1 }, "it is in execute")
	// This call starts last, because it is between two attempts for only ten seconds.
	d.begin("retrying", deployedWrite, "busy")
	d.w.Retrying(d.calls["retrying"].Identity().WorkflowID())
	return d
}

func (d *deployment) begin(name, toolID, note string) {
	d.files[name] = filepath.Join(d.w.Workspace, name)
	d.calls[name] = e2etest.Invocation(name, toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, d.files[name], note))
	d.w.Start(d.calls[name])
}

// next replaces the running release by another one. The worker of the first release gets SIGTERM, and a later one is killed. After the first replacement a person
// decides on the waiting call.
func (d *deployment) next(release string) {
	d.w.T.Helper()
	first := d.parked.ApprovalID != ""
	if first {
		if err := d.runs.Process.Signal(syscall.SIGTERM); err != nil {
			d.w.T.Fatal(err)
		}
		_ = d.runs.Wait()
	}
	e2etest.Kill(d.runs)
	d.runs = d.w.ServeInChild(release)
	if first {
		if err := d.w.Temporal.SignalWorkflow(d.w.T.Context(), d.calls["parked"].Identity().WorkflowID(), "", toolspec.DecideName,
			e2etest.Approving(d.parked.ApprovalID, e2etest.Ann)); err != nil {
			d.w.T.Fatal(err)
		}
		d.parked = toolspec.ApprovalView{}
	}
}

// check waits for the end of a call, and fails unless it ends with this code, with the expected runs of the tool.
func (d *deployment) check(name string, inv toolspec.Invocation, code toolspec.Code) {
	w := d.w
	w.T.Helper()
	r := w.Ended(w.Temporal.GetWorkflow(w.T.Context(), inv.Identity().WorkflowID(), ""))
	if r.ErrorCode != code || r.OK != (code == "") {
		w.T.Errorf("%s ended ok=%t %q %+v, want %q", name, r.OK, r.ErrorCode, r.Details, code)
	}
	record := w.Record(inv)
	if record.Result == nil || !e2etest.SameResult(*record.Result, r) || record.Epoch < 1 {
		w.T.Errorf("%s: the result is %+v, and the record %+v in epoch %d", name, r, record.Result, record.Epoch)
	}
	// There is one run for each attempt that has begun, and the last run is by the worker that runs now.
	runs := map[bool]int{true: 2, false: 1}[name != "parked"]
	if code != "" {
		runs--
	}
	got := w.Effects(d.files[name])
	if len(got) != runs || r.Attempts != runs || code == "" && got[runs-1] != fmt.Sprint(d.runs.Process.Pid) {
		w.T.Errorf("%s: run by %v in %d attempts, want %d, the last by %d", name, got, r.Attempts, runs, d.runs.Process.Pid)
	}
	w.Replay(inv.Identity().WorkflowID())
}

// meter checks that the record notes whether the worker did not have the hook meter, and that its absence does not change the stage.
func (d *deployment) meter(inv toolspec.Invocation, lacking bool) {
	d.w.T.Helper()
	stages := d.w.Record(inv).Stages
	i := slices.IndexFunc(stages, func(s reads.StageRecord) bool { return s.Stage == string(hook.OnMetrics.Stage()) })
	if i < 0 {
		d.w.T.Errorf("%s: onMetrics has not run", inv.ToolCallID)
		return
	}
	if noted := strings.Contains(string(stages[i].Notes), "meter"); noted != lacking || stages[i].Outcome != "ok" {
		d.w.T.Errorf("%s: onMetrics ended %s with the notes %s", inv.ToolCallID, stages[i].Outcome, stages[i].Notes)
	}
}

// newcomer checks that a new hook runs only for calls that are admitted after it was added.
func (d *deployment) newcomer(there bool) {
	d.w.T.Helper()
	for name, file := range d.files {
		if _, err := os.Stat(file + ".newcomer"); !os.IsNotExist(err) {
			d.w.T.Errorf("the new hook joined %s, which was there before (%v)", name, err)
		}
	}
	if !there {
		return
	}
	d.begin("later", deployedWrite, "")
	e2etest.WantText(d.w.T, d.w.Ended(d.w.Temporal.GetWorkflow(d.w.T.Context(), d.calls["later"].Identity().WorkflowID(), "")), "done")
	if got := d.w.Effects(d.files["later"] + ".newcomer"); len(got) != 1 {
		d.w.T.Errorf("the new hook has seen %v of a new call, want it once", got)
	}
}
