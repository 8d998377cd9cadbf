package app

import (
	"context"
	"encoding/json"
)

// lazyOutputs opens the database only when it has to read a large result. Most turns have no
// large result.
type lazyOutputs struct{}

// Output reads one large result.
func (lazyOutputs) Output(ctx context.Context, tenantID, ref string) (value json.RawMessage, err error) {
	err = WithStore(ctx, func(s *Session) error {
		value, err = s.Store.Output(ctx, tenantID, ref)
		return err
	})
	return value, err
}
