package connections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec"
)

func newConnectionsGrant(a *app.App) *cobra.Command {
	var to, expires, by string
	var scopes []string
	var all bool
	cmd := &cobra.Command{
		Use: "grant ID --to WHO", Short: "Let an identity or a role use a connection",
		Long: "Let an identity or a role use a connection with some of its scopes. A call may use a connection if its\n" +
			"subject, or its actor if the call has no subject, has a grant, and if the call lists the connection in its\n" +
			"allowedConnectionIds. A new grant replaces the earlier grant of the same identity or role.\n\n" +
			"  pawl connections grant gh-main --to role:release --expires 30d",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGrantee("--to", to); err != nil {
				return err
			}
			var lasts time.Duration // 0 is without end
			if expires != "" {
				var err error
				if lasts, err = app.ParseTimespan("--expires", expires); err != nil {
					return err
				}
			}
			if all && len(scopes) > 0 {
				return app.Usage(errors.New("--scope and --all-scopes: give one of them"))
			}
			if err := checkScopes(scopes); err != nil {
				return app.Usage(fmt.Errorf("--scope: %w", err))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				c, err := findConnection(cmd.Context(), a, s, args[0])
				if err != nil {
					return err
				}
				if err := grantable(c, scopes, all); err != nil {
					return err
				}
				if all {
					scopes = []string{broker.AllScopes}
				}
				g, err := s.Store.GrantConnection(cmd.Context(), a.Tenant, args[0], to, scopes, lasts, by)
				if errors.Is(err, postgres.ErrNotFound) {
					return noConnection(a, args[0])
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{
						"tenant": a.Tenant, "grantId": g.ID, "connectionId": g.ConnectionID, "grantee": g.Grantee, "scopes": app.NonNil(g.Scopes), "expiresAt": g.ExpiresAt,
					})
				}
				fmt.Fprintf(a.Out, "%s: %s may use %s, scopes %s, %s\n", a.Tenant, app.QuoteName(to), app.QuoteName(args[0]), scopesText(scopes), app.FormatUntil(g.ExpiresAt, false))
				return nil
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &to, "to", "", "the grantee: an identity such as user:ann, or role:NAME")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "one of the connection's scopes. May be repeated")
	cmd.Flags().BoolVar(&all, "all-scopes", false, "all scopes of the connection")
	cmd.Flags().StringVar(&expires, "expires", "", "how long the grant is valid, such as 8h or 30d; default without end")
	app.ByFlag(cmd, &by, "grants")
	return cmd
}

// checkGrantee refuses a grantee that is neither an identity nor a role. A grant to anything else
// would match no caller.
func checkGrantee(flag, grantee string) error {
	switch err := toolspec.CheckIdentity(grantee); {
	case grantee == "":
		return app.Usage(fmt.Errorf("%s is missing: an identity such as user:ann, or role:NAME", flag))
	case err != nil:
		return app.Usage(fmt.Errorf("%s: %w", flag, err))
	case strings.HasPrefix(grantee, "group:"):
		return app.Usage(fmt.Errorf("%s: a group cannot have grants: grant the connection to a role, and make the group a member of the role", flag))
	case grantee == broker.RolePrefix:
		return app.Usage(fmt.Errorf("%s: role: lacks its name", flag))
	}
	return nil
}

// grantable returns an error for a grant that would have no effect: the connection is revoked, the grant has a scope
// that the connection does not have, or it has no scope although the connection has scopes.
func grantable(c connections.Record, scopes []string, all bool) error {
	switch {
	case c.RevokedAt != nil:
		return fmt.Errorf("%s was revoked %s by %s: add another connection", app.QuoteName(c.ConnectionID), app.FormatTime(*c.RevokedAt), app.QuoteName(c.RevokedBy))
	case !all && len(scopes) == 0 && len(c.Scopes) > 0:
		return app.Usage(fmt.Errorf("name the scopes: --scope with some of %s, or --all-scopes", strings.Join(c.Scopes, ", ")))
	}
	for _, s := range scopes {
		if !slices.Contains(c.Scopes, s) {
			return app.Usage(fmt.Errorf("--scope: the connection has no scope %s; it has %s", s, scopesText(c.Scopes)))
		}
	}
	return nil
}

