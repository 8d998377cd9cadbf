package policies

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
)

// checkPolicy checks a policy against the tools that workers have published. Without a database
// it prints that it compares no tools.
func checkPolicy(ctx context.Context, a *app.App, p *policy.Policy) error {
	specs, why := app.PublishedSpecs(ctx)
	if why != nil {
		fmt.Fprintln(a.Err, "the policy was not compared with the published tools:", app.Printable(why.Error()))
		specs = nil
	}
	if err := review.Check(p, specs); err != nil {
		return err
	}
	return printPolicy(a, p, "valid", review.Lint(p, specs)...)
}

// checkFits refuses a policy whose conditions do not fit the tools that workers have published.
func checkFits(ctx context.Context, store *postgres.Store, p *policy.Policy) error {
	specs, err := store.Specs(ctx)
	if err != nil {
		return err
	}
	return review.Check(p, specs)
}
