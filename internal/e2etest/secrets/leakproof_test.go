package secrets

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/workflows/contract"
)

// leaky is a world that stores another secret in every kind of place that can carry a text. Such a place is called a carrier.
type leaky struct {
	*e2etest.World
	mu      sync.Mutex
	planted map[string]string
	// where has, for each carrier, the text that the place of a finding must contain.
	where map[string]string
}

// secret returns the secret of a carrier, and makes it at the first call. where is the text that the place of the finding must contain.
func (l *leaky) secret(carrier, where string) string {
	l.T.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.planted[carrier]; ok {
		return known
	}
	secret := "sk_live_" + string(e2etest.NewCanary())
	l.planted[carrier], l.where[carrier] = secret, where
	l.Secrets.Never(carrier, []byte(secret))
	return secret
}

// of returns the secret of a carrier that secret has made before.
func (l *leaky) of(carrier string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.planted[carrier]
}

// TestWhatIsPlantedIsFound tests the search at the end of every world, and `pawl verify-history`: they find the secret of every carrier at its place.
func TestWhatIsPlantedIsFound(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Planted = true // without this, nothingLeaked would fail the test
	l := &leaky{World: w, planted: map[string]string{}, where: map[string]string{}}
	l.plantRows()
	l.plantHistory()
	l.plantTenants()
	l.plantSchedule()
	if _, err := w.Log.Write([]byte("level=INFO msg=" + l.secret("log", "the log"))); err != nil {
		t.Fatal(err)
	}
	var found []string
	var err error
	complete := func() bool {
		if found, err = w.Leaked(t.Context(), w.Temporal); err != nil {
			return false
		}
		for carrier, where := range l.where {
			if !slices.ContainsFunc(found, func(line string) bool {
				return strings.HasPrefix(line, carrier+" (") && strings.Contains(line, where)
			}) {
				err = fmt.Errorf("%s is not found in %s", carrier, where)
				return false
			}
		}
		return true
	}
	// The list of workflows of Temporal may be late by a moment.
	if !e2etest.Eventually(t.Context(), complete) {
		t.Fatalf("%v; found:\n%s", err, strings.Join(found, "\n"))
	}
	for _, line := range found {
		carrier, _, _ := strings.Cut(line, " (")
		if _, ok := l.planted[carrier]; !ok {
			t.Errorf("found what nobody planted: %s", line)
		}
		for _, secret := range l.planted {
			if strings.Contains(line, secret) {
				t.Errorf("a finding shows the secret of %s", carrier)
			}
		}
	}
	l.command()
}

