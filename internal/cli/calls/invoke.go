package calls

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

func newInvoke(a *app.App) *cobra.Command {
	var args, actor, run, call, subject, submitterKey string
	var detach bool
	var narrow contextFlags
	cmd := &cobra.Command{
		Use:   "invoke TOOL",
		Short: "Run a tool call and wait for its result",
		Example: `  pawl invoke core__get_current_time
  pawl invoke core__grep --args '{"pattern":"func main"}'
  pawl invoke core__write_file --args '{"path":"notes.md","content":"hello"}' --detach`,
		Args: app.ExactArgs(1, "the id of a tool; `pawl tools list` shows them"),
		RunE: func(cmd *cobra.Command, positional []string) error {
			inv := toolspec.Invocation{
				ToolID: positional[0], ToolCallID: call, Args: argument(args),
				Context: toolspec.Context{TenantID: a.Tenant, RunID: run, ActorID: actor, SubjectID: subject},
			}
			inv.AllowedConnectionIDs = narrow.apply(&inv.Context)
			if submitterKey != "" {
				if err := vouch(&inv, submitterKey); err != nil {
					return err
				}
			}
			s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true})
			if err != nil {
				return err
			}
			defer s.Close()
			started, err := startCall(cmd.Context(), a, s, inv)
			if err != nil {
				return printFailure(a, unanswered(inv, err))
			}
			if detach {
				return printDetached(a, s, started)
			}
			if !a.JSON {
				fmt.Fprintf(a.Err, "%s  %s\n", started.WorkflowID, s.Link(started.WorkflowID))
			}
			result, err := waitForResult(cmd.Context(), a, s, started)
			if err != nil {
				return printFailure(a, unanswered(inv, err))
			}
			return printResult(a, result)
		},
	}
	cmd.Flags().StringVar(&args, "args", "{}", "the arguments, a JSON object")
	app.ActorVar(cmd.Flags(), &actor, "actor", "agent:cli", "the actor of the call")
	cmd.Flags().StringVar(&run, "run", "cli", "the run of the call")
	cmd.Flags().StringVar(&call, "call", "call-"+strings.ToLower(rand.Text()[:12]), "the toolCallId; the same tenant, run and id are the same call")
	app.IdentityVar(cmd.Flags(), &subject, "subject", "", "the subject of the call; needs --submitter-key")
	cmd.Flags().StringVar(&submitterKey, "submitter-key", "", "file with the private key of a trusted submitter, which proves the subject")
	narrow.define(cmd.Flags())
	cmd.Flags().BoolVar(&detach, "detach", false, "do not wait for the result")
	return cmd
}

// vouchTime is the lifetime of the proof for a subject. The call must be admitted within it.
const vouchTime = 10 * time.Minute

func vouch(inv *toolspec.Invocation, file string) error {
	if inv.Context.SubjectID == "" {
		return app.Usage(errors.New("--submitter-key proves a subject: give --subject too"))
	}
	key, err := readPrivateKey(file)
	if err != nil {
		return err
	}
	return client.Vouch(inv, key, vouchTime)
}

// argument returns the value of --args as JSON. A text that is not JSON becomes a JSON string, so that the worker
// refuses it as it does for any other caller.
func argument(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	quoted, err := json.Marshal(args)
	if err != nil {
		return nil
	}
	return quoted
}

func printDetached(a *app.App, s *app.Session, c *client.Call) error {
	link := s.Link(c.WorkflowID)
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]string{"workflowId": c.WorkflowID, "invocationId": c.InvocationID, "ui": link})
	}
	fmt.Fprintf(a.Out, "started %s\n  invocation  %s\n", c.WorkflowID, c.InvocationID)
	if link != "" {
		fmt.Fprintf(a.Out, "  look        %s\n", link)
	}
	fmt.Fprintf(a.Out, "  then        pawl show %s\n", c.InvocationID)
	return nil
}

// printResult prints the result of a call that ended with a value.
func printResult(a *app.App, r toolspec.Result) error {
	if a.JSON {
		return app.PrintJSON(a.Out, r)
	}
	if r.OutputRef != "" && len(r.Value) == 0 {
		fmt.Fprintf(a.Out, "stored as %s; `pawl show %s --output` prints it\n", r.OutputRef, r.InvocationID)
		return nil
	}
	// Programs read the value from standard output, so the other lines go to standard error.
	fmt.Fprintln(a.Out, app.FormatJSON(r.Value, ""))
	fmt.Fprintf(a.Err, "%s\n", describeValue(r))
	if r.OutputRef != "" {
		fmt.Fprintf(a.Err, "output      %s\n", r.OutputRef)
	}
	return nil
}

// unanswered adds to client.ErrNoAnswer the flags --run and --call: the command with these flags finds the call if
// Temporal has started it. It returns other errors unchanged.
func unanswered(inv toolspec.Invocation, err error) error {
	if errors.Is(err, client.ErrNoAnswer) {
		return fmt.Errorf("%w; that is this command with --run %s --call %s", err, inv.Context.RunID, inv.ToolCallID)
	}
	return err
}

// printFailure prints the error of a call that ended without a value. It returns err, marked as printed, or unchanged if
// err is not the error of a call.
func printFailure(a *app.App, err error) error {
	var call *client.CallError
	if !errors.As(err, &call) {
		return err
	}
	r := call.Result
	if a.JSON {
		if err := app.PrintJSON(a.Out, r); err != nil {
			return err
		}
		return app.Silent(err)
	}
	fmt.Fprintf(a.Err, "%s: %s\n", r.ErrorCode, app.OneLine(r.SafeMessage, 600))
	if r.RetryAfterMs > 0 {
		fmt.Fprintf(a.Err, "  again in %s\n", time.Duration(r.RetryAfterMs)*time.Millisecond)
	}
	if d := r.Details; d != nil {
		for _, p := range d.Problems {
			fmt.Fprintf(a.Err, "  %s (%s): %s\n", cmp.Or(app.OneLine(p.Path, 200), "/"), app.OneLine(p.Kind, 100), app.OneLine(p.Message, 300))
		}
		if d.Rule != "" {
			fmt.Fprintf(a.Err, "  rule: %s\n", app.OneLine(d.Rule, 300))
		}
	}
	return app.Silent(err)
}

func readPrivateKey(file string) (ed25519.PrivateKey, error) {
	text, err := app.ReadKey(file, nil)
	if err != nil {
		return nil, err
	}
	signer, err := proof.ParseSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return signer.Private(), nil
}
