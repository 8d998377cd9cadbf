package cli

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// publishedSpecs are the tools that workers have, or why nobody knows.
func publishedSpecs(ctx context.Context) (specs []toolspec.Spec, err error) {
	err = withStore(ctx, func(s *session) error {
		specs, err = s.store.Specs(ctx)
		return err
	})
	return specs, err
}
