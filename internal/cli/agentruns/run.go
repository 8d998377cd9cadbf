package agentruns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// statuses is the help text about the exit status of a command that follows a run.
const statuses = "The exit status is 0 if the run completed, 1 if it failed, 4 if it goes on, 5 if it reached a limit, and 6 if it was\n" +
	"interrupted or cancelled. Ctrl-C ends the command and not the run."

func newRun(a *app.App) *cobra.Command {
	var f startFlags
	var file string
	cmd := &cobra.Command{
		Use: "run NAME [TEXT]", Short: "Run an agent and follow the run",
		Long: "Run an agent with a text, and follow the run: the text of the model as it arrives, on standard output, and on standard\n" +
			"error its calls with their masked arguments, the approvals that it waits for, and what it has used. Without a text,\n" +
			"it is read from standard input. --messages gives a conversation instead.\n\n" + statuses,
		Example: `  pawl agent run reviewer "What does main.go do?"
  pawl agent run reviewer --messages conversation.json --json`,
		Args: app.RangeArgs(1, 2, "the name of an agent, and a text; `pawl agent list` shows the agents"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := f.input(a.Tenant, args[0], "run")
			in.Stays = f.stays
			var err error
			switch {
			case file != "" && len(args) > 1:
				return app.Usage(errors.New("give a text or --messages, not both"))
			case file != "":
				in.Messages, err = readMessages(a, file)
			default:
				text := "-"
				if len(args) > 1 {
					text = args[1]
				}
				if text, err = readText(a, text); err == nil {
					in.Messages = append(in.Messages, userMessage(text))
				}
			}
			if err != nil {
				return err
			}
			s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
			if err != nil {
				return err
			}
			defer s.Close()
			return run(cmd.Context(), a, s, in, f.detach)
		},
	}
	f.define(cmd.Flags())
	cmd.Flags().StringVar(&file, "messages", "", "`FILE` with a conversation in JSON, whose last message is usually that of a person; - reads standard input")
	return cmd
}

// run starts a run and follows it.
func run(ctx context.Context, a *app.App, s *app.Session, in agent.Input, detach bool) error {
	started, err := s.Client().StartAgent(ctx, in)
	if errors.Is(err, client.ErrNoAnswer) {
		return fmt.Errorf("%w; the same command with --run %s is the same run", err, in.Context.RunID)
	}
	if err != nil {
		return err
	}
	if detach {
		link := s.Link(started.WorkflowID())
		if a.JSON {
			return app.PrintJSON(a.Out, map[string]string{"runId": started.RunID, "workflowId": started.WorkflowID(), "ui": link})
		}
		fmt.Fprintf(a.Out, "started %s\n  look   %s\n  then   pawl agent watch --run %s\n", started.RunID, link, started.RunID)
		return nil
	}
	if !a.JSON {
		fmt.Fprintf(a.Err, "run %s  %s\n", started.RunID, s.Link(started.WorkflowID()))
	}
	v := view{a: a, s: s, c: s.Client(), runID: started.RunID, printer: printer{text: a.Out, lines: a.Err}, untilTurn: in.Stays}
	return v.follow(ctx)
}

func newWatch(a *app.App) *cobra.Command {
	var after int64
	var turn bool
	cmd := onRun(&cobra.Command{
		Use: "watch --run ID", Short: "Follow a run",
		Long: "Follow a run from its first event, or from the one after --after, to its end. With --json, each event is a line of JSON,\n" +
			"and so is the result.\n\n" + statuses,
		Args: app.ExactArgs(0, "no arguments"),
	}, true, func(ctx context.Context, s *app.Session, runID string, _ []string) error {
		v := view{a: a, s: s, c: s.Client(), runID: runID, printer: printer{text: a.Out, lines: a.Err}, untilTurn: turn, after: after, events: true}
		return v.follow(ctx)
	})
	cmd.Flags().Int64Var(&after, "after", 0, "show only the events after this number")
	cmd.Flags().BoolVar(&turn, "until-done", false, "end at the end of the model's turn, with the exit status 0")
	return cmd
}

