package app

import (
	"context"
	"encoding/json"
)

// lazyOutputs opens the database where a large result has to be read, and not
// before: most turns need none.
type lazyOutputs struct{}

// Output reads one.
func (lazyOutputs) Output(ctx context.Context, tenantID, ref string) (value json.RawMessage, err error) {
	err = WithStore(ctx, func(s *Session) error {
		value, err = s.Store.Output(ctx, tenantID, ref)
		return err
	})
	return value, err
}
