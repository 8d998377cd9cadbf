package agentruns

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/conversation"
)

// shortHash is the number of characters of a digest that tables show.
const shortHash = 12

func newRuns(a *app.App) *cobra.Command {
	var f client.AgentRunFilter
	var after string
	cmd := &cobra.Command{
		Use: "runs", Short: "List the runs of agents, newest first", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkLimit(f.Limit); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				c := s.Client()
				if f.TenantID = a.Tenant; after != "" {
					last, err := c.AgentRun(cmd.Context(), client.RoundFilter{TenantID: a.Tenant, RunID: after, Limit: 1})
					if err != nil {
						return explain(err, a.Tenant, after)
					}
					f.After = &last.AgentRunSummary
				}
				found, err := c.AgentRuns(cmd.Context(), f)
				if err != nil {
					return err
				}
				headings := []string{"RUN", "AGENT", "STATE", "ROUNDS", "CALLS", "TOKENS", "COST", "PROMPT", "GRAPH", "OPENED", "TOOK"}
				return app.PrintRows(a, found, "there is no such run; `pawl agent run NAME TEXT` starts one", headings, func(r client.AgentRunSummary) []string {
					return []string{
						r.RunID, r.Agent + " " + r.Version, stateOfRun(r), fmt.Sprint(r.Rounds), fmt.Sprint(r.Calls), fmt.Sprint(r.Tokens()), costOf(r),
						r.PromptHash[:min(shortHash, len(r.PromptHash))], strings.TrimSpace(r.Graph + " " + r.GraphVersion), app.FormatTime(r.OpenedAt), took(r),
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.Agent, "agent", "", "only the runs of this agent")
	cmd.Flags().BoolVar(&f.Open, "open", false, "only runs that have not ended")
	cmd.Flags().StringVar(&after, "after", "", "`id` of the last run of the previous page: list older runs")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "maximum number of runs, 1–500")
	cmd.AddCommand(newShowRun(a))
	return cmd
}

func newShowRun(a *app.App) *cobra.Command {
	var f client.RoundFilter
	cmd := &cobra.Command{
		Use: "show RUN", Short: "Show the rounds of a run of an agent",
		Long: "Show the last rounds of a run of an agent: what people said, the texts of the models, the calls with their masked\n" +
			"arguments and outcomes, and what each round has used. `pawl show` shows a call.",
		Args: app.ExactArgs(1, "the id of a run; `pawl agent runs` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkLimit(f.Limit); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				f.TenantID, f.RunID = a.Tenant, args[0]
				r, err := s.Client().AgentRun(cmd.Context(), f)
				if err != nil {
					return explain(err, a.Tenant, args[0])
				}
				if a.JSON {
					return app.PrintJSON(a.Out, r)
				}
				printRun(a.Out, r)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "maximum number of rounds, 1–500")
	cmd.Flags().IntVar(&f.Before, "before", 0, "only rounds before this one, for older rounds")
	return cmd
}

func checkLimit(n int) error {
	if n < 1 || n > client.MaxList {
		return app.Usage(errors.New("--limit is between 1 and 500"))
	}
	return nil
}

func stateOfRun(r client.AgentRunSummary) string {
	if r.EndedAt == nil {
		return "open"
	}
	return string(r.Outcome)
}

func costOf(r client.AgentRunSummary) string {
	if r.Unpriced > 0 && r.MicroUSD == 0 {
		return "unknown"
	}
	return dollars(r.MicroUSD)
}

func took(r client.AgentRunSummary) string {
	if r.EndedAt == nil {
		return ""
	}
	return r.EndedAt.Sub(r.OpenedAt).Round(100 * time.Millisecond).String()
}

func printRun(w io.Writer, r client.AgentRunRecord) {
	fmt.Fprintf(w, "%s  %s\n", r.RunID, stateOfRun(r.AgentRunSummary))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "  %-9s %s\n", name, app.OneLine(value, 400))
		}
	}
	row("why", r.Reason)
	row("agent", r.Agent+" "+r.Version)
	row("actor", r.ActorID)
	if r.ForkOf != "" {
		row("fork of", fmt.Sprintf("%s, after round %d", r.ForkOf, r.ForkRounds))
	}
	row("opened", app.FormatTime(r.OpenedAt))
	if r.EndedAt != nil {
		row("ended", app.FormatTime(*r.EndedAt))
	}
	row("used", costs(r.Totals))
	row("prompt", r.PromptHash)
	row("graph", strings.TrimSpace(r.Graph+" "+r.GraphVersion))
	row("graph run", r.GraphRunID)
	row("graph id", r.GraphID)
	printRounds(w, r, true)
}

