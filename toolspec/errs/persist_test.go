package errs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/toolspec/errs"
)

func TestPersist(t *testing.T) {
	t.Parallel()
	away := errs.Transient(errors.New("the server is away"))
	for name, tc := range map[string]struct {
		takes   time.Duration // the time of each try
		ends    time.Duration // the time at which the context ends; 0 means never
		answers []error       // the errors of the tries; the last error counts for all further tries
		tries   int
		within  time.Duration
		err     error
	}{
		"at once":              {answers: []error{nil}, tries: 1},
		"the second":           {answers: []error{away, nil}, tries: 2, within: 200 * time.Millisecond},
		"never":                {answers: []error{away}, tries: 4, within: 1400 * time.Millisecond, err: away},
		"refused":              {answers: []error{errors.ErrUnsupported}, tries: 1, err: errors.ErrUnsupported},
		"slow":                 {takes: 10 * time.Second, answers: []error{away}, tries: 2, within: 20200 * time.Millisecond, err: away},
		"the call is over":     {ends: 300 * time.Millisecond, answers: []error{away}, tries: 2, within: 300 * time.Millisecond, err: away},
		"slower than the time": {takes: time.Minute, answers: []error{away}, tries: 1, within: time.Minute, err: away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.ends > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.ends)
					defer cancel()
				}
				tries, began := 0, time.Now()
				err := errs.Persist(ctx, func() error {
					time.Sleep(tc.takes) //nolint:forbidigo // in synctest
					tries++
					return tc.answers[min(tries, len(tc.answers))-1]
				})
				if took := time.Since(began); !errors.Is(err, tc.err) || tries != tc.tries || took != tc.within {
					t.Errorf("%d tries in %s: %v; want %d in %s", tries, took, err, tc.tries, tc.within)
				}
			})
		})
	}
}

// TestPersistNested: nested calls of Persist with a server that does not answer take 20 seconds in all, and not the product of their tries.
func TestPersistNested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := errs.Transient(errors.New("the server is away"))
		began := time.Now()
		_ = errs.Persist(t.Context(), func() error {
			return errs.Persist(t.Context(), func() error {
				time.Sleep(10 * time.Second) //nolint:forbidigo // in synctest
				return away
			})
		})
		if took := time.Since(began); took > 21*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}
