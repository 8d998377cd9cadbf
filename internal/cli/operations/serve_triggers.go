package operations

import (
	"context"
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/triggerhttp"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// triggerFlags are the flags of `pawl serve` for webhooks.
type triggerFlags struct {
	fires bool
	ring  string
}

func (f *triggerFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.fires, "triggers", false, "let signed webhooks start runs of agents: POST "+triggerhttp.Path)
	app.KeyRingFlag(cmd, &f.ring)
}

// withServers calls use with a session that has the database, and Temporal if webhooks start runs.
func (f *triggerFlags) withServers(ctx context.Context, use func(*app.Session) error) error {
	s, err := app.Connect(ctx, app.Servers{Temporal: f.fires, Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}

// handler returns the handler of webhooks.
func (f *triggerFlags) handler(a *app.App, s *app.Session) (http.Handler, error) {
	sealer, err := a.OpenSealer(s, f.ring)
	if err != nil {
		return nil, err
	}
	db, c := clientpg.Of(s.Store), s.Client()
	return triggerhttp.New(triggerhttp.Options{
		Firer: trigger.Firer{Store: db.Triggers(), Queue: db.TriggerQueue(s.Namespace()), Start: func(ctx context.Context, in agent.Input) error {
			_, err := c.StartAgent(ctx, in)
			if errors.Is(err, client.ErrOtherRun) {
				return &trigger.RefusedError{Reason: trigger.OtherRun}
			}
			return err
		}},
		Secrets: db.WebhookSecrets(sealer), Log: serveLog(a.Err),
	})
}
