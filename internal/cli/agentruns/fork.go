package agentruns

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
)

func newFork(a *app.App) *cobra.Command {
	var f startFlags
	var rounds int
	cmd := &cobra.Command{
		Use: "fork RUN [TEXT]", Short: "Go on with the conversation of a run in a new run",
		Long: "Start a run that goes on with the conversation of another run after one of its rounds, and follow it as `pawl agent run`\n" +
			"does. The other run does not change, and no call of its rounds runs again. The text is what you say next, and - reads it\n" +
			"from standard input. Without a text the next round is made again, with the messages that it had: so --rounds 2 retries\n" +
			"the run from round 3. Without --rounds the new run keeps all rounds whose calls have answers.\n\n" +
			"The actor is that of the other run. Its --tools, --connection, --session and --graph-run do not come along: give them again. A run that\n" +
			"acts for a subject is forked by a program, with a proof of its submitter.\n\n" + statuses,
		Example: `  pawl agent fork run-tdunnmwndcs7 --rounds 1 "Now look at the tests."
  pawl agent fork run-tdunnmwndcs7 --rounds 2 --version 3`,
		Args: app.RangeArgs(1, 2, "the id of a run, and a text; `pawl agent runs` lists the runs"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := ""
			if len(args) > 1 {
				var err error
				if text, err = readText(a, args[1]); err != nil {
					return err
				}
			}
			s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
			if err != nil {
				return err
			}
			defer s.Close()
			source, err := s.Client().AgentRun(cmd.Context(), client.RoundFilter{TenantID: a.Tenant, RunID: args[0], Limit: 1})
			if err != nil {
				return explain(err, a.Tenant, args[0])
			}
			if !cmd.Flags().Changed("rounds") {
				rounds = lastAnswered(source)
			}
			in := f.fork(source, rounds)
			if text != "" {
				in.Messages = append(in.Messages, userMessage(text))
			}
			if !a.JSON {
				fmt.Fprintf(a.Err, "%s goes on after round %d of %s\n", app.OneLine(in.Context.RunID, 100), rounds, app.OneLine(source.RunID, 100))
			}
			return run(cmd.Context(), a, s, in, f.detach)
		},
	}
	f.define(cmd.Flags())
	cmd.Flags().Lookup("actor").Usage = "the actor of the calls; it must be that of the other run, which is the default"
	cmd.Flags().IntVar(&rounds, "rounds", 0, "`number` of the rounds to keep; 0 keeps only the messages that began the run; default all rounds whose calls have answers")
	return cmd
}

// fork returns the input of a fork without its messages.
func (f *startFlags) fork(source client.AgentRunRecord, rounds int) agent.Input {
	if f.actor == "" {
		f.actor = source.ActorID
	}
	in := f.input(source.TenantID, source.Agent, "fork")
	in.Stays, in.Fork = f.stays, &agent.Fork{RunID: source.RunID, Rounds: rounds}
	return in
}

// lastAnswered returns the number of the last round in which all calls have answers, or 0. source must contain the
// last round of the run.
func lastAnswered(source client.AgentRunRecord) int {
	n := len(source.Rounds)
	if n == 0 {
		return 0
	}
	last := source.Rounds[n-1]
	if len(last.Calls) > 0 && last.AnsweredAt == nil {
		return last.Round - 1
	}
	return last.Round
}
