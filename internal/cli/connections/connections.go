package connections

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec"
)

func newConnections(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "connections", Short: "Manage connections: accounts of other services that tools use",
		Long: "A connection is an account at another service. Calls name it by its id. Its credential is sealed with the\n" +
			"key ring (--keyring, PAWL_KEYRING_FILE or PAWL_KEYRING), and no caller and no record ever has it.",
	}
	cmd.AddCommand(newConnectionsAdd(a), newConnectionsList(a), newConnectionsShow(a), newConnectionsGrant(a), newConnectionsRevoke(a),
		newConnectionsRotate(a), newConnectionsTest(a), newConnectionsSignIn(a), newConnectionsProviders(a))
	return app.Group(cmd)
}

// oneConnection requires one argument, the id of a connection.
func oneConnection(cmd *cobra.Command, args []string) error {
	if err := app.ExactArgs(1, "the id of a connection")(cmd, args); err != nil {
		return err
	}
	if err := toolspec.CheckConnectionID(args[0]); err != nil {
		return app.Usage(err)
	}
	return nil
}

// noConnection returns the error for a connection that the tenant does not have. It does not
// reveal that another tenant has a connection with this id.
func noConnection(a *app.App, id string) error {
	return fmt.Errorf("tenant %s has no connection %q; `pawl connections list` shows its connections", a.Tenant, id)
}

// openConnection opens the key ring and finds a connection of the tenant. It returns a broker and a sealer that use
// the ring, and the record of the connection with its sealed secret and its status.
func openConnection(ctx context.Context, a *app.App, s *app.Session, ring, id string) (b *broker.Broker, sealer broker.Sealer, r broker.Record, status string, err error) {
	if sealer, err = a.OpenSealer(s, ring); err != nil {
		return nil, nil, r, "", err
	}
	r, status, err = findSecret(ctx, a, s, id)
	return broker.New(s.Store, sealer, broker.Options{By: app.DefaultApprover()}), sealer, r, status, err
}

// findSecret returns the record of a connection of the tenant, with its sealed secret, and the status of the
// connection.
func findSecret(ctx context.Context, a *app.App, s *app.Session, id string) (r broker.Record, status string, err error) {
	r, status, err = s.Store.ConnectionSecret(ctx, a.Tenant, id)
	if errors.Is(err, postgres.ErrNotFound) {
		err = fmt.Errorf("tenant %s has no connection %q, or the connection is revoked; `pawl connections list` shows its connections", a.Tenant, id)
	}
	return r, status, err
}

func newConnectionsList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's connections", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.Connections(cmd.Context(), a.Tenant, "")
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s has no connections; `pawl connections add` adds one", a.Tenant)
				headings := []string{"CONNECTION", "PROVIDER", "KIND", "STATUS", "GRANTS", "ADDED"}
				return app.PrintRows(a, found, nothing, headings, func(c connections.Record) []string {
					return []string{c.ConnectionID, c.Provider, string(c.Kind), c.Status, strconv.FormatInt(c.Grants, 10), app.FormatTime(c.AddedAt) + " by " + app.QuoteName(c.AddedBy)}
				})
			})
		},
	}
}

func newConnectionsShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a connection and its grants", Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				c, err := findConnection(cmd.Context(), a, s, args[0])
				if err != nil {
					return err
				}
				grants, err := s.Store.ConnectionGrants(cmd.Context(), a.Tenant, args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"connection": c, "grants": app.NonNil(grants)})
				}
				showConnection(a, c, grants)
				return nil
			})
		},
	}
}

// findConnection finds a connection of the tenant.
func findConnection(ctx context.Context, a *app.App, s *app.Session, id string) (c connections.Record, err error) {
	found, err := s.Store.Connections(ctx, a.Tenant, id)
	switch {
	case err != nil:
		return c, err
	case len(found) == 0:
		return c, noConnection(a, id)
	}
	return found[0], nil
}

