package policies

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// maxKillReason is the maximum length of a reason, in characters. The result of every call that
// the switch stops contains the reason.
const maxKillReason = 200

func newKill(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "kill", Short: "Stop all calls of a tenant, a tool or an effect at once; policy and approvals cannot override it"}
	cmd.AddCommand(newKillOn(a), newKillOff(a), newKillList(a))
	return app.Group(cmd)
}

// killFlags are the flags that say which calls a kill switch covers.
type killFlags struct {
	tool, effect, by string
	everyTenant      bool
}

func (f *killFlags) add(cmd *cobra.Command, tool string) {
	cmd.Flags().StringVar(&f.tool, "tool", tool, "tool id, or a prefix and *; * means every tool")
	cmd.Flags().StringVar(&f.effect, "effect", "", "read_only, state_change or external_side_effect; default every effect")
	cmd.Flags().BoolVar(&f.everyTenant, "all-tenants", false, "all tenants, not only the tenant of --tenant")
	app.IdentityVar(cmd.Flags(), &f.by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
}

// scope checks the flags and returns the scope of the switch; tenant is the tenant of the command
// line.
func (f *killFlags) scope(tenant string) (policies.KillScope, error) {
	scope := policies.KillScope{TenantID: tenant, Tool: f.tool, Effect: toolspec.Effect(f.effect)}
	if f.everyTenant {
		scope.TenantID = ""
	}
	switch err := document.Pattern(f.tool).CheckTool(); {
	case f.by == "":
		return scope, app.RequireIdentity("--as", f.by, app.ForAudit)
	case f.tool == "":
		return scope, app.Usage(errors.New("--tool is missing; '*' is every tool"))
	case err != nil:
		return scope, app.Usage(fmt.Errorf("--tool: %w", err))
	case scope.Effect != "" && !scope.Effect.Valid():
		return scope, app.Usage(errors.New("--effect is read_only, state_change or external_side_effect"))
	}
	return scope, nil
}

func newKillOn(a *app.App) *cobra.Command {
	var f killFlags
	var reason string
	cmd := &cobra.Command{
		Use: "on --tool TOOL --reason REASON", Short: "Turn a kill switch on",
		Long: "Turn a kill switch on. New calls that it covers are denied. Calls that wait for a person or for capacity\n" +
			"end at once. Calls that run end before their next attempt. No approval and no policy overrides a kill\n" +
			"switch. Callers see the reason.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			scope, err := f.scope(a.Tenant)
			if err != nil {
				return err
			}
			if err := checkKillReason(reason); err != nil {
				return app.Usage(err)
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				k, err := s.Store.KillOn(cmd.Context(), scope, reason, f.by)
				if err != nil {
					return err
				}
				said := "on"
				if !k.Changed {
					said = "was on already"
				}
				return printKillSwitch(a, k, said)
			})
		},
	}
	f.add(cmd, "")
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, one line; callers see it")
	return cmd
}

func checkKillReason(reason string) error {
	switch {
	case strings.TrimSpace(reason) == "":
		return errors.New("--reason is missing: give the reason that callers see")
	case utf8.RuneCountInString(reason) > maxKillReason || app.Printable(reason) != reason || strings.ContainsAny(reason, "\n\t"):
		return fmt.Errorf("--reason is one line of at most %d characters", maxKillReason)
	case toolspec.SecretValue(reason):
		return errors.New("--reason contains text that looks like a credential, and callers see the reason")
	}
	return nil
}

func newKillOff(a *app.App) *cobra.Command {
	var f killFlags
	cmd := &cobra.Command{
		Use: "off [NUMBER]", Short: "Turn a kill switch off, by its number or by its exact tool, effect and tenant",
		Args: app.AtMostOneArg("at most the number of a switch; `pawl kill list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var id int64
			var err error
			if len(args) == 1 {
				if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
					return app.Usage(errors.New("a kill switch is named by its number; `pawl kill list` shows the numbers"))
				}
			}
			if id > 0 && f.tool == "" {
				f.tool = "*" // scope needs a tool; the number alone selects the switch
			}
			scope, err := f.scope(a.Tenant)
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				k, found, err := s.Store.KillOff(cmd.Context(), id, scope, f.by)
				switch {
				case err != nil:
					return err
				case !found:
					return errors.New("no such kill switch is on; `pawl kill list` shows the kill switches that are on")
				}
				return printKillSwitch(a, k, "off")
			})
		},
	}
	f.add(cmd, "")
	return cmd
}

func newKillList(a *app.App) *cobra.Command {
	var off, everyTenant bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the kill switches that are on for the tenant", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				tenant := a.Tenant
				if everyTenant {
					tenant = ""
				}
				switches, err := s.Store.KillSwitches(cmd.Context(), tenant, off)
				if err != nil {
					return err
				}
				headings := []string{"NUMBER", "TENANT", "TOOL", "EFFECT", "ON SINCE", "BY", "OFF", "REASON"}
				return app.PrintRows(a, switches, "no kill switch is on", headings, func(k policies.KillSwitch) []string {
					until := ""
					if k.OffAt != nil {
						until = app.FormatTime(*k.OffAt) + " by " + app.QuoteName(k.OffBy)
					}
					return []string{
						strconv.FormatInt(k.ID, 10), orEvery(k.TenantID), k.Tool, orEvery(string(k.Effect)), app.FormatTime(k.OnAt), app.QuoteName(k.OnBy), until, k.Reason,
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&off, "all", false, "also list kill switches that are off")
	cmd.Flags().BoolVar(&everyTenant, "all-tenants", false, "list the kill switches of all tenants")
	return cmd
}

func orEvery(s string) string {
	if s == "" {
		return "every"
	}
	return s
}

func printKillSwitch(a *app.App, k policies.KillSwitch, said string) error {
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"switch": k, "state": said})
	}
	tenant := "every tenant"
	if k.TenantID != "" {
		tenant = "tenant " + k.TenantID
	}
	effect := "every effect"
	if k.Effect != "" {
		effect = string(k.Effect)
	}
	fmt.Fprintf(a.Out, "%d  %s: %s, tool %s, %s\n", k.ID, said, tenant, k.Tool, effect)
	return nil
}
