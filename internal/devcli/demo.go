package devcli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"
	"golang.org/x/term"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// demoTime is the maximum time of a demo. It does not include the first build of the
// Temporal CLI.
const demoTime = 5 * time.Minute

// newDemo makes the command `pawl demo`.
func newDemo(a devApp) *cobra.Command {
	var keep, assumeYes bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run five example calls on this directory",
		Long: "Start Temporal, Postgres and a worker, and run five tool calls on this directory: a search, a call that\n" +
			"policy denies, a call with bad arguments, a write that waits for a person, and a write whose worker is\n" +
			"killed in the middle. At the end the demo removes the files that it wrote.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), keep, assumeYes)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the servers running until Ctrl-C")
	cmd.Flags().BoolVarP(&assumeYes, "yes", "y", false, "approve without asking")
	return cmd
}

// demoTenant is the tenant of the calls in the demo.
const demoTenant = "acme"

// demo is one run of `pawl demo`.
type demo struct {
	devApp
	ask    bool
	stack  *devstack.Stack
	client *client.Client
	worker *demoWorker
	// approver is the identity that decides. It signs with signer.
	approver string
	signer   proof.Signer
	// fail ends the demo with an error.
	fail context.CancelCauseFunc
	ui   string
	run  string
	file string
	rows []demoRow
	ring worker.KeyRing
}

// demoRow is a row of the table at the end.
type demoRow struct{ what, ended, how, workflowID string }

// demo starts the servers, runs the chapters and cleans up. With keep it leaves
// everything running until ctx ends; with assumeYes it approves without asking.
func (a devApp) demo(ctx context.Context, keep, assumeYes bool) error {
	d := &demo{devApp: a, ask: !assumeYes && isTerminal(a), run: "demo-" + strings.ToLower(rand.Text()[:6])}
	d.file = "pawl-" + d.run + ".md"
	fmt.Fprintln(a.Out, "Pawl demo: five tool calls, each a Temporal workflow, on this directory.")
	fmt.Fprintln(a.Out)
	stack, err := a.startStack(ctx, devstack.Options{UI: true})
	if err != nil {
		return err
	}
	defer stopStack(ctx, stack)
	d.stack, d.ui = stack, stack.UIAddress()
	rules, err := demoPolicy()
	if err != nil {
		return err
	}
	if place, err := devstate.Dir("."); err == nil { // without a home directory the demo has no key ring
		if d.ring, err = a.devKeyRing(place); err != nil {
			return err
		}
	}
	config, err := a.prepare(ctx, stack, rules, false, d.ring)
	if err != nil {
		return err
	}
	if err := d.enroll(ctx, config.DatabaseURL); err != nil {
		return err
	}
	t, err := temporal.DialContext(ctx, app.WithTimeout(config.Temporal, app.DialTimeout))
	if err != nil {
		return err
	}
	defer t.Close()
	d.client = client.New(t, client.Options{})
	defer d.cleanUp()
	story, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	d.fail = fail
	story, cancel := context.WithTimeoutCause(story, demoTime, fmt.Errorf("the demo took longer than %s", demoTime))
	defer cancel()
	if err := d.runChapters(story); err != nil {
		// The cause, such as a lost worker, says more than the error of a cancelled context.
		return cmp.Or(context.Cause(story), err)
	}
	d.closing()
	if keep {
		fmt.Fprintf(a.Out, "\nThe servers still run; Ctrl-C stops them.\n")
		<-ctx.Done()
	}
	return nil
}

// runChapters starts the worker and runs the chapters in order. Each chapter is one tool call.
func (d *demo) runChapters(ctx context.Context) error {
	if err := d.startWorker(); err != nil {
		return err
	}
	for _, chapter := range []func(context.Context) error{d.search, d.denied, d.invalid, d.approved, d.killed} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) call(id, tool, args string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: tool, ToolCallID: id, Args: []byte(args),
		Context: toolspec.Context{TenantID: demoTenant, RunID: d.run, ActorID: "agent:demo"},
	}
}

func (d *demo) chapter(n int, title string) { fmt.Fprintf(d.Out, "\n%d. %s\n", n, title) }

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "   "+format+"\n", args...)
}

// addRow adds a row to the table at the end.
func (d *demo) addRow(what string, inv toolspec.Invocation, r toolspec.Result, how string) {
	ended := "ok"
	if !r.OK {
		ended = string(r.ErrorCode)
	}
	d.rows = append(d.rows, demoRow{what: what, ended: ended, how: how, workflowID: inv.Identity().WorkflowID()})
}

// expect runs a call and returns its result. It fails if the call does not end with code.
func (d *demo) expect(ctx context.Context, inv toolspec.Invocation, code toolspec.Code) (toolspec.Result, error) {
	_, err := d.client.Invoke(ctx, inv)
	var call *client.CallError
	switch {
	case err == nil:
		return toolspec.Result{}, fmt.Errorf("the call should have ended with %s; it succeeded", code)
	case !errors.As(err, &call) || call.Code() != code:
		return toolspec.Result{}, fmt.Errorf("the call should have ended with %s; it ended with: %w", code, err)
	}
	return call.Result, nil
}

