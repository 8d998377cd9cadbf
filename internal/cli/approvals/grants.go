package approvals

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/record"
	"github.com/pawl-run/pawl/toolspec"
)

func newGrants(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "grants", Short: "List approvals that are remembered for later calls", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				grants, err := s.Store.ListGrants(cmd.Context(), a.Tenant)
				if err != nil {
					return err
				}
				return app.PrintList(a, grants, "nothing is remembered", func(grants []record.GrantRecord) {
					for _, g := range grants {
						fmt.Fprintf(a.Out, "%s  %s\n  tool     %s, %s\n  by       %s, on %s\n  used     %d times\n",
							g.ID, app.OneLine(grantStatus(g), 100), g.ToolID, app.OneLine(coverage(g), 400), app.QuoteName(g.Approver), g.ApprovalID, g.Uses)
					}
				})
			})
		},
	}
}

func grantStatus(g record.GrantRecord) string {
	switch {
	case g.RevokedAt != nil:
		return "revoked " + app.FormatTime(*g.RevokedAt) + " by " + app.QuoteName(g.RevokedBy)
	case g.Expired:
		return "expired " + app.FormatTime(g.ExpiresAt)
	default:
		return "until " + app.FormatTime(g.ExpiresAt)
	}
}

// coverage says in words for which calls a remembered approval counts.
func coverage(g record.GrantRecord) string {
	args := "any arguments"
	switch {
	case g.Exact:
		args = "the approved arguments"
	case len(g.Match) > 0:
		members := make([]string, len(g.Match))
		for i, m := range g.Match {
			members[i] = m.Pointer + "=" + m.Pattern
		}
		args = "arguments with " + strings.Join(members, ", ")
	}
	actor := "anyone"
	if g.ActorID != "" {
		actor = app.QuoteName(g.ActorID)
	}
	text := args + ", by " + actor
	if g.SessionID != "" {
		text += ", in session " + app.QuoteName(g.SessionID)
	}
	return text
}

func newRevokeGrant(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "revoke GRANT", Short: "Revoke a remembered approval", Args: app.ExactArgs(1, "a grant id; `pawl approvals grants` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if uuid.Validate(args[0]) != nil {
				return app.Usage(errors.New("a grant id is a UUID; `pawl approvals grants` lists them"))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				revoked, err := s.Store.RevokeGrant(cmd.Context(), a.Tenant, args[0], by)
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("the tenant %s has no grant %s; `pawl approvals grants` lists its grants", a.Tenant, args[0])
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "grantId": args[0], "revoked": revoked})
				}
				if !revoked {
					fmt.Fprintf(a.Out, "%s was revoked before\n", args[0])
					return nil
				}
				fmt.Fprintf(a.Out, "%s approves no more requests; calls that it approved stay approved\n", args[0])
				return nil
			})
		},
	}
	app.ByFlag(cmd, &by, "revokes")
	return cmd
}

// rememberFlags holds the flags of `pawl approve` that ask to remember the approval for later calls.
type rememberFlags struct {
	remember             bool
	life                 time.Duration
	args, actor, session string
	match                []string
}

func (m *rememberFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&m.remember, "remember", false, "also approve later calls of this tool that are like this one, if policy allows that")
	f.DurationVar(&m.life, "for", 0, "with --remember, for how long (default the longest time that policy allows)")
	f.StringVar(&m.args, "args", "", "with --remember, for which arguments: exact or any (default exact)")
	f.StringArrayVar(&m.match, "match", nil, "with --remember, only arguments with this member, as /path=notes/*; may be repeated")
	f.StringVar(&m.actor, "actor", "", "with --remember, for which actor: same or any (default same)")
	f.StringVar(&m.session, "session", "", "with --remember, for which session: same or any (default any)")
}

// ask sets Remember and Scope of the decision from the flags. It returns a usage error if the flags do not fit
// together.
func (m *rememberFlags) ask(d *toolspec.Decision) error {
	scope := toolspec.Scope{Args: m.args, Actor: m.actor, Session: m.session, ForMs: m.life.Milliseconds()}
	for _, member := range m.match {
		pointer, pattern, ok := strings.Cut(member, "=")
		if !ok {
			return app.Usage(fmt.Errorf("--match is /pointer=pattern, not %q", member))
		}
		scope.Args, scope.Match = toolspec.Match, append(scope.Match, toolspec.ArgMatch{Pointer: pointer, Pattern: pattern})
	}
	scopeGiven := m.args != "" || m.actor != "" || m.session != "" || m.life != 0 || len(m.match) > 0
	switch {
	case scopeGiven && !m.remember:
		return app.Usage(errors.New("--for, --args, --match, --actor and --session need --remember"))
	case len(m.match) > 0 && m.args != "":
		return app.Usage(errors.New("--match and --args exclude each other: give one of them"))
	case m.args == toolspec.Match:
		return app.Usage(errors.New("--args is exact or any; to match some arguments give --match"))
	}
	if err := scope.Check(); err != nil {
		return app.Usage(err)
	}
	if d.Remember = m.remember; scopeGiven {
		d.Scope = &scope
	}
	return nil
}