// printRounds prints the messages of people, the texts of the model and the calls of the rounds in r. If r has the
// first round, it also prints the messages with which the run began. With details it prints models, tokens, costs and
// summaries too.
func printRounds(w io.Writer, r client.AgentRunRecord, details bool) {
	if len(r.Rounds) == 0 || r.Rounds[0].Round == 1 {
		for _, m := range r.Began {
			who := "user"
			if m.Role == conversation.Assistant {
				who = "assistant"
			}
			fmt.Fprintf(w, "\n%s> %s\n", who, app.Printable(strings.TrimSpace(m.Text)))
		}
	}
	printMessages := func(round int) {
		for _, m := range r.Said {
			if m.Round == round {
				fmt.Fprintf(w, "\n%s> %s\n", app.OneLine(cmp.Or(m.By, "user"), 100), app.Printable(strings.TrimSpace(m.Text)))
			}
		}
	}
	printSummaries := func(from, to int) {
		for _, s := range r.Summaries {
			if details && from <= s.Before && s.Before <= to {
				fmt.Fprintf(w, "\nsummary of the rounds before %d  %s, %d tokens in, %d out, %s, %s\n", s.Before, app.OneLine(s.Model, 80),
					s.InputTokens+s.CacheReadTokens+s.CacheWriteTokens, s.OutputTokens, costOfOne(s.MicroUSD), app.FormatTime(s.WrittenAt))
			}
		}
	}
	last := 0
	for _, round := range r.Rounds {
		printSummaries(last+1, round.Round)
		last = round.Round
		printMessages(round.Round)
		fmt.Fprintln(w)
		if details {
			fmt.Fprintf(w, "round %d  %s, %s, %d tokens in, %d out, %s, %s\n", round.Round, app.OneLine(round.Model, 80), app.OneLine(string(round.Finish), 20),
				round.InputTokens+round.CacheReadTokens+round.CacheWriteTokens, round.OutputTokens, costOfOne(round.MicroUSD), app.FormatTime(round.AskedAt))
		}
		if text := strings.TrimSpace(round.Text); text != "" {
			fmt.Fprintln(w, app.Printable(text))
		}
		for i, c := range round.Calls {
			switch {
			case c.Outcome != "":
			case round.Round <= r.ForkRounds:
				c.Outcome = "in " + r.ForkOf
			case r.Result == nil && c.InvocationID != "":
				c.Outcome = "open"
			}
			printCall(w, i, c, details)
		}
	}
	printSummaries(last+1, math.MaxInt)
	printMessages(0) // the messages that no model has read yet
}

func costOfOne(microUSD *int64) string {
	if microUSD == nil {
		return "cost unknown"
	}
	return dollars(*microUSD)
}

func printCall(w io.Writer, index int, c client.AgentCallView, details bool) {
	outcome := c.Outcome
	switch {
	case c.SameAs != nil:
		outcome = fmt.Sprintf("the same as call %d", *c.SameAs+1)
	case outcome == "" && c.InvocationID != "":
		outcome = "no result in the record"
	}
	name := c.ToolID
	if name == "" {
		name = c.Name
	}
	fmt.Fprintf(w, "call %d    %s %s  %s\n", index+1, app.OneLine(name, 60), app.OneLine(string(c.SafeArgs), maxShown), app.OneLine(outcome, 60))
	if details && c.InvocationID != "" {
		fmt.Fprintf(w, "          %s\n", c.InvocationID)
	}
}
