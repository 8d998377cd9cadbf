package keys

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// progressInterval is the interval at which a rotation prints its progress.
const progressInterval = 2 * time.Second

func newKeyringRotate(a *app.App) *cobra.Command {
	var by string
	var detach bool
	cmd := &cobra.Command{
		Use: "rotate [FILE]", Short: "Reseal all secrets with the key that seals, while calls run",
		Long: "Let the workers reseal every secret with the key that seals. Calls continue. The work is a workflow: it\n" +
			"continues if this command ends, and the command joins a rotation that already runs. Without FILE, the ring\n" +
			"is that of PAWL_KEYRING_FILE or PAWL_KEYRING.",
		Args: app.AtMostOneArg("at most the file of a key ring"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
			if err != nil {
				return err
			}
			defer s.Close()
			file := ""
			if len(args) == 1 {
				file = args[0]
			}
			sealer, err := a.OpenSealer(s, file)
			if err != nil {
				return err
			}
			ring, ok := sealer.(interface{ Primary() int64 })
			if !ok {
				return errors.New("the key ring does not name the key that seals")
			}
			return reseal(cmd.Context(), a, s, ring.Primary(), by, detach)
		},
	}
	cmd.Flags().BoolVar(&detach, "detach", false, "start the rotation and do not wait for its end")
	app.ByFlag(cmd, &by, "asks for")
	return cmd
}

// reseal starts the workflow that seals the secrets anew, or joins the running one. It waits for
// the end and prints the progress, unless detach is set.
func reseal(ctx context.Context, a *app.App, s *app.Session, keyID int64, by string, detach bool) error {
	if err := s.Store.AskReseal(ctx, keyID, by); err != nil {
		return err
	}
	run, err := s.Temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
		ID: upkeep.ResealID(keyID), TaskQueue: toolspec.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, upkeep.ResealType, upkeep.ResealIn{KeyID: keyID})
	if err != nil {
		return fmt.Errorf("the workflow %s does not start: %w", upkeep.ResealID(keyID), err)
	}
	if detach && a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"keyId": keyID, "workflowId": run.GetID()})
	}
	if detach {
		fmt.Fprintf(a.Out, "%s runs; `pawl keyring rotate` joins it, `pawl keyring list FILE --count` shows its progress\n", run.GetID())
		return nil
	}
	stop := startProgress(ctx, a, s, keyID)
	var out upkeep.ResealOut
	err = run.Get(ctx, &out)
	stop()
	if err != nil {
		return fmt.Errorf("the workflow %s ended without a result: %w; start it again to continue", upkeep.ResealID(keyID), err)
	}
	if a.JSON {
		err = app.PrintJSON(a.Out, out)
	} else {
		fmt.Fprintf(a.Out, "%d secrets were resealed with the key %d\n", out.Resealed, keyID)
	}
	switch {
	case err != nil:
		return err
	case out.OtherKey:
		return fmt.Errorf("no worker seals with the key %d: give every worker this ring, and rotate again", keyID)
	case out.Unopened > 0:
		var places []string
		for _, p := range out.UnopenedOf {
			places = append(places, p.TenantID+"/"+p.ConnectionID)
		}
		return fmt.Errorf("%d secrets cannot be opened and are unchanged: %s. Their key is missing, or they were modified; `pawl keyring list --count` counts the secrets per key",
			out.Unopened, strings.Join(places, ", "))
	}
	return nil
}

// startProgress prints every progressInterval how many secrets are sealed with the key, until stop is
// called. It prints nothing with --json.
func startProgress(ctx context.Context, a *app.App, s *app.Session, keyID int64) (stop func()) {
	if a.JSON {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var printing sync.WaitGroup
	printing.Go(func() {
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			uses, err := s.Store.SecretsByKey(ctx)
			if err != nil {
				continue // try again at the next tick
			}
			var all int64
			for _, u := range uses {
				all += u.Secrets
			}
			done := secretsOf(uses, keyID)
			fmt.Fprintf(a.Err, "%d of %d secrets are sealed with the key %d\n", done, all, keyID)
			if done < all {
				warnIfNoWorker(ctx, a, s)
			}
		}
	})
	return func() {
		cancel()
		printing.Wait()
	}
}

// warnIfNoWorker prints a hint if no worker polls the task queue.
func warnIfNoWorker(ctx context.Context, a *app.App, s *app.Session) {
	queue, err := s.Temporal.DescribeTaskQueue(ctx, toolspec.TaskQueue, enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	if err == nil && len(queue.GetPollers()) == 0 {
		fmt.Fprintln(a.Err, "no worker runs; the rotation continues when a worker runs, and Ctrl-C ends only the wait")
	}
}
