package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/client/registry"
	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/client/triggerhttp"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/worker"
)

// served holds the flags of `pawl serve`.
type served struct {
	listenerFlags
	origins       []string
	as, tokenFile string
	perViewer     int
	registers     bool
	triggers      triggerFlags
}

func newServe(a *app.App) *cobra.Command {
	var o served
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Let browsers watch runs, and read which tools their users may call",
		Long: "Serve GET /v1/runs/{run}/events?tenant=TENANT: the events of a run as they happen, in the UI message stream format\n" +
			"of the AI SDK. The actor of a run may watch it, with an ID token of a provider of PAWL_OIDC_* as bearer token. By\n" +
			"default the server listens on this machine only. An address that other machines reach needs a certificate, or a\n" +
			"proxy with one. docs/streams.md describes the stream.\n\n" +
			"It also serves GET /v1/catalog?tenant=TENANT: the tools that the owner of the token may call, as JSON.\n\n" +
			"With --register it also serves /v1/tools and /v1/tools/{name}: people with the role tool-admin in the policy of a\n" +
			"tenant register and remove tools of this tenant. docs/registration.md describes it.\n\n" +
			"With --triggers it also serves POST /v1/triggers/{tenant}/{trigger}: signed webhooks start runs of agents. It needs\n" +
			"Temporal and the key ring of the workers. Without a provider of PAWL_OIDC_* and without --as, it serves nothing else.\n" +
			"docs/triggers.md describes it.\n\n" +
			"For development, --as IDENTITY lets the owner of a token file watch the runs of that identity, on this machine\n" +
			"only. The file has mode 0600. The command writes a random token into it if it does not exist.",
		Example: `  pawl serve --origin https://app.example.com --behind-proxy --listen :8235
  pawl serve --as user:ann
  curl -N -H "Authorization: Bearer $(cat TOKEN-FILE)" 'http://127.0.0.1:8235/v1/runs/RUN/events?tenant=acme'`,
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd.Context(), a, o) },
	}
	o.add(cmd, "127.0.0.1:8235")
	cmd.Flags().StringSliceVar(&o.origins, "origin", nil, "origin of a page that may watch from a browser: scheme, host and port; may be repeated")
	app.IdentityVar(cmd.Flags(), &o.as, "as", "", "for development: the identity of the owner of the token file")
	cmd.Flags().StringVar(&o.tokenFile, "token-file", "", "for development: the token file; default one in the directory of the running pawl dev")
	cmd.Flags().BoolVar(&o.registers, "register", false, "let people with the role "+registry.Role+" register tools of their tenant")
	o.triggers.add(cmd)
	cmd.Flags().IntVar(&o.perViewer, "streams-per-viewer", 0, "streams that one identity may have at the same time; default 8")
	return cmd
}

func runServe(ctx context.Context, a *app.App, o served) error {
	if err := checkOrigins(o.origins); err != nil {
		return err
	}
	if o.tokenFile != "" && o.as == "" {
		return app.Usage(errors.New("--token-file needs --as: whose token is it?"))
	}
	if o.as != "" && (o.behindProxy || o.cert != "") {
		return app.Usage(errors.New("--as is for development on this machine: leave out --behind-proxy and --tls-cert"))
	}
	return o.triggers.withServers(ctx, func(s *app.Session) error {
		mux := http.NewServeMux()
		if o.triggers.fires {
			webhooks, err := o.triggers.handler(a, s)
			if err != nil {
				return err
			}
			mux.Handle(triggerhttp.Path, webhooks)
		}
		listener, err := o.open(ctx)
		if err != nil {
			return err
		}
		defer listener.Close()
		if o.triggers.fires && o.as == "" && len(s.Config.OIDC) == 0 {
			fmt.Fprintf(a.Err, "webhooks are taken on %s; Ctrl-C stops the server\n", listener.Addr())
			return o.serve(ctx, listener, mux)
		}
		authenticator, who, end, err := o.authenticator(s.Config)
		if err != nil {
			return err
		}
		defer end()
		db := clientpg.Of(s.Store)
		options := runhttp.Options{
			Watcher: s.Client(), Owners: db, Catalogs: db, Authenticator: authenticator, Origins: o.origins, MaxStreamsOfViewer: o.perViewer, Log: serveLog(a.Err),
		}
		if o.registers {
			options.Registry = registry.Of(s.Store)
		}
		handler, err := runhttp.New(options)
		if err != nil {
			return app.Usage(err)
		}
		mux.Handle("/", handler)
		fmt.Fprintf(a.Err, "runs can be watched on %s, by %s; Ctrl-C stops the server\n", listener.Addr(), who)
		return o.serve(ctx, listener, mux)
	})
}

// authenticator returns what checks the token of a viewer: with --as against the token file, otherwise as an ID token.
// who says in words who may watch. The caller must call end when the server has stopped.
func (o served) authenticator(c worker.Config) (by runhttp.Authenticator, who string, end func(), err error) {
	if o.as != "" {
		by, who, err = ownerOfFile(o.tokenFile, o.as)
		return by, who, func() {}, err
	}
	if len(c.OIDC) == 0 {
		return nil, "", nil, errors.New("nobody could watch: set PAWL_OIDC_ISSUER or PAWL_OIDC_FILE, or for development give --as")
	}
	return idTokenViewers(c.OIDC)
}
