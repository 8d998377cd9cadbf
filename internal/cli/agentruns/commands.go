package agentruns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// missingRun is the error of a command on a run without --run.
const missingRun = "--run ID is missing: `pawl agent runs` lists the runs"

// Commands returns the subcommands of `pawl agent` for runs, such as run, watch and stop.
func Commands(a *app.App) []*cobra.Command {
	return []*cobra.Command{newRun(a), newFork(a), newWatch(a), newSay(a), newStop(a), newRuns(a)}
}

// newID returns a new id that begins with a word.
func newID(word string) string { return word + "-" + strings.ToLower(rand.Text()[:12]) }

// onRun completes a command about one run: it defines the flag --run. The command connects to Temporal, and to the
// database if needStore is set, and then calls do.
func onRun(cmd *cobra.Command, needStore bool, do func(ctx context.Context, s *app.Session, runID string, args []string) error) *cobra.Command {
	var runID string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if runID == "" {
			return app.Usage(errors.New(missingRun))
		}
		s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: needStore})
		if err != nil {
			return err
		}
		defer s.Close()
		return do(cmd.Context(), s, runID, args)
	}
	cmd.Flags().StringVar(&runID, "run", "", "`id` of the run")
	return cmd
}

func newStop(a *app.App) *cobra.Command {
	var now bool
	cmd := onRun(&cobra.Command{
		Use: "stop --run ID", Short: "Stop a run",
		Long: "Stop a run after its current call, which may wait for an approval. The request to a model is given up. A run that\n" +
			"stays only ends its turn, and ends if it waits for a message. With --now the run is cancelled, with its open calls.",
		Args: app.ExactArgs(0, "no arguments"),
	}, true, func(ctx context.Context, s *app.Session, runID string, _ []string) error {
		stop, said := s.Client().InterruptAgent, "is told to stop after its current call"
		if now {
			stop, said = s.Client().CancelAgent, "is told to stop now"
		}
		if err := stop(ctx, a.Tenant, runID); err != nil {
			return explain(err, a.Tenant, runID)
		}
		if a.JSON {
			return app.PrintJSON(a.Out, map[string]any{"runId": runID, "now": now})
		}
		fmt.Fprintf(a.Out, "the run %s %s; `pawl agent watch --run %s` shows how it ends\n", runID, said, runID)
		if now {
			return nil
		}
		if state, err := stateOf(ctx, s.Client(), a.Tenant, runID); err == nil {
			for _, call := range state.Calls {
				fmt.Fprintf(a.Out, "its call %s goes on, and may wait for an approval; --now cancels it\n", app.OneLine(call.ToolID, 60))
			}
		}
		return nil
	})
	cmd.Flags().BoolVar(&now, "now", false, "cancel the run and its open calls")
	return cmd
}

func newSay(a *app.App) *cobra.Command {
	var by, id string
	cmd := onRun(&cobra.Command{
		Use: "say --run ID TEXT", Short: "Add a message to a run",
		Long: "Add a message to a run that goes on. The model reads it in the next round. The command returns when the message is\n" +
			"stored. The text - reads standard input. The same --id again adds nothing.",
		Args: app.ExactArgs(1, "a text, or - for standard input"),
	}, false, func(ctx context.Context, s *app.Session, runID string, args []string) error {
		text, err := readText(a, args[0])
		if err != nil {
			return err
		}
		if id == "" {
			id = newID("say")
		}
		if err := sendMessage(ctx, s.Client(), a.Tenant, runID, agent.Message{ID: id, Text: text, By: by}); err != nil {
			return explain(err, a.Tenant, runID)
		}
		if a.JSON {
			return app.PrintJSON(a.Out, map[string]string{"runId": runID, "messageId": id})
		}
		fmt.Fprintf(a.Out, "said to the run %s\n", runID)
		return nil
	})
	cmd.Flags().StringVar(&id, "id", "", "id of the message; without it, a new one")
	app.ActorVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the record (PAWL_APPROVER)")
	return cmd
}

// explain says what to do about the error of a run.
func explain(err error, tenant, runID string) error {
	switch {
	case errors.Is(err, client.ErrNotFound):
		return fmt.Errorf("tenant %s has no run %q of an agent; `pawl agent runs` lists its runs", tenant, runID)
	case errors.Is(err, client.ErrSettled):
		return fmt.Errorf("the run %q has ended, or there is no such run: see `pawl agent runs show %s`", runID, runID)
	}
	return err
}
