package policies

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
)

// checkPolicy checks a policy against the tools that workers have published. Without a database
// it prints that it compares no tools.
func checkPolicy(ctx context.Context, a *app.App, p *policy.Policy) error {
	specs, why := app.PublishedSpecs(ctx)
	if why != nil {
		fmt.Fprintln(a.Err, "not compared with the tools of workers:", app.Printable(why.Error()))
		specs = nil
	}
	if err := p.Check(specs); err != nil {
		return err
	}
	return printPolicy(a, p, "valid", p.Lint(specs)...)
}

// fits refuses a policy whose conditions do not fit the tools that workers have published.
func fits(ctx context.Context, store *postgres.Store, p *policy.Policy) error {
	specs, err := store.Specs(ctx)
	if err != nil {
		return err
	}
	return p.Check(specs)
}
