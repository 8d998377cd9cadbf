package policies

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// checkPolicy checks a policy against the tools that workers have published. Without a database
// it prints that it compares no tools.
func checkPolicy(ctx context.Context, a *app.App, p *policy.Policy) error {
	var warnings []*strictyaml.Error
	var misfit error
	why := app.WithStore(ctx, func(s *app.Session) (err error) {
		warnings, misfit, err = compare(ctx, s.Store, p)
		return err
	})
	if why != nil {
		fmt.Fprintln(a.Err, "the policy was not compared with the published tools:", app.Printable(why.Error()))
		warnings, misfit = review.Lint(p, nil), review.Check(p, nil)
	}
	if misfit != nil {
		return misfit
	}
	return printPolicy(a, p, "valid", warnings...)
}

// compare compares a policy with the tools that workers have published and with the relations. It returns warnings,
// and the error misfit if a condition of the policy does not fit these tools.
func compare(ctx context.Context, store *postgres.Store, p *policy.Policy) (warnings []*strictyaml.Error, misfit, err error) {
	specs, err := store.Specs(ctx)
	if err != nil {
		return nil, nil, err
	}
	related, err := store.RelatedRoles(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return review.LintWithRelations(p, specs, related), review.Check(p, specs), nil
}

// checkFits refuses a policy whose conditions do not fit the tools that workers have published.
func checkFits(ctx context.Context, store *postgres.Store, p *policy.Policy) error {
	specs, err := store.Specs(ctx)
	if err != nil {
		return err
	}
	return review.Check(p, specs)
}
