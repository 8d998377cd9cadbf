package errs

import (
	"context"
	"time"
)

const (
	persistTries = 4
	// persistDelay is the pause after the first try. It doubles after each try.
	persistDelay = 200 * time.Millisecond
	// persistTime is how long after the first try another try may begin. Without this bound, nested
	// calls of Persist would multiply the time for which they wait for a server that does not answer.
	persistTime = 15 * time.Second
)

// Persist calls f up to four times, with pauses of 1.4 seconds in all, while its error is transient, ctx
// has not ended and 15 seconds have not passed. It returns the last error of f.
func Persist(ctx context.Context, f func() error) (err error) {
	began := time.Now()
	for try := range persistTries {
		if err = f(); !IsTransient(err) || try == persistTries-1 || time.Since(began) >= persistTime {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(persistDelay << try):
		}
	}
	return err
}
