package app

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
)

// PublishedSpecs returns the tools that workers have published. It fails if the database is not
// available.
func PublishedSpecs(ctx context.Context) (specs []toolspec.Spec, err error) {
	err = WithStore(ctx, func(s *Session) error {
		specs, err = s.Store.Specs(ctx)
		return err
	})
	return specs, err
}
