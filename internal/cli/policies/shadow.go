package policies

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/policy"
)

func newPolicyShadow(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "shadow", Short: "Judge calls by a second policy too, without effect on the calls"}
	cmd.AddCommand(newShadowSet(a), newShadowOff(a), newShadowReport(a))
	return app.Group(cmd)
}

func newShadowSet(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "set FILE", Short: "Make a policy file the shadow policy", Args: app.ExactArgs(1, "a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPolicy(args[0])
			if err != nil {
				return err
			}
			return setShadow(cmd.Context(), a, p, by)
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}

func newShadowOff(a *app.App) *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use: "off", Short: "Remove the shadow policy", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return setShadow(cmd.Context(), a, nil, by) },
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}

// setShadow makes p the shadow policy, or ends the shadow policy if p is nil.
func setShadow(ctx context.Context, a *app.App, p *policy.Policy, by string) error {
	if err := app.RequireIdentity("--as", by, app.ForAudit); err != nil {
		return err
	}
	return app.WithStore(ctx, func(s *app.Session) error {
		if p != nil {
			if err := checkFits(ctx, s.Store, p); err != nil {
				return err
			}
		}
		changed, err := s.Store.SetShadow(ctx, p, by)
		if err != nil {
			return err
		}
		if p != nil {
			said := "shadow"
			if !changed {
				said = "was the shadow already"
			}
			return printPolicy(a, p, said)
		}
		if a.JSON {
			return app.PrintJSON(a.Out, map[string]any{"state": "off", "changed": changed})
		}
		fmt.Fprintln(a.Out, "there is no shadow policy")
		return nil
	})
}

// shadowView is a line of the report in the form that --json prints.
type shadowView struct {
	Tenant  string `json:"tenant"`
	Tool    string `json:"tool"`
	Live    string `json:"live"`
	Shadow  string `json:"shadow"`
	Rule    string `json:"rule"`
	Calls   int    `json:"calls"`
	Example string `json:"example"`
}

func newShadowReport(a *app.App) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "report", Short: "Compare the verdicts of the shadow policy with those of the active policy, for settled calls",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ago, err := app.ParseTimespan("--since", since)
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				shadow, ok, err := s.Store.ShadowPolicy(cmd.Context())
				if err != nil {
					return err
				}
				if !ok {
					return errors.New("there is no shadow policy; `pawl policy shadow set FILE` sets one")
				}
				tenant := ""
				if cmd.Flags().Changed("tenant") {
					tenant = a.Tenant
				}
				lines, err := s.Store.ShadowReport(cmd.Context(), shadow.Digest, tenant, time.Now().Add(-ago))
				if err != nil {
					return err
				}
				views, rows := []shadowView{}, [][]string{}
				for _, l := range lines {
					views = append(views, shadowView{Tenant: l.TenantID, Tool: l.ToolID, Live: l.Live, Shadow: l.Shadow, Rule: l.Rule, Calls: l.Calls, Example: l.Example})
					differs := ""
					if l.Live != l.Shadow {
						differs = "!"
					}
					rows = append(rows, []string{differs, strconv.Itoa(l.Calls), l.TenantID, l.ToolID, l.Live, l.Shadow, l.Rule, l.Example})
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"digest": shadow.Digest, "since": shadow.At, "by": shadow.By, "lines": views})
				}
				fmt.Fprintf(a.Out, "%s, shadow policy since %s, set by %s\n", short(shadow.Digest), app.FormatTime(shadow.At), app.QuoteName(shadow.By))
				if len(rows) == 0 {
					fmt.Fprintf(a.Out, "no call with this shadow policy was settled in the last %s\n", since)
					return nil
				}
				app.PrintTable(a.Out, "", []string{"", "CALLS", "TENANT", "TOOL", "LIVE", "SHADOW", "BY", "SUCH AS"}, rows)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "30d", "age of the oldest calls, such as 12h or 30d")
	return cmd
}
