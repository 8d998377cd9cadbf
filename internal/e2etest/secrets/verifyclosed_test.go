package secrets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// verifyClosed runs the workflow that the schedule of the verifier starts.
func verifyClosed(w *e2etest.World) (out contract.VerifyClosedOut, err error) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	run, err := w.Sealed.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: toolspec.TaskQueue}, upkeep.VerifyType)
	if err != nil {
		w.T.Fatal(err)
	}
	return out, run.Get(ctx, &out)
}

// TestClosedHistoriesAreSearched: the scheduled search finds a leaked secret, and logs its place. Its workflow fails, so that operators see it.
func TestClosedHistoriesAreSearched(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Planted = true
	encrypting(w, codecKey("k1"))
	leaked := "of-the-environment-" + string(e2etest.NewCanary())
	c := w.Config()
	c.VerifyEvery = time.Hour
	w.WorkWith(c, worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)), worker.Secret("SERVICE_TOKEN", []byte(leaked)))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("clean", "test__fast", `{"text":"nothing"}`)), "nothing")
	var out contract.VerifyClosedOut
	var err error
	w.Until(func() bool {
		out, err = verifyClosed(w)
		return err != nil || out.Workflows > 0 && out.Events > 10
	}, "the call is among what has closed", &err)
	if err != nil || out.Findings != 0 || out.Unread != 0 || out.Secrets < 3 || out.UntilMs <= out.SinceMs {
		t.Fatalf("it ends with %+v, %v", out, err)
	}
	// A caller sends the worker's token as an argument.
	w.Invoke(e2etest.Invocation("leaks", "test__fast", `{"text":"`+leaked+`"}`))
	var found *temporal.ApplicationError
	w.Until(func() bool {
		_, err = verifyClosed(w)
		return errors.As(err, &found) && found.Type() == upkeep.SecretsFound
	}, "the search finds it", &err)
	if strings.Contains(err.Error(), leaked) {
		t.Error("the failure holds the secret")
	}
	log := w.Log.String()
	if !strings.Contains(log, `secret="worker.Secret SERVICE_TOKEN"`) || !strings.Contains(log, "workflowId=tool:acme:run:leaks") ||
		!strings.Contains(log, "(decoded)") {
		t.Error("the log does not say where")
	}
	if strings.Contains(log, leaked) {
		t.Error("the log holds the secret")
	}
	described, err := w.Temporal.ScheduleClient().GetHandle(t.Context(), upkeep.VerifyID).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	action, ok := described.Schedule.Action.(*client.ScheduleWorkflowAction)
	if i := described.Schedule.Spec.Intervals; !ok || action.Workflow != upkeep.VerifyType || len(i) != 1 || i[0].Every != time.Hour {
		t.Errorf("the schedule is %+v", described.Schedule)
	}
}
