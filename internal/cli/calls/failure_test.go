package calls

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// TestFailureSaysWhen: the printed failure of a call that may be made again later says when.
func TestFailureSaysWhen(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	a := &app.App{Streams: app.Streams{Err: &errs}}
	result := toolspec.Failure(toolspec.CodeRateLimited, "", nil)
	result.RetryAfterMs = 90_500
	if err := printFailure(a, &client.CallError{Result: result}); !app.IsSilent(err) {
		t.Errorf("it ends with %v", err)
	}
	if got, want := errs.String(), "rate_limited: Rate limit reached\n  again in 1m30.5s\n"; got != want {
		t.Errorf("it prints %q, want %q", got, want)
	}
}

// TestValueAlone: standard output has the value of a call and nothing else, also if a stored output is beside the value.
func TestValueAlone(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	a := &app.App{Streams: app.Streams{Out: &out, Err: &errs}}
	if err := printResult(a, toolspec.Result{OK: true, Value: []byte(`{"exitCode":0}`), OutputRef: "ref-1"}); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(out.String())) || !strings.Contains(errs.String(), "output      ref-1\n") {
		t.Errorf("it prints %q, and %q to standard error", out.String(), errs.String())
	}
}
