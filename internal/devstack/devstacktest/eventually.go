package devstacktest

import (
	"context"
	"time"
)

// Eventually calls holds until it returns true, for at most limit, and reports whether it did. Between two calls it waits 20 ms, and
// up to 100 ms after it has waited long: many tests wait at the same time, and each call is work for a server.
func Eventually(ctx context.Context, limit time.Duration, holds func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	for !holds() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(min(max(time.Since(began)/20, 20*time.Millisecond), 100*time.Millisecond)):
		}
	}
	return true
}
