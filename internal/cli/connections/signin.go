package connections

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
)

func newConnectionsSignIn(a *app.App) *cobra.Command {
	var (
		ring, by string
		port     int
	)
	cmd := &cobra.Command{
		Use: "signin ID", Short: "Sign in to a connection in a browser, the first time or anew",
		Long: "Print where to consent, wait for the browser to come back to a port of this machine, and keep the tokens that it\n" +
			"brings. It is for providers of the flow authorization_code. Approvals of calls that wait get stale, for the account\n" +
			"may be another one.",
		Example: `  pawl connections add mail --provider google --secret-env client_id=ID --secret-file client_secret=secret.txt
  pawl connections signin mail`,
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				b, _, record, _, err := openConnection(cmd.Context(), a, s, ring, args[0])
				if err != nil {
					return err
				}
				sealed, got, err := b.SignInTo(cmd.Context(), record, broker.SignIn{
					Port: port, Show: func(url string) error {
						_, err := fmt.Fprintf(a.Err, "open this in a browser of this machine and consent:\n\n  %s\n\n", url)
						return err
					},
				})
				if err != nil {
					return err
				}
				replaced, err := s.Store.ReplaceSecret(cmd.Context(), sealed, got.Lasts, true, by)
				switch {
				case err != nil:
					return err
				case !replaced:
					return fmt.Errorf("%s got another secret meanwhile, or is gone: sign in again", args[0])
				}
				return printSignedIn(a, args[0], got)
			})
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "the port that the browser comes back to, where the provider wants to know it; any that is free otherwise")
	app.KeyRingFlag(cmd, &ring)
	app.ByFlag(cmd, &by, "signs in")
	return cmd
}

func printSignedIn(a *app.App, id string, got broker.SignedIn) error {
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{
			"tenant": a.Tenant, "connectionId": id, "status": "active", "renews": got.Renews, "missingScopes": app.NonNil(got.Missing),
		})
	}
	fmt.Fprintf(a.Out, "%s: %s is signed in\n", a.Tenant, app.Printable(id))
	if len(got.Missing) > 0 {
		fmt.Fprintf(a.Out, "not given: %s\n", app.Printable(strings.Join(got.Missing, " ")))
	}
	if !got.Renews && got.Lasts > 0 {
		fmt.Fprintf(a.Out, "no refresh token came with it: somebody has to sign in anew after %s\n", got.Lasts)
	}
	return nil
}
