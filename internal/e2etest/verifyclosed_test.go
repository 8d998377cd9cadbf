package e2etest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows"
)

// verifyClosed runs the workflow that the schedule of the verifier starts.
func (w *world) verifyClosed() (out workflows.VerifyClosedOut, err error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	run, err := w.sealed.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, workflows.VerifyType)
	if err != nil {
		w.t.Fatal(err)
	}
	return out, run.Get(ctx, &out)
}

// TestClosedHistoriesAreSearched: the search that runs by itself finds what leaked, says where in the log, and fails to be seen.
func TestClosedHistoriesAreSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	w.planted = true
	w.encrypting(codecKey("k1"))
	leaked := "of-the-environment-" + string(newCanary())
	c := w.config()
	c.VerifyEvery = time.Hour
	w.workWith(c, worker.Tools(tool("test__fast", echo, fast)), worker.Secret("SERVICE_TOKEN", []byte(leaked)))
	wantText(t, w.invoke(invocation("clean", "test__fast", `{"text":"nothing"}`)), "nothing")
	var out workflows.VerifyClosedOut
	var err error
	w.until(func() bool {
		out, err = w.verifyClosed()
		return err != nil || out.Workflows > 0 && out.Events > 10
	}, "the call is among what has closed", &err)
	if err != nil || out.Findings != 0 || out.Unread != 0 || out.Secrets < 3 || out.UntilMs <= out.SinceMs {
		t.Fatalf("it ends with %+v, %v", out, err)
	}
	// A caller sends the worker's token as an argument.
	w.invoke(invocation("leaks", "test__fast", `{"text":"`+leaked+`"}`))
	var found *temporal.ApplicationError
	w.until(func() bool {
		_, err = w.verifyClosed()
		return errors.As(err, &found) && found.Type() == workflows.SecretsFound
	}, "the search finds it", &err)
	if strings.Contains(err.Error(), leaked) {
		t.Error("the failure holds the secret")
	}
	log := w.log.String()
	if !strings.Contains(log, `secret="worker.Secret SERVICE_TOKEN"`) || !strings.Contains(log, "workflowId=tool:acme:run:leaks") || !strings.Contains(log, "(decoded)") {
		t.Error("the log does not say where")
	}
	if strings.Contains(log, leaked) {
		t.Error("the log holds the secret")
	}
	described, err := w.temporal.ScheduleClient().GetHandle(t.Context(), workflows.VerifyID).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	action, ok := described.Schedule.Action.(*client.ScheduleWorkflowAction)
	if i := described.Schedule.Spec.Intervals; !ok || action.Workflow != workflows.VerifyType || len(i) != 1 || i[0].Every != time.Hour {
		t.Errorf("the schedule is %+v", described.Schedule)
	}
}
