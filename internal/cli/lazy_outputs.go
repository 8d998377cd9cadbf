package cli

import (
	"context"
	"encoding/json"
)

// lazyOutputs opens the database where a large result has to be read, and not
// before: most turns need none.
type lazyOutputs struct{}

// Output reads one.
func (lazyOutputs) Output(ctx context.Context, tenantID, ref string) (value json.RawMessage, err error) {
	err = withStore(ctx, func(s *session) error {
		value, err = s.store.Output(ctx, tenantID, ref)
		return err
	})
	return value, err
}