func newConnectionsRevoke(a *app.App) *cobra.Command {
	var from, ring, by string
	var whole bool
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a grant, or the whole connection",
		Long: "Revoke a grant with --from, or the whole connection with --yes, which cannot be undone. Calls that wait are\n" +
			"denied, calls that run are cancelled, and no new attempt begins.\n\n" +
			"If the connection has OAuth2 tokens, and the provider describes where tokens are revoked, they are also\n" +
			"revoked at the service; that needs the key ring. If that fails, the tokens are still deleted here,\n" +
			"unless the ring of --keyring does not open them. Other credentials stay valid at the service until somebody\n" +
			"revokes them there.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case from != "" && whole:
				return app.Usage(errors.New("--from revokes a grant and --yes revokes the whole connection: give one of them"))
			case from == "" && !whole:
				return app.Usage(errors.New("this would revoke the whole connection and delete its secret, which cannot be undone: confirm with --yes, or name a grantee with --from"))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if from == "" {
					return revokeConnection(a, cmd, s, ring, args[0], by)
				}
				err := s.Store.RevokeConnectionGrant(cmd.Context(), a.Tenant, args[0], from, by)
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("%s has no grant for %q of tenant %s; `pawl connections show` lists its grants", app.Printable(from), args[0], a.Tenant)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]string{"tenant": a.Tenant, "connectionId": args[0], "from": from})
				}
				fmt.Fprintf(a.Out, "%s: %s may not use %s any more\n", a.Tenant, app.QuoteName(from), app.QuoteName(args[0]))
				return nil
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &from, "from", "", "the grantee whose grant is revoked")
	cmd.Flags().BoolVar(&whole, "yes", false, "revoke the whole connection; this cannot be undone")
	app.KeyRingFlag(cmd, &ring)
	app.ByFlag(cmd, &by, "revokes")
	return cmd
}

func revokeConnection(a *app.App, cmd *cobra.Command, s *app.Session, ring, id, by string) error {
	var sealer broker.Sealer
	if ring != "" {
		// The revocation below deletes the tokens, and without them nobody can revoke them at the service. So the
		// command ends here if the key ring of --keyring does not open, or does not open the tokens. A key ring of the
		// environment that does not open does not stop the revocation, because the user did not ask for it.
		var err error
		if sealer, err = a.OpenSealer(s, ring); err != nil {
			return err
		}
		if err := opensTokens(cmd.Context(), a, s, sealer, id); err != nil {
			return err
		}
	}
	record, err := s.Store.RevokeConnection(cmd.Context(), a.Tenant, id, by)
	if errors.Is(err, postgres.ErrNotFound) {
		return noConnection(a, id)
	}
	if err != nil {
		return err
	}
	atService := retire(a, cmd, s, sealer, record)
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]string{"tenant": a.Tenant, "connectionId": id, "status": "revoked", "provider": string(atService)})
	}
	fmt.Fprintf(a.Out, "%s: %s is revoked, and its secret is deleted here", a.Tenant, app.Printable(id))
	if atService == broker.RetiredThere {
		fmt.Fprintln(a.Out, "; the service has revoked its tokens")
	} else {
		fmt.Fprintln(a.Out, "; revoke it at the service too")
	}
	return nil
}

// opensTokens returns an error if the tokens of a connection can be revoked at the service and sealer does not open
// them. It returns nil for a connection that does not exist.
func opensTokens(ctx context.Context, a *app.App, s *app.Session, sealer broker.Sealer, id string) error {
	record, _, err := s.Store.ConnectionSecret(ctx, a.Tenant, id)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !revocableThere(record.Provider):
		return nil
	}
	plain, err := sealer.Open(record.Sealed.Bytes, record.Sealed.Binding)
	clear(plain)
	if err != nil {
		return fmt.Errorf("the key ring of --keyring does not open the tokens of %s, so nothing is revoked: name the key ring file of the workers, "+
			"or leave out --keyring to delete the tokens here without the service", app.QuoteName(id))
	}
	return nil
}

// revocableThere reports whether Pawl can revoke the tokens of a connection at the service.
func revocableThere(p broker.Provider) bool { return p.OAuth2 != nil && p.OAuth2.RevokeURL != "" }

// retire revokes the tokens of a revoked connection at the service, if the service supports it, and returns whether
// the service has revoked them. It prints an error and does not return it. If sealer is nil, it opens the key ring of
// the environment.
func retire(a *app.App, cmd *cobra.Command, s *app.Session, sealer broker.Sealer, record broker.Record) (atService broker.Retired) {
	if !revocableThere(record.Provider) {
		return broker.RetiredNowhere
	}
	var err error
	if sealer == nil {
		sealer, err = a.OpenSealer(s, "")
	}
	if err == nil {
		atService, err = broker.New(s.Store, sealer, broker.Options{}).Retire(cmd.Context(), record)
	}
	if err != nil {
		fmt.Fprintln(a.Err, "the tokens are not revoked at the service:", err)
		return broker.RetiredFailed
	}
	return atService
}
