package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// bareQueue is the task queue of the workflows that are measured for comparison with Pawl.
const bareQueue = "bare"

// bareType, bareSQLType and perStageType are the types of the workflows that are written by hand, without
// Pawl.
const (
	bareType     = "Bare"
	bareSQLType  = "BareSQL"
	perStageType = "StagePerActivity"
)

// stagesOfRead is the number of steps and stages of a read: admit, willAuthorize, hydrate, willCheckConsent, execute, willAudit, settle.
const stagesOfRead = 7

// handWritten has the activities of the workflows that are written by hand, and registers both.
type handWritten struct {
	pool *pgxpool.Pool
	trip func()
}

// echo is the activity of the bare workflows. It returns its text, as the tools of the other cases do.
func (h *handWritten) echo(_ context.Context, in echoIn) (echoOut, error) {
	return echoOut{Text: in.Text}, nil
}

// written is echo between two SQL statements, as a careful author adds them: the first one records that the call runs, and the second
// one records its result.
func (h *handWritten) written(ctx context.Context, in echoIn) (echoOut, error) {
	id := activity.GetInfo(ctx).WorkflowExecution.ID
	h.trip()
	if _, err := h.pool.Exec(ctx, `INSERT INTO bench_calls (id, state) VALUES ($1, 'open') ON CONFLICT (id) DO NOTHING`, id); err != nil {
		return echoOut{}, fmt.Errorf("bench: open: %w", err)
	}
	out := echoOut{Text: in.Text}
	result, err := json.Marshal(out)
	if err != nil {
		return echoOut{}, err
	}
	h.trip()
	if _, err := h.pool.Exec(ctx, `UPDATE bench_calls SET state = 'settled', result = $2 WHERE id = $1`, id, result); err != nil {
		return echoOut{}, fmt.Errorf("bench: settle: %w", err)
	}
	return out, nil
}

func (h *handWritten) prepare(ctx context.Context) error {
	_, err := h.pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS bench_calls (id text PRIMARY KEY, state text NOT NULL, result json)`)
	if err != nil {
		return fmt.Errorf("bench: table of the case bare_sql: %w", err)
	}
	return nil
}

// cleanUp removes the table, because the database may belong to another program.
func (h *handWritten) cleanUp(ctx context.Context) {
	_, _ = h.pool.Exec(ctx, `DROP TABLE IF EXISTS bench_calls`)
}

func (h *handWritten) register(w worker.Worker) {
	w.RegisterActivityWithOptions(h.echo, activity.RegisterOptions{Name: "echo"})
	w.RegisterActivityWithOptions(h.written, activity.RegisterOptions{Name: "written"})
	registerLoop(w)
	for name, f := range map[string]func(workflow.Context, echoIn) (echoOut, error){
		bareType: oneActivity("echo", 1), bareSQLType: oneActivity("written", 1), perStageType: oneActivity("echo", stagesOfRead),
	} {
		w.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: name})
	}
}

// oneActivity runs an activity n times, one after the other.
func oneActivity(name string, n int) func(workflow.Context, echoIn) (echoOut, error) {
	return func(ctx workflow.Context, in echoIn) (out echoOut, err error) {
		ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
			StartToCloseTimeout: 10 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 3},
		})
		for range n {
			if err := workflow.ExecuteActivity(ctx, name, in).Get(ctx, &out); err != nil {
				return out, err
			}
		}
		return out, nil
	}
}
