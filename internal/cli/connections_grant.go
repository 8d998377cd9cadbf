package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/connections"
	"github.com/pawl-run/pawl/toolspec"
)

func newConnectionsGrant(a *App) *cobra.Command {
	var to, expires, by string
	var scopes []string
	var all bool
	cmd := &cobra.Command{
		Use: "grant ID --to WHO", Short: "Let somebody, or a role, use a connection",
		Long: "Let somebody, or everybody of a role, use a connection with some of its scopes. A call may use it where its\n" +
			"subject, or its actor if it has none, is granted it, and the call names it among its allowedConnectionIds.\n" +
			"What the grantee had before ends.\n\n" +
			"  pawl connections grant gh-main --to role:release --expires 30d",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkGrantee("--to", to); err != nil {
				return err
			}
			var lasts time.Duration // 0 is for good
			if expires != "" {
				var err error
				if lasts, err = timespan("--expires", expires); err != nil {
					return err
				}
			}
			if all && len(scopes) > 0 {
				return usageError{errors.New("--scope and --all-scopes: give one of them")}
			}
			if err := checkScopes(scopes); err != nil {
				return usageError{fmt.Errorf("--scope: %w", err)}
			}
			return withStore(cmd.Context(), func(s *session) error {
				c, err := a.connection(cmd.Context(), s, args[0])
				if err != nil {
					return err
				}
				if err := grantable(c, scopes, all); err != nil {
					return err
				}
				if all {
					scopes = []string{broker.AllScopes}
				}
				g, err := s.store.GrantConnection(cmd.Context(), a.tenant, args[0], to, scopes, lasts, by)
				if errors.Is(err, postgres.ErrNotFound) {
					return a.noConnection(args[0])
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return PrintJSON(a.Out, map[string]any{
						"tenant": a.tenant, "grantId": g.ID, "connectionId": g.ConnectionID, "grantee": g.Grantee, "scopes": listed(g.Scopes), "expiresAt": g.ExpiresAt,
					})
				}
				fmt.Fprintf(a.Out, "%s: %s may use %s, scopes %s, %s\n", a.tenant, name(to), name(args[0]), scopesText(scopes), until(g.ExpiresAt, false))
				return nil
			})
		},
	}
	identityVar(cmd.Flags(), &to, "to", "", "who: an identity such as user:ann, or role:NAME")
	cmd.Flags().StringArrayVar(&scopes, "scope", nil, "one of the connection's scopes. May be given several times")
	cmd.Flags().BoolVar(&all, "all-scopes", false, "every scope that the connection has")
	cmd.Flags().StringVar(&expires, "expires", "", "how long it counts, such as 8h or 30d; for good where it is left out")
	byFlag(cmd, &by, "grants")
	return cmd
}

// checkGrantee wants an identity or a role, for what else would be granted counts
// for nobody.
func checkGrantee(flag, grantee string) error {
	switch err := toolspec.CheckIdentity(grantee); {
	case grantee == "":
		return usageError{fmt.Errorf("%s is missing: an identity such as user:ann, or role:NAME", flag)}
	case err != nil:
		return usageError{fmt.Errorf("%s: %w", flag, err)}
	case strings.HasPrefix(grantee, "group:"):
		return usageError{fmt.Errorf("%s: a group has no connections; grant a role, and make the group a member of it", flag)}
	case grantee == broker.RolePrefix:
		return usageError{fmt.Errorf("%s: role: lacks its name", flag)}
	}
	return nil
}

// grantable reports what keeps a grant from meaning anything.
func grantable(c connections.Record, scopes []string, all bool) error {
	switch {
	case c.RevokedAt != nil:
		return fmt.Errorf("%s was revoked %s by %s: add another connection", name(c.ConnectionID), clockTime(*c.RevokedAt), name(c.RevokedBy))
	case !all && len(scopes) == 0 && len(c.Scopes) > 0:
		return usageError{fmt.Errorf("say with which scopes: --scope of %s, or --all-scopes", strings.Join(c.Scopes, ", "))}
	}
	for _, s := range scopes {
		if !slices.Contains(c.Scopes, s) {
			return usageError{fmt.Errorf("--scope: the connection has no scope %s; it has %s", s, scopesText(c.Scopes))}
		}
	}
	return nil
}