func showConnection(a *app.App, c connections.Record, grants []connections.GrantRecord) {
	line := func(name, value string) { fmt.Fprintf(a.Out, "%-11s %s\n", name, app.OneLine(value, 400)) }
	line("connection", c.ConnectionID)
	line("provider", fmt.Sprintf("%s (%s)", c.Provider, c.Kind))
	line("status", c.Status)
	if c.RevokedAt != nil {
		line("revoked", app.FormatTime(*c.RevokedAt)+" by "+app.QuoteName(c.RevokedBy))
	}
	line("hosts", strings.Join(c.Hosts, ", "))
	line("scopes", cmp.Or(strings.Join(c.Scopes, ", "), "none"))
	line("added", app.FormatTime(c.AddedAt)+" by "+app.QuoteName(c.AddedBy))
	line("generation", strconv.Itoa(c.Generation))
	if c.KeyID != 0 {
		line("secret", fmt.Sprintf("version %d, sealed with the key %d", c.SecretVersion, c.KeyID))
	}
	if c.TokenExpiresAt != nil {
		line("token", "ends "+app.FormatTime(*c.TokenExpiresAt))
	}
	if len(grants) == 0 {
		fmt.Fprintln(a.Out, "no grants: `pawl connections grant` adds one")
		return
	}
	fmt.Fprintln(a.Out)
	rows := make([][]string, len(grants))
	for i, g := range grants {
		state := app.FormatUntil(g.ExpiresAt, g.Expired)
		if g.RevokedAt != nil {
			state = "taken back " + app.FormatTime(*g.RevokedAt) + " by " + app.QuoteName(g.RevokedBy)
		}
		rows[i] = []string{app.QuoteName(g.Grantee), scopesText(g.Scopes), state, app.FormatTime(g.GrantedAt) + " by " + app.QuoteName(g.GrantedBy)}
	}
	app.PrintTable(a.Out, "", []string{"GRANTED TO", "SCOPES", "COUNTS", "SINCE"}, rows)
}

func scopesText(scopes []string) string {
	if slices.Contains(scopes, broker.AllScopes) {
		return "all"
	}
	return cmp.Or(strings.Join(scopes, ", "), "none")
}

func newConnectionsProviders(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "providers", Short: "List the services that a connection can be added for", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			known, err := providers(file)
			if err != nil {
				return err
			}
			return app.PrintRows(a, known, "", []string{"PROVIDER", "KIND", "HOSTS", "CREDENTIAL"}, func(p broker.Provider) []string {
				parts := "as its signer says"
				if required, optional, err := p.Parts(nil); err == nil {
					parts = partsText(required, optional)
				}
				return []string{p.ID, string(p.Kind), strings.Join(p.Hosts, ", "), parts}
			})
		},
	}
	providersFlag(cmd, &file)
	return cmd
}

func providersFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "providers", "", "YAML file that describes more services, beside the built-in ones")
}

// providers returns the shipped descriptions and the descriptions in file, if file is not empty.
func providers(file string) ([]broker.Provider, error) {
	known, err := broker.Shipped()
	if err != nil || file == "" {
		return known, err
	}
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--providers: %w", err)
	}
	own, err := broker.ReadProviders(source)
	if err == nil {
		known, err = broker.Merge(known, own)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return known, nil
}

// provider finds the description of a provider.
func provider(id, file string) (p broker.Provider, err error) {
	known, err := providers(file)
	if err != nil {
		return p, err
	}
	i := slices.IndexFunc(known, func(p broker.Provider) bool { return p.ID == id })
	if i < 0 {
		ids := make([]string, len(known))
		for i, p := range known {
			ids[i] = p.ID
		}
		return p, fmt.Errorf("unknown provider %q: the known providers are %s. Describe other providers in a file for --providers (docs/providers.md)", id, strings.Join(ids, ", "))
	}
	return known[i], nil
}