// view follows a run for a person or a program.
type view struct {
	printer

	a     *app.App
	s     *app.Session
	c     *client.Client
	runID string
	after int64
	// untilTurn ends the command at the end of a turn.
	untilTurn bool
	// events makes --json print the events too, and not only the result.
	events bool
}

// follow prints the events until the run or its turn ends.
func (v *view) follow(ctx context.Context) error {
	f := follow(ctx, v.c, v.a.Tenant, v.runID, v.after)
	defer f.stop()
	quiet := time.NewTimer(quietTime)
	defer quiet.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	isTurnOver := false
	for {
		select {
		case e := <-f.events:
			quiet.Stop()
			v.after = e.Seq
			v.show(e)
			isTurnOver = e.Kind == toolspec.RunDone
		case <-tick.C:
			// RunDone may be the end of an earlier turn, and the next turn may have begun already. So isWaiting asks
			// the run.
			if v.untilTurn && isTurnOver && v.isWaiting(ctx) {
				return v.endTurn(ctx)
			}
		case end := <-f.ended:
			return v.endRun(ctx, f, end)
		case err := <-f.failed:
			return err
		case <-quiet.C:
			if _, err := stateOf(ctx, v.c, v.a.Tenant, v.runID); err != nil && ctx.Err() == nil && !v.a.JSON {
				fmt.Fprintln(v.a.Err, noWorker)
			}
		case <-ctx.Done():
			v.endLine()
			fmt.Fprintf(v.a.Err, "the run goes on: `pawl agent watch --run %s --after %d` follows it, `pawl agent stop --run %s` stops it\n", v.runID, v.after, v.runID)
			return app.Silent(app.ErrPending)
		}
	}
}

func (v *view) show(e toolspec.RunEvent) {
	switch {
	case !v.a.JSON:
		v.event(e)
	case v.events:
		printLine(v.a.Out, e)
	}
}

// isWaiting reports whether the run waits for a message, and the command has shown all its events.
func (v *view) isWaiting(ctx context.Context) bool {
	state, err := stateOf(ctx, v.c, v.a.Tenant, v.runID)
	if err != nil || state.Phase != agent.Waiting {
		return false
	}
	run, err := v.c.Run(ctx, v.a.Tenant, v.runID)
	return err == nil && run.LastSeq == v.after
}

// endTurn ends the command after a turn.
func (v *view) endTurn(ctx context.Context) error {
	v.endLine()
	if v.a.JSON && !v.events {
		record, err := v.c.AgentRun(ctx, client.RoundFilter{TenantID: v.a.Tenant, RunID: v.runID, Limit: 1})
		if err != nil {
			return err
		}
		text := ""
		if n := len(record.Rounds); n > 0 {
			text = record.Rounds[n-1].Text
		}
		return app.PrintJSON(v.a.Out, struct {
			RunID string `json:"runId"`
			Text  string `json:"text"`
			agent.Totals
		}{v.runID, text, record.Totals})
	}
	fmt.Fprintf(v.a.Err, "the run waits: `pawl agent say --run %s TEXT` or `pawl chat --run %s` goes on, `pawl agent stop --run %s` ends it\n", v.runID, v.runID, v.runID)
	return nil
}

// endRun prints the result.
func (v *view) endRun(ctx context.Context, f *feed, end ending) error {
	if end.err != nil {
		return explain(end.err, v.a.Tenant, v.runID)
	}
	f.rest(ctx, v.c, v.a.Tenant, v.runID, v.after, v.show)
	result := struct {
		RunID string `json:"runId"`
		agent.Result
	}{v.runID, end.result}
	switch {
	case v.a.JSON && v.events:
		printLine(v.a.Out, map[string]any{"result": result})
	case v.a.JSON:
		if err := app.PrintJSON(v.a.Out, result); err != nil {
			return err
		}
	default:
		v.end(end.result)
	}
	return failure(end.result)
}

// printLine prints a value as one line of JSON.
func printLine(w io.Writer, value any) {
	line, err := json.Marshal(value)
	if err != nil {
		panic(err) // a value of Pawl can always be encoded
	}
	fmt.Fprintln(w, app.Printable(string(line)))
}
