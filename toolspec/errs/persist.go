package errs

import (
	"context"
	"time"
)

const (
	persistTries = 4
	// persistDelay is the pause after the first try. It doubles after each.
	persistDelay = 200 * time.Millisecond
)

// Persist calls f up to four times, with pauses of 1.4 seconds in all, while its error is transient and
// ctx has not ended. It returns the last error of f.
func Persist(ctx context.Context, f func() error) (err error) {
	for try := range persistTries {
		if err = f(); !IsTransient(err) || try == persistTries-1 {
			return err
		}
		timer := time.NewTimer(persistDelay << try)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
	return err
}
