package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/audit"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// verifyFlags are the flags of `audit verify`.
type verifyFlags struct {
	keyFiles, headFiles []string
	unsignedUntil       int64
	calls               int
	since               string
}

func newVerify(a *app.App) *cobra.Command {
	var o verifyFlags
	cmd := &cobra.Command{
		Use: "verify", Short: "Verify the chains of all tenants, or that of --tenant", Args: app.ExactArgs(0, "no arguments"),
		Long: "Read every sealed event, compute the chain anew and verify the signatures of its heads. Then compare the newest\n" +
			"calls of the record with the results that Temporal has. The command prints a sentence for each row that was changed,\n" +
			"deleted, moved or inserted after it was sealed. The exit status is 1 if there is one.\n\n" +
			"Give the public key of the workers with --key: without it, the chain could have been written anew. Give heads that\n" +
			"were kept elsewhere with --head: without one, the end of a chain, or all of it, could have been deleted.",
		Example: "  pawl audit verify --key audit.pub --head heads.jsonl\n  pawl audit verify --tenant acme --key audit.pub --calls 0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var only []string
			if cmd.Flags().Changed("tenant") {
				only = append(only, a.Tenant)
			}
			return verify(cmd.Context(), a, o, only)
		},
	}
	cmd.Flags().StringArrayVar(&o.keyFiles, "key", nil, "`FILE` of a public key of the workers, as pawl keys new prints it; more than once for more keys")
	cmd.Flags().StringArrayVar(&o.headFiles, "head", nil, "`FILE` of heads, as pawl audit head prints them; more than once for more files")
	cmd.Flags().Int64Var(&o.unsignedUntil, "unsigned-until", 0, "the number of the last head that the workers have not signed with a key of --key")
	cmd.Flags().IntVar(&o.calls, "calls", 100, "how many of the newest calls of each tenant to compare with Temporal, 0–10000")
	cmd.Flags().StringVar(&o.since, "since", "", "compare only calls that were created within this time, such as 12h or 7d")
	return cmd
}

// verified is the output of `audit verify`.
type verified struct {
	Chains []audit.Report `json:"chains"`
	Calls  *calls         `json:"calls,omitempty"`
}

// verify verifies the chains of the audit trail against the keys and the exported heads, and compares the newest calls
// of each tenant with Temporal. only limits it to one tenant.
func verify(ctx context.Context, a *app.App, o verifyFlags, only []string) error {
	if o.calls < 0 || o.calls > 10_000 {
		return app.Usage(errors.New("--calls is between 0 and 10000"))
	}
	var since time.Time
	if o.since != "" {
		span, err := app.ParseTimespan("--since", o.since)
		if err != nil {
			return err
		}
		since = time.Now().Add(-span)
	}
	keys, err := o.keys(a)
	if err != nil {
		return err
	}
	heads, err := readHeads(o.headFiles)
	if err != nil {
		return err
	}
	s, err := app.Connect(ctx, app.Servers{Temporal: o.calls > 0, Database: true})
	if err != nil {
		return err
	}
	defer s.Close()
	out := verified{Chains: []audit.Report{}}
	err = s.Store.VerifyAudit(ctx, audit.Terms{Keys: keys, UnsignedUntil: o.unsignedUntil, Exported: heads}, func(r audit.Report) {
		out.Chains = append(out.Chains, r)
		if !a.JSON {
			printReport(a, r)
		}
	}, only...)
	if err != nil {
		return err
	}
	if o.calls > 0 {
		out.Calls = &calls{Differences: []difference{}}
		for _, r := range out.Chains {
			if r.TenantID == "" {
				continue
			}
			if err := out.Calls.compare(ctx, s, r.TenantID, since, o.calls); err != nil {
				return err
			}
		}
	}
	return finish(a, out)
}

// finish prints what is not printed yet: everything with --json, otherwise the comparison of calls. It returns an
// error if the audit trail or a call was changed.
func finish(a *app.App, out verified) error {
	changes := int64(0)
	for _, r := range out.Chains {
		changes += r.Found
	}
	if out.Calls != nil {
		changes += int64(len(out.Calls.Differences))
	}
	switch {
	case a.JSON:
		if err := app.PrintJSON(a.Out, out); err != nil {
			return err
		}
	case len(out.Chains) == 0:
		fmt.Fprintln(a.Out, "the record has no events")
	}
	if !a.JSON && out.Calls != nil {
		out.Calls.print(a)
	}
	if changes > 0 {
		return app.Silent(errors.New("the audit trail was changed"))
	}
	return nil
}

func printReport(a *app.App, r audit.Report) {
	switch {
	case r.To == 0:
		fmt.Fprintf(a.Out, "%s: nothing is sealed\n", nameOf(r.TenantID))
	case r.From == 0:
		fmt.Fprintf(a.Out, "%s: all %d rows were removed by retention\n", nameOf(r.TenantID), r.RemovedTo)
	default:
		fmt.Fprintf(a.Out, "%s: rows %d to %d, %d as they were sealed", nameOf(r.TenantID), r.From, r.To, r.Rows)
		if r.Removed > 0 {
			fmt.Fprintf(a.Out, ", %d removed by retention, the last of them row %d", r.Removed, r.RemovedTo)
		}
		fmt.Fprintln(a.Out)
	}
	if r.Heads > 0 {
		fmt.Fprintf(a.Out, "  heads     %d, %d with a verified signature; the first of %s, the last of %s\n", r.Heads, r.Signed, app.FormatTime(r.FirstHead), app.FormatTime(r.LastHead))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(a.Out, "  CHANGED   %s\n", app.Printable(f.Text))
	}
	if more := r.Found - int64(len(r.Findings)); more > 0 {
		fmt.Fprintf(a.Out, "  CHANGED   %d more\n", more)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(a.Out, "  note      %s\n", app.Printable(n))
	}
}