func (d *demo) search(ctx context.Context) error {
	d.chapter(1, "An agent searches the directory. Policy allows it: read-only, low risk.")
	inv := d.call("search", "core__grep", `{"pattern":"pawl","ignoreCase":true}`)
	result, err := d.client.Invoke(ctx, inv)
	if err != nil {
		return err
	}
	lines, total := matches(result.Value)
	for _, line := range lines {
		d.say("  %s", app.OneLine(line, 96))
	}
	took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
	d.say("ok: %d matches in %s, from admit to settle.", total, took)
	d.addRow("search", inv, result, fmt.Sprintf("%d matches", total))
	return nil
}

func (d *demo) denied(ctx context.Context) error {
	d.chapter(2, "Another tenant tries the same. Nothing runs that policy does not allow.")
	inv := d.call("foreign", "core__grep", `{"pattern":"pawl"}`)
	inv.Context.TenantID = "globex"
	result, err := d.expect(ctx, inv, toolspec.CodePolicyDenied)
	if err != nil {
		return err
	}
	d.say("%s: %s (rule: %s)", result.ErrorCode, result.SafeMessage, result.Details.Rule)
	d.addRow("other tenant", inv, result, "the arguments were not even looked at")
	return nil
}

func (d *demo) invalid(ctx context.Context) error {
	d.chapter(3, "A model sends arguments that do not fit.")
	inv := d.call("broken", "core__read_file", `{"path":7}`)
	result, err := d.expect(ctx, inv, toolspec.CodeValidation)
	if err != nil {
		return err
	}
	d.say("%s at %s: %s", result.ErrorCode, result.Details.Path, result.SafeMessage)
	d.addRow("bad arguments", inv, result, "no tool ran")
	return nil
}

func (d *demo) approved(ctx context.Context) error {
	d.chapter(4, "A write. It waits for a person, who may take minutes or days.")
	inv := d.call("write", "core__write_file", fmt.Sprintf(`{"path":%q,"content":"# Written by a tool call\n\nA person approved it.\n"}`, d.file))
	call, err := d.client.Start(ctx, inv)
	if err != nil {
		return err
	}
	if err := d.decide(ctx, call.WorkflowID); err != nil {
		return err
	}
	result, err := d.client.Result(ctx, call)
	if errors.Is(err, client.Coded(toolspec.CodeApprovalDenied)) {
		d.say("denied, so nothing was written.")
		d.addRow("write", inv, denial(err), "denied by "+d.approver)
		return nil
	}
	if err != nil {
		return err
	}
	content, err := os.ReadFile(d.file)
	if err != nil {
		return err
	}
	d.say("ok: %s now begins with %q.", d.file, strings.SplitN(string(content), "\n", 2)[0])
	d.addRow("write", inv, result, "approved by "+d.approver)
	return nil
}

func (d *demo) killed(ctx context.Context) error {
	d.chapter(5, "Another write. Its worker is killed with SIGKILL after the file was written, before it could say so.")
	file := d.crashFile()
	inv := d.call("crash", "core__write_file", fmt.Sprintf(`{"path":%q,"content":"written once, whatever dies\n"}`, file))
	call, err := d.client.Start(ctx, inv)
	if err != nil {
		return err
	}
	if err := d.approve(ctx, call.WorkflowID); err != nil {
		return err
	}
	if err := app.WaitFor(ctx, func() bool { _, err := os.Stat(file); return err == nil }); err != nil {
		return fmt.Errorf("the file did not appear: %w", err)
	}
	// The file is written, and slowAnswer keeps the worker from reporting it.
	pid := d.worker.pid()
	if err := d.worker.kill(); err != nil {
		return err
	}
	d.say("worker %d is dead. A new one starts; Temporal notices the loss after a few seconds.", pid)
	if err := d.startWorker(); err != nil {
		return err
	}
	result, err := d.client.Result(ctx, call)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d.say("ok on worker %d, in attempt %d: the file holds %q.", d.worker.pid(), result.Attempts, strings.TrimSpace(string(content)))
	d.addRow("write, worker killed", inv, result, fmt.Sprintf("attempt %d, on another worker", result.Attempts))
	return nil
}

// closing prints the table at the end.
func (d *demo) closing() {
	fmt.Fprintf(d.Out, "\nWhat happened\n\n")
	rows := make([][]string, len(d.rows))
	for i, r := range d.rows {
		rows[i] = []string{r.what, r.ended, r.how, r.workflowID}
	}
	app.PrintTable(d.Out, "  ", []string{"CALL", "ENDED", "HOW", "WORKFLOW"}, rows)
	fmt.Fprintf(d.Out, "\nEvery call is a workflow in the Temporal UI, a marker per stage: %s\n", d.ui)
	fmt.Fprintln(d.Out, "`pawl demo --keep` keeps the servers running; `pawl dev` is for your own calls.")
}

// cleanUp stops the worker and removes the files that the calls wrote.
func (d *demo) cleanUp() {
	if d.worker != nil {
		d.worker.stop()
	}
	for _, file := range []string{d.file, d.crashFile()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			fmt.Fprintf(d.Err, "%s was not removed: %v\n", filepath.Base(file), err)
		}
	}
}

// crashFile returns the name of the file of chapter 5. A tool call writes this file, and
// then the demo kills the worker of that call.
func (d *demo) crashFile() string { return strings.TrimSuffix(d.file, ".md") + demoCrashSuffix }

// isTerminal reports whether a person at a terminal can answer questions.
func isTerminal(a devApp) bool {
	in, ok := a.In.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// denial returns the result that a call error carries, or the zero result.
func denial(err error) toolspec.Result {
	var call *client.CallError
	if errors.As(err, &call) {
		return call.Result
	}
	return toolspec.Result{}
}