// command runs `pawl verify-history` over the same world.
func (l *leaky) command() {
	t := l.T
	t.Helper()
	carriers := e2etest.SortedKeys(l.planted)
	carriers = slices.DeleteFunc(carriers, func(c string) bool { return c == "log" })
	var list []byte
	for _, c := range carriers {
		list = append(append(list, l.planted[c]...), 0)
	}
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, list, 0o600); err != nil {
		t.Fatal(err)
	}
	c := l.World.Command("verify-history", "--json", "--secrets", file)
	if status := c.Wait(); status != 1 {
		t.Errorf("exit status %d: %s", status, c.Err)
	}
	var last struct {
		Secrets, Findings, Unread int
		Clean                     bool
	}
	seen := map[string]bool{}
	for line := range strings.Lines(c.Out.String()) {
		var f struct{ Secret string }
		if err := errors.Join(json.Unmarshal([]byte(line), &f), json.Unmarshal([]byte(line), &last)); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		seen[f.Secret] = true
	}
	for i, carrier := range carriers {
		if !seen[fmt.Sprintf("%s:%d", file, i+1)] {
			t.Errorf("the program does not find %s", carrier)
		}
	}
	if last.Clean || last.Secrets != len(carriers) || last.Findings < len(carriers) || last.Unread != 0 {
		t.Errorf("it ends with %+v", last)
	}
	for _, secret := range l.planted {
		if strings.Contains(c.Out.String()+c.Err.String(), secret) {
			t.Error("it prints a secret")
		}
	}
	c = l.World.Command("verify-history", "--json", "--skip-tables", "--tenant", "acme", "--secrets", file)
	c.Wait()
	for i, carrier := range carriers {
		if got, want := c.Out.Has(fmt.Sprintf(`"%s:%d"`, file, i+1)), slices.Contains(ofAcme, carrier); got != want {
			t.Errorf("with --tenant, %s is found: %t", carrier, got)
		}
	}
	// A text that is not stored is not found, and a file that other users can read is refused.
	if err := os.WriteFile(file, []byte("ghp_16C7e42F292c6912E7710c838347Ae178B4a\nshort\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c = l.World.Command("verify-history", "--secrets", file)
	if status := c.Wait(); status != 0 || !c.Out.Has("searched for 1 secrets") || !c.Out.Has(": 0 found, 0 not read") || !c.Says(file+":2") {
		t.Errorf("exit status %d: %s%s", status, c.Out, c.Err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	c = l.World.Command("verify-history", "--secrets", file)
	if status := c.Wait(); status != 1 || !c.Says("chmod 600") {
		t.Errorf("exit status %d: %s", status, c.Err)
	}
}

// plantRows stores secrets in columns of several types of a new table, and in a table of Pawl.
func (l *leaky) plantRows() {
	e2etest.Query[string](l.World, `CREATE TABLE forgotten (id integer PRIMARY KEY, note text, doc json, docs jsonb, raw bytea, tags text[])`)
	row := func(id int, column, carrier string, value func(string) any) {
		l.T.Helper()
		e2etest.Query[int](l.World, `INSERT INTO forgotten (id, `+column+`) VALUES ($1, $2) RETURNING id`, id,
			value(l.secret(carrier, fmt.Sprintf("table forgotten, column %s, id=%d", column, id))))
	}
	row(1, "note", "text column", func(s string) any { return "hello " + s })
	row(2, "doc", "json column", func(s string) any { return `{"a" : {"b\u0000": ["` + s + `"]}}` })
	row(3, "docs", "jsonb column", func(s string) any { return `{"args": "{\"x\":\"` + s + `\"}"}` })
	row(4, "raw", "bytea column", func(s string) any { return []byte("\x00\xff" + s) })
	row(5, "tags", "array column", func(s string) any { return []string{s[:11], s[11:20], s[20:]} })
	row(6, "raw", "encoded bytea column", func(s string) any { return []byte(base64.StdEncoding.EncodeToString([]byte("x" + s))) })
	// Store one in a table of Pawl.
	e2etest.Query[string](l.World, `INSERT INTO policies (digest, source) VALUES (encode(sha256(convert_to($1, 'UTF8')), 'hex'), $1) RETURNING digest`,
		"# "+l.secret("column of the schema", "table policies, column source"))
}

// ofAcme has the carriers of the workflows of the tenant acme.
var ofAcme = []string{"call of acme", "run of acme"}

// plantTenants starts workflows with the ids of calls and of runs of agents of two tenants.
func (l *leaky) plantTenants() {
	for carrier, id := range map[string]string{
		ofAcme[0]: "tool:acme:run:one", ofAcme[1]: agent.WorkflowID("acme", "run"), "call of another": "tool:acme2:run:one", "run of another": agent.WorkflowID("acme2", "run"),
	} {
		if _, err := l.Temporal.ExecuteWorkflow(l.T.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Nothing", l.secret(carrier, "workflow "+id)); err != nil {
			l.T.Fatal(err)
		}
		if err := l.Temporal.TerminateWorkflow(l.T.Context(), id, "", "the test has ended it"); err != nil {
			l.T.Fatal(err)
		}
	}
}

func (l *leaky) plantSchedule() {
	_, err := l.Temporal.ScheduleClient().Create(l.T.Context(), client.ScheduleOptions{
		ID: "leaky", Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}}, Paused: true,
		Action: &client.ScheduleWorkflowAction{
			ID: "later", Workflow: "Later", TaskQueue: "nobody", Args: []any{l.secret("argument of a schedule", "schedule.action")},
		},
		Memo: map[string]any{"m": l.secret("memo of a schedule", "memo.fields[m]")},
	})
	if err != nil {
		l.T.Fatal(err)
	}
}

// plantHistory runs workflows that leak a secret in every part of a history that can carry one.
func (l *leaky) plantHistory() {
	t := l.T
	t.Helper()
	const queue = "leaky"
	w := sdkworker.New(l.Temporal, queue, sdkworker.Options{})
	w.RegisterWorkflowWithOptions(l.slips, workflow.RegisterOptions{Name: "Slips"})
	w.RegisterWorkflowWithOptions(func(workflow.Context) error { panic(l.of("panic of a workflow")) }, workflow.RegisterOptions{Name: "Panics"})
	steps := map[string]any{
		"ok": func(_ context.Context, s string) (string, error) { return s, nil },
		"fail": func(_ context.Context, s string) error {
			return temporal.NewNonRetryableApplicationError("failed: "+s, "Broken", errors.New("cause: "+l.of("cause of a failure")),
				l.of("details of a failure"))
		},
		"panic": func(_ context.Context, s string) error { panic("broke at " + s) },
		"beat": func(ctx context.Context, s string) error {
			activity.RecordHeartbeat(ctx, s)
			<-ctx.Done()
			return ctx.Err()
		},
		"stop": func(ctx context.Context) error {
			if err := l.Temporal.SignalWorkflow(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, "", "stop runs", nil); err != nil {
				return err
			}
			for ctx.Err() == nil {
				activity.RecordHeartbeat(ctx)
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
			return temporal.NewCanceledError(l.of("details of a cancel"))
		},
	}
	for name, f := range steps {
		w.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	// All secrets are made before the workflows run, because a workflow is replayed and must get the same ones.
	for carrier, where := range map[string]string{
		"result of a local activity": "MarkerRecorded", "failure of a local activity": "MarkerRecorded", "panic of a local activity": "MarkerRecorded",
		"input of an activity": "ActivityTaskScheduled", "failure of an activity": "ActivityTaskFailed", "panic of an activity": "ActivityTaskFailed",
		"cause of a failure": "failure.cause.message", "details of a failure": "application_failure_info.details", "side effect": "MarkerRecorded",
		"heartbeat": "last_heartbeat_details", "details of a cancel": "ActivityTaskCanceled", "summary of a timer": "user_metadata.summary", "result": "WorkflowExecutionCompleted",
		"panic of a workflow": "WorkflowTaskFailed", "answer of an update": "WorkflowExecutionUpdateCompleted", "memo of later": "WorkflowPropertiesModified",
	} {
		l.secret(carrier, where)
	}
	payload := func(carrier, where string) *common.Payload {
		p, err := converter.GetDefaultDataConverter().ToPayload(l.secret(carrier, where))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	ctx := t.Context()
	chunks := l.secret("pieces of an argument", "(base64 in pieces)")
	encoded := base64.StdEncoding.EncodeToString([]byte(chunks))
	l.where["pieces of an argument"] = "input.payloads[1]"
	run, err := l.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "slips", TaskQueue: queue, Memo: map[string]any{"m": payload("memo", "memo.fields[m]").GetData()},
		StaticSummary: l.secret("summary", "user_metadata.summary"), StaticDetails: l.secret("details", "user_metadata.details"),
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(contract.AttrTool).ValueSet(l.secret("search attribute", "search_attributes"))),
	}, "Slips", map[string]any{"deep": []string{l.secret("argument", "input.payloads[0]")}}, []string{encoded[:9], encoded[9:20], encoded[20:]},
		bytes.ToUpper([]byte(hex.EncodeToString([]byte(l.secret("bytes of an argument", "input.payloads[2]"))))))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Temporal.SignalWorkflow(ctx, "slips", "", "go",
		map[string]string{l.secret("name in a signal", "WorkflowExecutionSignaled"): "x"}); err != nil {
		t.Fatal(err)
	}
	update, err := l.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: "slips", UpdateName: "tell", WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{l.secret("argument of an update", "WorkflowExecutionUpdateAccepted")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := update.Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(ctx, nil); err != nil {
		t.Fatal(err)
	}
	// Start a workflow with a secret in its header. It panics, and is then terminated with a secret in the reason.
	if _, err := l.Temporal.WorkflowService().StartWorkflowExecution(ctx, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: l.Namespace, WorkflowId: "panics", WorkflowType: &common.WorkflowType{Name: "Panics"},
		TaskQueue: &taskqueue.TaskQueue{Name: queue}, RequestId: "1", Header: &common.Header{Fields: map[string]*common.Payload{"h": payload("header", "header.fields[h]")}},
	}); err != nil {
		t.Fatal(err)
	}
	l.Until(func() bool {
		return strings.Contains(l.History("panics", "").String(), l.planted["panic of a workflow"])
	}, "the task fails")
	if err := l.Temporal.TerminateWorkflow(ctx, "panics", "", "for "+l.secret("reason of a terminate", "reason"),
		l.secret("details of a terminate", "WorkflowExecutionTerminated")); err != nil {
		t.Fatal(err)
	}
}

// slips is a workflow that leaks a secret in every part of its history that it can write.
func (l *leaky) slips(ctx workflow.Context, _ map[string]any, _ []string, _ []byte) (string, error) {
	if err := workflow.SetUpdateHandler(ctx, "tell", func(workflow.Context, string) (string, error) {
		return l.of("answer of an update"),
			nil
	}); err != nil {
		return "", err
	}
	options := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}})
	regular := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		ScheduleToCloseTimeout: 2 * time.Minute, WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	_ = workflow.ExecuteLocalActivity(options, "ok", l.of("result of a local activity")).Get(ctx, nil)
	_ = workflow.ExecuteLocalActivity(options, "fail", l.of("failure of a local activity")).Get(ctx, nil)
	_ = workflow.ExecuteLocalActivity(options, "panic", l.of("panic of a local activity")).Get(ctx, nil)
	_ = workflow.ExecuteActivity(regular, "ok", l.of("input of an activity")).Get(ctx, nil)
	_ = workflow.ExecuteActivity(regular, "fail", l.of("failure of an activity")).Get(ctx, nil)
	_ = workflow.ExecuteActivity(regular, "panic", l.of("panic of an activity")).Get(ctx, nil)
	_ = workflow.ExecuteActivity(workflow.WithHeartbeatTimeout(regular, 12*time.Second), "beat", "x "+l.of("heartbeat")).Get(ctx, nil)
	stopped, cancel := workflow.WithCancel(workflow.WithHeartbeatTimeout(regular, 15*time.Second))
	stopping := workflow.ExecuteActivity(stopped, "stop")
	workflow.GetSignalChannel(ctx, "stop runs").ReceiveWithTimeout(ctx, time.Minute, nil)
	cancel()
	_ = stopping.Get(ctx, nil)
	workflow.SideEffect(ctx, func(workflow.Context) any { return l.of("side effect") })
	timer := workflow.NewTimerWithOptions(ctx, time.Millisecond, workflow.TimerOptions{Summary: l.of("summary of a timer")})
	_ = timer.Get(ctx, nil)
	if err := workflow.UpsertMemo(ctx, map[string]any{"later": l.of("memo of later")}); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
	return l.of("result"), workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}
