package errs_test

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/errs"
)

type secretive struct{}

func (secretive) Error() string     { return "s3cret" }
func (secretive) LogReason() string { return "the store is away" }

// TestErrors: a wrapped transient error is still transient, and Reason does not return the text of an error that is no Reasoner.
func TestErrors(t *testing.T) {
	t.Parallel()
	plain := errors.New("s3cret")
	for what, c := range map[string]struct {
		err       error
		transient bool
		reason    string
	}{
		"an error":           {plain, false, "*errors.errorString"},
		"marked":             {errs.Transient(plain), true, "*errors.errorString"},
		"marked and wrapped": {fmt.Errorf("reading: %w", errs.Transient(plain)), true, "*errors.errorString"},
		"with a reason":      {secretive{}, false, "the store is away"},
		"marked, a reason":   {errs.Transient(fmt.Errorf("s3cret: %w", secretive{})), true, "the store is away"},
	} {
		if got := errs.IsTransient(c.err); got != c.transient {
			t.Errorf("%s: IsTransient %t, want %t", what, got, c.transient)
		}
		if got := errs.Reason(c.err); got != c.reason {
			t.Errorf("%s: Reason %q, want %q", what, got, c.reason)
		}
		if !errors.Is(errs.Transient(c.err), c.err) {
			t.Errorf("%s: the mark hides the error", what)
		}
	}
}

// TestFrames: Frames returns a stack trace without the arguments of its functions.
func TestFrames(t *testing.T) {
	t.Parallel()
	places := errs.Frames(debug.Stack())
	if !strings.Contains(places, "errs_test.go:") || strings.Contains(places, "goroutine") || strings.Contains(places, "TestFrames(") {
		t.Errorf("got %q", places)
	}
}
