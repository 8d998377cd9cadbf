package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envtest"
)

// bound binds f as the activity of a stage, runs it with in, and returns its answer and the lines of the log.
func bound(t *testing.T, f func(context.Context, hook.StageInput) (hook.Verdict, error), in any) (out hook.Verdict, lines string, err error) {
	t.Helper()
	env := envtest.NewForActivity()
	var logged bytes.Buffer
	var name string
	contract.Bind(register(func(a any, o activity.RegisterOptions) {
		name = o.Name
		env.RegisterActivityWithOptions(a, o)
	}), contract.Stage("willAuthorize"), slog.New(slog.NewJSONHandler(&logged, nil)), f)
	if name != "willAuthorize" {
		t.Errorf("registered as %s", name)
	}
	value, err := env.ExecuteActivity(name, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, logged.String(), err
}

type register func(any, activity.RegisterOptions)

func (r register) RegisterActivityWithOptions(a any, o activity.RegisterOptions) { r(a, o) }

// TestBind: an error or a panic of an activity becomes a code without its text, and only
// transient errors are retried.
func TestBind(t *testing.T) {
	const canary = "canary-4711"
	for _, tc := range []struct {
		name  string
		f     func(context.Context, hook.StageInput) (hook.Verdict, error)
		in    any
		kind  string
		retry bool
		log   string
	}{
		{"answer", func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
			return hook.Verdict{By: string(in.Stage)}, nil
		},
			hook.StageInput{Stage: "willAuthorize"}, "", false, ""},
		{"error", func(context.Context, hook.StageInput) (hook.Verdict, error) {
			return hook.Verdict{By: canary}, errors.New(canary)
		},
			hook.StageInput{}, "internal", false, `"errorType":"*errors.errorString"`},
		{"transient", func(context.Context, hook.StageInput) (hook.Verdict, error) {
			return hook.Verdict{}, errs.Transient(errors.New(canary))
		}, hook.StageInput{}, "unavailable", true, "will be tried again"},
		{"panic", func(context.Context, hook.StageInput) (hook.Verdict, error) { panic(canary) }, hook.StageInput{}, "internal", false, `"panicType":"string"`},
		{"what does not decode", nil, []string{canary}, "internal", false, "input does not decode"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out, log, err := bound(t, tc.f, tc.in)
			if tc.kind == "" {
				if err != nil || out.By != "willAuthorize" {
					t.Errorf("got %+v, %v", out, err)
				}
				return
			}
			var failure *temporal.ApplicationError
			if !errors.As(err, &failure) || failure.Type() != tc.kind || failure.NonRetryable() == tc.retry || failure.HasDetails() || errors.Unwrap(failure) != nil {
				t.Errorf("got %v", err)
			}
			if strings.Contains(err.Error(), canary) || strings.Contains(log, canary) || !strings.Contains(log, tc.log) {
				t.Errorf("the error says %v, the log %s", err, log)
			}
		})
	}
}

// TestBindCancelled: an activity that returns context.Canceled without a cancel of its
// context does not end as cancelled.
func TestBindCancelled(t *testing.T) {
	_, _, err := bound(t, func(ctx context.Context, _ hook.StageInput) (hook.Verdict, error) {
		return hook.Verdict{}, context.Canceled
	}, hook.StageInput{})
	if temporal.IsCanceledError(err) {
		t.Errorf("an activity that nobody cancelled is: %v", err)
	}
}

// TestBindCopies: an activity gets a copy of its input and cannot change the original.
func TestBindCopies(t *testing.T) {
	in := hook.StageInput{Facts: hook.Facts{Args: json.RawMessage(`{"a":1}`)}}
	if _, _, err := bound(t, func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
		in.Facts.Args[1] = 'X'
		return hook.Verdict{}, nil
	}, in); err != nil || string(in.Facts.Args) != `{"a":1}` {
		t.Errorf("the arguments are %s, %v", in.Facts.Args, err)
	}
}
