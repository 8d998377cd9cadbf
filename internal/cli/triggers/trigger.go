package triggers

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent/trigger"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/triggerhttp"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/triggers"
)

const webhookProvider = clientpg.WebhookProvider

// Commands returns the commands of triggers.
func Commands(a *app.App) []*cobra.Command {
	cmd := &cobra.Command{Use: "trigger", Short: "Apply, test, show and retire triggers, which start runs of agents"}
	cmd.AddCommand(newApply(a), newList(a), newShow(a), newEvents(a), newTest(a), newActivate(a), newRetire(a))
	return []*cobra.Command{app.Group(cmd)}
}

func newList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the triggers of a tenant", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.Triggers(cmd.Context(), a.Tenant)
				if err != nil {
					return err
				}
				headings := []string{"NAME", "VERSION", "STATE", "ON", "AGENT", "ACTOR", "WAITING", "SINCE", "BY"}
				return app.PrintRows(a, found, "tenant "+a.Tenant+" has no trigger; `pawl trigger apply FILE` stores one", headings, func(v triggers.Listed) []string {
					state := "active"
					if v.Retired {
						state = "retired"
					}
					waiting := strconv.FormatInt(v.Waiting, 10)
					if v.WaitingSince != nil {
						waiting += " since " + app.FormatTime(*v.WaitingSince)
					}
					return []string{v.Name, v.Version, state, v.Source, v.Agent, v.Actor, waiting, app.FormatTime(v.At), app.QuoteName(v.By)}
				})
			})
		},
	}
}

func newShow(a *app.App) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show a trigger as a file that `pawl trigger apply` accepts",
		Args: app.ExactArgs(1, "the name of a trigger; `pawl trigger list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				d, _, err := s.Store.Trigger(cmd.Context(), a.Tenant, args[0], version)
				if err != nil {
					return explain(err, a.Tenant, args[0])
				}
				return app.PrintDocument(a, d, trigger.Write)
			})
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "the version; default the active one")
	return cmd
}

func newEvents(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "events NAME", Short: "List what the events of a trigger have done, the last first",
		Long: "List the events of a trigger, with the run that each has started, or the reason why it has started none. Requests\n" +
			"without a valid signature are not in the list; the log of `pawl serve` says that there were some. Events that wait\n" +
			"for a token of the trigger's quota are not in the list either; `pawl trigger list` counts them.",
		Args: app.ExactArgs(1, "the name of a trigger; `pawl trigger list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.TriggerEvents(cmd.Context(), a.Tenant, args[0])
				if err == nil && len(found) == 0 {
					_, _, err = s.Store.Trigger(cmd.Context(), a.Tenant, args[0], "")
				}
				if err != nil {
					return explain(err, a.Tenant, args[0])
				}
				headings := []string{"EVENT", "VERSION", "AT", "RUN"}
				return app.PrintRows(a, found, "the trigger has no events", headings, func(v triggers.Happened) []string {
					run := v.RunID
					if run == "" {
						run = "none: " + v.Reason
					}
					return []string{v.EventID, v.Version, app.FormatTime(v.LastAt), run}
				})
			})
		},
	}
}

func newTest(a *app.App) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use: "test FILE EVENT", Short: "Print the message that an event would start a run with",
		Long: "Print the message with which the trigger of a file would start a run, for an event in a JSON file. Nothing is\n" +
			"started or stored, and no server is needed. With --name, test reads the active version of a stored trigger in\n" +
			"place of a file.",
		Example: "  pawl trigger test triage.yaml event.json\n  pawl trigger test --name triage event.json",
		Args:    app.RangeArgs(1, 2, "a file with a trigger, and a file with an event; or --name and a file with an event"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (name == "") != (len(args) == 2) {
				return app.Usage(errors.New("give a file with a trigger and a file with an event, or --name and a file with an event"))
			}
			event, err := os.ReadFile(args[len(args)-1])
			if err != nil {
				return err
			}
			if name == "" {
				d, err := app.ReadDocument(args[0], trigger.Read)
				if err != nil {
					return err
				}
				return printInput(a, d, event)
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				d, _, err := s.Store.Trigger(cmd.Context(), a.Tenant, name, "")
				if err != nil {
					return explain(err, a.Tenant, name)
				}
				return printInput(a, d, event)
			})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "the name of a stored trigger, in place of a file")
	return cmd
}

func printInput(a *app.App, d trigger.Document, event []byte) error {
	in, err := d.Input(trigger.Event{ID: "test", Data: event})
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, in)
	}
	fmt.Fprintln(a.Out, app.Printable(in.Messages[0].Content[0].Text))
	return nil
}

// pathOf returns the path for the webhooks of a trigger, or "" for a trigger without webhooks.
func pathOf(d trigger.Document) string {
	if d.On != trigger.Webhook {
		return ""
	}
	return strings.NewReplacer("{tenant}", d.TenantID, "{trigger}", d.Name).Replace(triggerhttp.Path)
}

// explain says which trigger is not there.
func explain(err error, tenantID, name string) error {
	if errors.Is(err, postgres.ErrNotFound) {
		return fmt.Errorf("tenant %s has no trigger %q, or not this version; `pawl trigger list` shows the triggers", tenantID, name)
	}
	return err
}
