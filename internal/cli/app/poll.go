package app

import (
	"context"
	"time"
)

// WaitFor polls until done says so or ctx ends.
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
