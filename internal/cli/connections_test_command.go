package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// probeTimeout bounds the wait for a service.
const probeTimeout = 20 * time.Second

func newConnectionsTest(a *app) *cobra.Command {
	var ring, host, path string
	cmd := &cobra.Command{
		Use: "test ID", Short: "Send one GET with the credential and tell the status of the answer",
		Long: "Open the credential, send one GET to the connection's first host and tell the status, nothing else of the\n" +
			"answer. A status of 400 and more ends with the exit status 1. Redirects are not followed.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				b, _, record, status, err := a.kept(cmd.Context(), s, ring, args[0])
				switch {
				case err != nil:
					return err
				case status != "active":
					return fmt.Errorf("%s is %s: somebody has to sign in anew, or `pawl connections rotate` gives it another secret", args[0], status)
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), probeTimeout)
				defer cancel()
				code, err := b.Probe(ctx, record, host, path)
				if err != nil {
					return err
				}
				said := fmt.Sprintf("%d %s", code, http.StatusText(code))
				if a.json {
					err = printJSON(a.Out, map[string]any{"tenant": a.tenant, "connectionId": args[0], "status": code, "ok": code < 400})
				} else {
					fmt.Fprintf(a.Out, "the service answered %s\n", said)
				}
				if code >= 400 && err == nil {
					err = &silentError{errors.New(said)}
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&host, "host", "", "one of the connection's hosts; the first where it is left out")
	cmd.Flags().StringVar(&path, "path", "/", "path and query")
	keyRingFlag(cmd, &ring)
	return cmd
}
