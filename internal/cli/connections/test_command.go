package connections

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
)

const (
	// probeTimeout is the maximum time for the refresh of the token and the answer of the service
	// together.
	probeTimeout = 40 * time.Second
	// drainTime is the maximum wait, at the end of the command, for a token request that is still
	// running.
	drainTime = 15 * time.Second
)

func newConnectionsTest(a *app.App) *cobra.Command {
	var ring, host, path string
	cmd := &cobra.Command{
		Use: "test ID", Short: "Send a GET with the credential and print the status of the response",
		Long: "Open the credential, send a GET to the first host of the connection, and print the status of the response and\n" +
			"nothing else of it. An expired OAuth2 token is refreshed first, as a worker does it. The exit status is 1 if the\n" +
			"status is 400 or higher. Redirects are not followed.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				b, _, record, status, err := openConnection(cmd.Context(), a, s, ring, args[0])
				if err == nil {
					err = usable(args[0], status)
				}
				if err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
				defer cancel()
				// A token that the server has issued must be stored, even if the command is
				// cancelled.
				defer drain(cmd.Context(), b)
				refreshed, err := refreshExpired(ctx, b, record)
				if err == nil && refreshed {
					if !a.JSON {
						fmt.Fprintln(a.Err, "the token had expired, and was refreshed")
					}
					if record, status, err = findSecret(ctx, a, s, args[0]); err == nil {
						err = usable(args[0], status)
					}
				}
				if err != nil {
					return err
				}
				code, err := b.Probe(ctx, record, host, path)
				if err != nil {
					return err
				}
				said := fmt.Sprintf("%d %s", code, http.StatusText(code))
				if a.JSON {
					err = app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "connectionId": args[0], "status": code, "ok": code < 400, "refreshed": refreshed})
				} else {
					fmt.Fprintf(a.Out, "the service answered %s\n", said)
				}
				if code >= 400 && err == nil {
					err = app.Silent(errors.New(said))
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "one of the connection's hosts; default the first")
	cmd.Flags().StringVar(&path, "path", "/", "path and query")
	app.KeyRingFlag(cmd, &ring)
	return cmd
}

// usable returns an error if the status of a connection says that its secret cannot be used.
func usable(id, status string) error {
	if status != "active" {
		return fmt.Errorf("%s is %s: sign in again, or replace its secret with `pawl connections rotate`", id, status)
	}
	return nil
}

// refreshExpired gets a new token if the old token has expired, and reports whether it got a new token.
func refreshExpired(ctx context.Context, b *broker.Broker, r broker.Record) (bool, error) {
	switch answer, err := b.Refresh(ctx, r); {
	case errors.Is(err, context.DeadlineExceeded):
		return false, errors.New("the token has expired, and the authorization server gave no new token in time")
	case err != nil:
		return false, err
	case answer == broker.RefreshReauth:
		return false, errors.New("the token has expired, and the authorization server refuses a new token: sign in again, or replace its secret with `pawl connections rotate`")
	case answer == broker.RefreshCooling:
		return false, errors.New("the token has expired, and the authorization server gave no new token a moment ago: try again later")
	default:
		return answer == broker.RefreshMoved, nil
	}
}

// drain waits for the running token requests of a broker, also if ctx has ended. It takes at most drainTime.
func drain(ctx context.Context, b *broker.Broker) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	b.Drain(ctx)
}
