package policies

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

func newPolicyTest(a *app.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "test FILE",
		Short: "Test a policy: compare its verdicts with the expected verdicts",
		Long: "Judge the calls in a file of cases, and show each verdict that differs from the expected verdict, with an\n" +
			"explanation. The exit status is 1 if a verdict differs.",
		Args: app.ExactArgs(1, "a file of cases"),
		RunE: func(cmd *cobra.Command, args []string) error {
			doc, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			cases, err := review.ParseCases(args[0], doc)
			if err != nil {
				return err
			}
			p, specs, err := policyOf(cmd.Context(), a, policyToTest(args[0], cases.Policy, file))
			if err != nil {
				return err
			}
			if err := review.Check(p, specs); err != nil {
				return err
			}
			return runCases(a, args[0], cases, p, specs)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the policy file, or active; default the policy that the file of cases names")
	return cmd
}

// policyToTest returns the name of the policy file to test, or activePolicy for the active version. It is flag, the
// value of --file, if it is not empty. Otherwise it is named, the policy that the file cases names, relative to the
// directory of cases; if it is empty too, it is activePolicy.
func policyToTest(cases, named, flag string) string {
	switch {
	case flag != "":
		return flag
	case named == "" || named == activePolicy:
		return activePolicy
	case filepath.IsAbs(named):
		return named
	}
	return filepath.Join(filepath.Dir(cases), named)
}

// outcome is the result of one case.
type outcome struct {
	Name        string              `json:"name"`
	Line        int                 `json:"line"`
	OK          bool                `json:"ok"`
	Error       string              `json:"error,omitempty"`
	Differences []review.Difference `json:"differences,omitempty"`
	explained   review.Explanation
}

func runCases(a *app.App, file string, cases review.Cases, p *policy.Policy, specs []toolspec.Spec) error {
	outcomes := make([]outcome, len(cases.List))
	failed := 0
	for i, c := range cases.List {
		if c.Facts.TenantID == "" {
			c.Facts.TenantID = a.Tenant
		}
		outcomes[i] = tryCase(c, cases, p, specs)
		if !outcomes[i].OK {
			failed++
		}
	}
	if a.JSON {
		if err := app.PrintJSON(a.Out, map[string]any{"ok": failed == 0, "failed": failed, "cases": outcomes}); err != nil {
			return err
		}
	} else {
		for _, o := range outcomes {
			printOutcome(a, file, o)
		}
		fmt.Fprintf(a.Out, "%d of %d cases have the expected verdict\n", len(outcomes)-failed, len(outcomes))
	}
	if failed > 0 {
		return app.Silent(errors.New("policy test failed"))
	}
	return nil
}

func tryCase(c review.Case, cases review.Cases, p *policy.Policy, specs []toolspec.Spec) outcome {
	o := outcome{Name: c.Name, Line: c.Line}
	var err error
	if o.explained, o.Differences, err = cases.Judge(c, p, specs); err != nil {
		o.Error = err.Error()
		return o
	}
	o.OK = len(o.Differences) == 0
	return o
}

// printOutcome prints a case that failed. A line with - is the expected value, a line with + is
// the value that policy gives.
func printOutcome(a *app.App, file string, o outcome) {
	if o.OK {
		return
	}
	fmt.Fprintf(a.Out, "%s:%d: %s\n", app.Printable(file), o.Line, app.OneLine(o.Name, 200))
	if o.Error != "" {
		fmt.Fprintf(a.Out, "  %s\n", app.Printable(o.Error))
		return
	}
	for _, d := range o.Differences {
		fmt.Fprintf(a.Out, "  %-8s - %s\n  %-8s + %s\n", d.What, app.Printable(d.Want), "", app.Printable(d.Got))
	}
	for line := range strings.Lines(o.explained.Text()) {
		fmt.Fprintf(a.Out, "    %s", app.Printable(strings.TrimSuffix(line, "\n"))+"\n")
	}
}
