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
		Use: "signin ID", Short: "Sign in to a connection in a browser, for the first time or again",
		Long: "Print the URL at which a person consents, wait until the browser returns to a port of this machine, and store the\n" +
			"tokens. The provider must use the flow authorization_code. Approvals that were given before no longer apply to calls\n" +
			"that wait, because the account may be another one.",
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
					return fmt.Errorf("%s got another secret in the meantime, or was revoked: sign in again", args[0])
				}
				return printSignedIn(a, args[0], got)
			})
		},
	}
	cmd.Flags().IntVar(&port, "port", 0, "the port of the redirect URI http://127.0.0.1:PORT/callback; default any free port. Set it if the provider knows only one port")
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
		fmt.Fprintf(a.Out, "scopes that the provider refused: %s\n", app.Printable(strings.Join(got.Missing, " ")))
	}
	if !got.Renews && got.Lasts > 0 {
		fmt.Fprintf(a.Out, "the provider gave no refresh token: sign in again after %s\n", got.Lasts)
	}
	return nil
}
