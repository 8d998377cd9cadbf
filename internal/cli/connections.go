package cli

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
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec"
)

func newConnections(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "connections", Short: "Accounts at other services that tools act with, and who may use them",
		Long: "A connection is an account at another service. Calls name it by its id; the credential is sealed with the key\n" +
			"ring (--keyring, PAWL_KEYRING_FILE or PAWL_KEYRING), and no tool, caller or record ever holds it.",
	}
	cmd.AddCommand(newConnectionsAdd(a), newConnectionsList(a), newConnectionsShow(a), newConnectionsGrant(a), newConnectionsRevoke(a),
		newConnectionsRotate(a), newConnectionsTest(a), newConnectionsSignIn(a), newConnectionsProviders(a))
	return group(cmd)
}

// oneConnection wants the id of a connection.
func oneConnection(cmd *cobra.Command, args []string) error {
	if err := ExactArgs(1, "the id of a connection")(cmd, args); err != nil {
		return err
	}
	if err := toolspec.CheckConnectionID(args[0]); err != nil {
		return usageError{err}
	}
	return nil
}

// noConnection says that the tenant has none of that id. That another tenant has
// one is not told.
func (a *App) noConnection(id string) error {
	return fmt.Errorf("tenant %s has no connection %q; `pawl connections list` shows those that it has", a.tenant, id)
}

// keyRingFlag names the file of a key ring.
func keyRingFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "keyring", "", "file of the key ring (PAWL_KEYRING_FILE, PAWL_KEYRING)")
}

// sealer opens the key ring that a flag names, or else the environment or a running
// `pawl dev`.
func (a *App) sealer(s *session, file string) (broker.Sealer, error) {
	ring := s.config.KeyRing
	ring.Wrapper = a.Wrapper
	if file != "" {
		ring.File, ring.Text = file, nil
	}
	sealer, err := ring.Open()
	if err == nil && sealer == nil {
		err = errors.New("no key ring: name its file with --keyring or PAWL_KEYRING_FILE, the one that the workers have; `pawl keyring new FILE` makes one")
	}
	return sealer, err
}

// kept opens the key ring, and finds a connection of the tenant with what is sealed
// for it.
func (a *App) kept(ctx context.Context, s *session, ring, id string) (b *broker.Broker, sealer broker.Sealer, r broker.Record, status string, err error) {
	if sealer, err = a.sealer(s, ring); err != nil {
		return nil, nil, r, "", err
	}
	r, status, err = a.secret(ctx, s, id)
	return broker.New(s.store, sealer, broker.Options{By: DefaultApprover()}), sealer, r, status, err
}

// secret finds a connection of the tenant with what is sealed for it.
func (a *App) secret(ctx context.Context, s *session, id string) (r broker.Record, status string, err error) {
	r, status, err = s.store.ConnectionSecret(ctx, a.tenant, id)
	if errors.Is(err, postgres.ErrNotFound) {
		err = a.noConnection(id)
	}
	return r, status, err
}

func newConnectionsList(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tenant's connections", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				found, err := s.store.Connections(cmd.Context(), a.tenant, "")
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s has no connections; `pawl connections add` adds one", a.tenant)
				headings := []string{"CONNECTION", "PROVIDER", "KIND", "STATUS", "GRANTS", "ADDED"}
				return tabled(a, found, nothing, headings, func(c connections.Record) []string {
					return []string{c.ConnectionID, c.Provider, string(c.Kind), c.Status, strconv.FormatInt(c.Grants, 10), clockTime(c.AddedAt) + " by " + name(c.AddedBy)}
				})
			})
		},
	}
}

func newConnectionsShow(a *App) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a connection and who may use it", Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				c, err := a.connection(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				grants, err := s.store.ConnectionGrants(cmd.Context(), a.tenant, args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return PrintJSON(a.Out, map[string]any{"connection": c, "grants": listed(grants)})
				}
				a.showConnection(c, grants)
				return nil
			})
		},
	}
}

// connection finds one of the tenant's.
func (a *App) connection(ctx context.Context, s *session, id string) (c connections.Record, err error) {
	found, err := s.store.Connections(ctx, a.tenant, id)
	switch {
	case err != nil:
		return c, err
	case len(found) == 0:
		return c, a.noConnection(id)
	}
	return found[0], nil
}

func (a *App) showConnection(c connections.Record, grants []connections.GrantRecord) {
	line := func(name, value string) { fmt.Fprintf(a.Out, "%-11s %s\n", name, OneLine(value, 400)) }
	line("connection", c.ConnectionID)
	line("provider", fmt.Sprintf("%s (%s)", c.Provider, c.Kind))
	line("status", c.Status)
	if c.RevokedAt != nil {
		line("revoked", clockTime(*c.RevokedAt)+" by "+name(c.RevokedBy))
	}
	line("hosts", strings.Join(c.Hosts, ", "))
	line("scopes", cmp.Or(strings.Join(c.Scopes, ", "), "none"))
	line("added", clockTime(c.AddedAt)+" by "+name(c.AddedBy))
	line("generation", strconv.Itoa(c.Generation))
	if c.KeyID != 0 {
		line("secret", fmt.Sprintf("version %d, sealed with the key %d", c.SecretVersion, c.KeyID))
	}
	if c.TokenExpiresAt != nil {
		line("token", "ends "+clockTime(*c.TokenExpiresAt))
	}
	if len(grants) == 0 {
		fmt.Fprintln(a.Out, "nobody may use it: `pawl connections grant` lets somebody")
		return
	}
	fmt.Fprintln(a.Out)
	rows := make([][]string, len(grants))
	for i, g := range grants {
		state := until(g.ExpiresAt, g.Expired)
		if g.RevokedAt != nil {
			state = "taken back " + clockTime(*g.RevokedAt) + " by " + name(g.RevokedBy)
		}
		rows[i] = []string{name(g.Grantee), scopesText(g.Scopes), state, clockTime(g.GrantedAt) + " by " + name(g.GrantedBy)}
	}
	PrintTable(a.Out, "", []string{"GRANTED TO", "SCOPES", "COUNTS", "SINCE"}, rows)
}

func scopesText(scopes []string) string {
	if slices.Contains(scopes, broker.AllScopes) {
		return "all"
	}
	return cmp.Or(strings.Join(scopes, ", "), "none")
}

func newConnectionsProviders(a *App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "providers", Short: "List the services whose description is known", Args: ExactArgs(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			known, err := providers(file)
			if err != nil {
				return err
			}
			return tabled(a, known, "", []string{"PROVIDER", "KIND", "HOSTS", "CREDENTIAL"}, func(p broker.Provider) []string {
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
	cmd.Flags().StringVar(file, "providers", "", "YAML file with descriptions of services beside those that Pawl brings")
}

// providers are the shipped descriptions and those of a file, if one is named.
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

// provider finds a description.
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
		return p, fmt.Errorf("no provider %q is described; known are %s. Describe others in a file for --providers (docs/providers.md)", id, strings.Join(ids, ", "))
	}
	return known[i], nil
}
