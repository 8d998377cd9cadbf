package app

import (
	"context"
	"time"
)

// WaitFor polls done every 50 milliseconds until it returns true. It returns the error of ctx if
// ctx ends first.
func WaitFor(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}