func newConnectionsRevoke(a *App) *cobra.Command {
	var from, ring, by string
	var whole bool
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Take a grant back, or the whole connection",
		Long: "Take back what somebody was granted, with --from, or the whole connection for good, with --yes. Calls that\n" +
			"wait are denied, those that run are cancelled, and no other begins. Tokens of OAuth2 are taken back at the\n" +
			"service where it can be told, for which the key ring opens them: where that fails, they are deleted here all\n" +
			"the same, but for a ring of --keyring that does not open. Any other credential stays good there until\n" +
			"somebody takes it back.",
		Args: oneConnection,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case from != "" && whole:
				return usageError{errors.New("--from takes one grant back and --yes the whole connection: give one of them")}
			case from == "" && !whole:
				return usageError{errors.New("that would take the whole connection away for good and delete its secret: say so with --yes, or name a grantee with --from")}
			}
			return withStore(cmd.Context(), func(s *session) error {
				if from == "" {
					return a.revokeConnection(cmd, s, ring, args[0], by)
				}
				err := s.store.RevokeConnectionGrant(cmd.Context(), a.tenant, args[0], from, by)
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("%s has no grant for %q of tenant %s; `pawl connections show` lists those that there are", Printable(from), args[0], a.tenant)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return PrintJSON(a.Out, map[string]string{"tenant": a.tenant, "connectionId": args[0], "from": from})
				}
				fmt.Fprintf(a.Out, "%s: %s may not use %s any more\n", a.tenant, name(from), name(args[0]))
				return nil
			})
		},
	}
	identityVar(cmd.Flags(), &from, "from", "", "whose grant")
	cmd.Flags().BoolVar(&whole, "yes", false, "the whole connection, for good")
	keyRingFlag(cmd, &ring)
	byFlag(cmd, &by, "revokes")
	return cmd
}

func (a *App) revokeConnection(cmd *cobra.Command, s *session, ring, id, by string) error {
	var sealer broker.Sealer
	if ring != "" {
		// A ring that was named and does not open is told while there are tokens to take
		// back. One of the environment holds nobody up: it was not asked for.
		var err error
		if sealer, err = a.sealer(s, ring); err != nil {
			return err
		}
	}
	record, err := s.store.RevokeConnection(cmd.Context(), a.tenant, id, by)
	if errors.Is(err, postgres.ErrNotFound) {
		return a.noConnection(id)
	}
	if err != nil {
		return err
	}
	there := a.retire(cmd, s, sealer, record)
	if a.JSON {
		return PrintJSON(a.Out, map[string]string{"tenant": a.tenant, "connectionId": id, "status": "revoked", "provider": string(there)})
	}
	fmt.Fprintf(a.Out, "%s: %s is gone for good and its secret is deleted here", a.tenant, Printable(id))
	if there == broker.RetiredThere {
		fmt.Fprintln(a.Out, "; the service has taken its tokens back")
	} else {
		fmt.Fprintln(a.Out, "; take it back at the service too")
	}
	return nil
}

// retire takes tokens back at the service, where it can: what fails there changes
// nothing here. Without a sealer it opens the key ring of the environment.
func (a *App) retire(cmd *cobra.Command, s *session, sealer broker.Sealer, record broker.Record) (there broker.Retired) {
	if record.Provider.OAuth2 == nil || record.Provider.OAuth2.RevokeURL == "" {
		return broker.RetiredNowhere
	}
	var err error
	if sealer == nil {
		sealer, err = a.sealer(s, "")
	}
	if err == nil {
		there, err = broker.New(s.store, sealer, broker.Options{}).Retire(cmd.Context(), record)
	}
	if err != nil {
		fmt.Fprintln(a.Err, "the tokens are not taken back at the service:", err)
		return broker.RetiredFailed
	}
	return there
}
