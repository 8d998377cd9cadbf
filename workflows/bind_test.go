package workflows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

// bound runs f as the activity of a stage.
func bound(t *testing.T, f func(context.Context, hook.StageInput) (hook.Verdict, error), in any) (out hook.Verdict, logged string, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slogDiscard{})
	env := suite.NewTestActivityEnvironment()
	var log bytes.Buffer
	var name string
	workflows.Bind(register(func(a any, o activity.RegisterOptions) {
		name = o.Name
		env.RegisterActivityWithOptions(a, o)
	}), workflows.Stage("willAuthorize"), slog.New(slog.NewJSONHandler(&log, nil)), f)
	if name != "willAuthorize" {
		t.Errorf("registered as %s", name)
	}
	value, err := env.ExecuteActivity(name, in)
	if err == nil {
		err = value.Get(&out)
	}
	return out, log.String(), err
}

type register func(any, activity.RegisterOptions)

func (r register) RegisterActivityWithOptions(a any, o activity.RegisterOptions) { r(a, o) }

// TestBind: an error or a panic leaves an activity as a code without its text,
// and only what is transient is tried again.
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
			return hook.Verdict{}, hook.Transient(errors.New(canary))
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

// TestBindCancelled: a cancelled activity says so, in no words of its own.
func TestBindCancelled(t *testing.T) {
	_, _, err := bound(t, func(ctx context.Context, _ hook.StageInput) (hook.Verdict, error) {
		return hook.Verdict{}, context.Canceled
	}, hook.StageInput{})
	if temporal.IsCanceledError(err) {
		t.Errorf("an activity that nobody cancelled is: %v", err)
	}
}

// TestBindCopies: what an activity does to its input stays there.
func TestBindCopies(t *testing.T) {
	in := hook.StageInput{Facts: hook.Facts{Args: json.RawMessage(`{"a":1}`)}}
	if _, _, err := bound(t, func(_ context.Context, in hook.StageInput) (hook.Verdict, error) {
		in.Facts.Args[1] = 'X'
		return hook.Verdict{}, nil
	}, in); err != nil || string(in.Facts.Args) != `{"a":1}` {
		t.Errorf("the arguments are %s, %v", in.Facts.Args, err)
	}
}

// TestStepsGetBytes: local activities pass arguments by reference, and one that timed out goes on beside the workflow. What it does to
// its input does not reach the call.
func TestStepsGetBytes(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.env.RegisterDelayedCallback(func() {
		seen := r.records.requests[0].row.View.Args
		for i := range seen {
			seen[i] = 'X'
		}
	}, 30*time.Second)
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	r.run(call("core__write", args))
	if got := string(r.records.settled[0].SafeArgs); got != args {
		t.Errorf("the call's arguments are %s, want %s", got, args)
	}
}
