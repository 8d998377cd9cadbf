package app

import (
	"context"
	"encoding/json"
)

// lazyOutputs reads large results. It opens the database for each large result and not earlier, because most turns
// have none.
type lazyOutputs struct{}

// Output reads one large result.
func (lazyOutputs) Output(ctx context.Context, tenantID, ref string) (value json.RawMessage, err error) {
	err = WithStore(ctx, func(s *Session) error {
		value, err = s.Store.Output(ctx, tenantID, ref)
		return err
	})
	return value, err
}
