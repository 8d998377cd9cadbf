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
	var found []*strictyaml.Error
	var refused error
	why := app.WithStore(ctx, func(s *app.Session) (err error) {
		found, refused, err = compare(ctx, s.Store, p)
		return err
	})
	if why != nil {
		fmt.Fprintln(a.Err, "the policy was not compared with the published tools:", app.Printable(why.Error()))
		found, refused = review.Lint(p, nil), review.Check(p, nil)
	}
	if refused != nil {
		return refused
	}
	return printPolicy(a, p, "valid", found...)
}

// compare compares a policy with the tools that workers have published and with the relations. refused says which
// conditions do not fit the tools; found are the warnings.
func compare(ctx context.Context, store *postgres.Store, p *policy.Policy) (found []*strictyaml.Error, refused, err error) {
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
