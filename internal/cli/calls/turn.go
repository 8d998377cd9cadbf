package calls

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// turnFlags are the flags of `pawl turn`.
type turnFlags struct {
	format, run, actor, key, offer string
	subject, submitterKey          string
	streamed, together, ownIDs     bool
	dry                            bool
	narrow                         contextFlags
	atOnce                         int
	wait                           time.Duration
}

func newTurn(a *app.App) *cobra.Command {
	var f turnFlags
	cmd := &cobra.Command{
		Use:   "turn",
		Short: "Run the calls of a model's response, and print the messages that answer it",
		Long: "Read a model's response on standard input as its provider sent it, run the calls in it, and print the messages that\n" +
			"the next request adds: the message of the assistant, then an answer for each call, in order. If a call is malformed,\n" +
			"denied or fails, its answer is an error that the model can correct.\n\n" +
			"The command may be repeated with the same response and the same --turn at any time: no call runs twice, and the\n" +
			"messages are the same. If calls still wait after --wait, for example for a person, the exit status is 4.",
		Example: `  pawl turn --format openai --run r1 --turn t1 < response.json
  pawl turn --format anthropic --stream --run r1 --turn t2 --offer offer.json --wait 30s < response.sse`,
		Args: app.ExactArgs(0, "no arguments; the response comes on standard input"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runTurn(cmd.Context(), a, f) },
	}
	cmd.Flags().StringVar(&f.format, "format", "", "the provider's format: "+strings.Join(app.WireFormatNames(), ", "))
	cmd.Flags().BoolVar(&f.streamed, "stream", false, "the response is a stream of the format's events")
	cmd.Flags().StringVar(&f.key, "turn", "", "name of the response, unique in its run; a call without an id gets the id <turn>-<index>")
	cmd.Flags().StringVar(&f.run, "run", "cli", "the run of the calls")
	app.ActorVar(cmd.Flags(), &f.actor, "actor", "agent:cli", "the actor of the call")
	cmd.Flags().StringVar(&f.offer, "offer", "", "`file` of pawl tools offer that the request was made with; without it models call tools by their ids")
	app.IdentityVar(cmd.Flags(), &f.subject, "subject", "", "the subject of the call; needs --submitter-key")
	cmd.Flags().StringVar(&f.submitterKey, "submitter-key", "", "file with the private key of a trusted submitter, which proves the subject")
	f.narrow.define(cmd.Flags())
	cmd.Flags().DurationVar(&f.wait, "wait", 0, "how long to wait for results; 0 waits without limit")
	cmd.Flags().BoolVar(&f.together, "together", false, "with --at-once, also run calls with effects at the same time as others; default each of them runs alone, in order")
	cmd.Flags().IntVar(&f.atOnce, "at-once", 1, "how many read-only calls may run at the same time")
	cmd.Flags().BoolVar(&f.ownIDs, "own-ids", false, "give every call the id <turn>-<index>, for providers that repeat ids in a run")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "print the calls that would run, and run none")
	return cmd
}

func runTurn(ctx context.Context, a *app.App, f turnFlags) error {
	t, err := f.turn(a.Tenant)
	if err != nil {
		return err
	}
	if f.dry {
		return dryTurn(a, t)
	}
	s, err := app.Connect(ctx, app.Servers{Temporal: true})
	if err != nil {
		return err
	}
	defer s.Close()
	reply, err := t.Take(ctx, s.ClientWithOutputs(), a.In)
	if len(reply.Outcomes) > 0 && !a.JSON {
		printOutcomes(a, s, reply.Outcomes)
	}
	if err != nil {
		if errors.Is(err, client.ErrNoAnswer) {
			err = fmt.Errorf("%w; repeat the command with the same response to continue", err)
		}
		return err
	}
	if a.JSON {
		if err := app.PrintJSON(a.Out, shownReply(reply)); err != nil {
			return err
		}
	}
	if waiting := len(reply.Pending()); waiting > 0 {
		if !a.JSON {
			fmt.Fprintf(a.Err, "%d of %d calls wait; repeat the command with the same response to continue\n", waiting, len(reply.Outcomes))
		}
		return app.Silent(app.ErrPending)
	}
	if a.JSON {
		return nil
	}
	return app.PrintJSON(a.Out, reply.Messages)
}

// turn returns the turn that the flags describe.
func (f turnFlags) turn(tenant string) (turn.Turn, error) {
	t := turn.Turn{
		Key: f.key, Streamed: f.streamed, Together: f.together, AtOnce: f.atOnce, OwnIDs: f.ownIDs, Wait: f.wait,
		Context: toolspec.Context{TenantID: tenant, RunID: f.run, ActorID: f.actor, SubjectID: f.subject},
	}
	t.AllowedConnectionIDs = f.narrow.apply(&t.Context)
	if t.Key == "" {
		return t, app.Usage(errors.New("--turn KEY is missing: it names the response, and the same key is the same response"))
	}
	if t.AtOnce < 1 || t.Together && t.AtOnce < 2 {
		return t, app.Usage(errors.New("--at-once must be at least 1, and with --together at least 2"))
	}
	var err error
	if t.Codec, err = app.FindWireFormat(f.format); err != nil {
		return t, err
	}
	if f.offer != "" {
		if t.Offer, err = readOffer(f.offer); err != nil {
			return t, err
		}
	}
	if f.submitterKey != "" {
		t.Prepare = func(inv *toolspec.Invocation) error { return vouch(inv, f.submitterKey) }
	}
	return t, nil
}

// readOffer reads an offer from a file with the output of `pawl tools offer`.
func readOffer(file string) (client.Offer, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return client.Offer{}, err
	}
	offer, err := client.ReadOffer(text)
	if err != nil {
		return offer, fmt.Errorf("%s is not what `pawl tools offer` prints: %w", file, err)
	}
	return offer, nil
}

// dryTurn prints the invocations that a turn would start, and starts none.
func dryTurn(a *app.App, t turn.Turn) error {
	plan, err := t.Plan(a.In)
	if err != nil {
		return err
	}
	type planned struct {
		Index      int                  `json:"index"`
		Name       string               `json:"name"`
		Invocation *toolspec.Invocation `json:"invocation,omitempty"`
		Refused    *toolspec.Result     `json:"refused,omitempty"`
	}
	all := []planned{}
	for _, p := range plan.Calls {
		one := planned{Index: p.Call.Index, Name: p.Call.Name, Refused: p.Refused}
		if p.Refused == nil {
			one.Invocation = &p.Invocation
		}
		all = append(all, one)
	}
	return app.PrintJSON(a.Out, all)
}
