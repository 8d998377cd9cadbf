package workflows

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Activity is a typed handle: the name of an activity with what goes in and what
// comes out. Both are recorded in histories; change them by addition only.
type Activity[In, Out any] struct{ name string }

// Name returns the registered name.
func (a Activity[In, Out]) Name() string { return a.name }

// The activities.
var (
	Admit   = Activity[AdmitIn, AdmitOut]{nameAdmit}
	Hydrate = Activity[HydrateIn, HydrateOut]{nameHydrate}
	Request = Activity[RequestIn, RequestOut]{nameRequest}
	Review  = Activity[ReviewIn, ReviewOut]{nameReview}
	Execute = Activity[ExecuteIn, ExecuteOut]{nameExecute}
	Check   = Activity[CheckIn, CheckOut]{nameCheck}
	Probe   = Activity[ProbeIn, ProbeOut]{nameProbe}
	Settle  = Activity[SettleIn, SettleOut]{nameSettle}
)

// Stage is the handle of a lifecycle stage; the activity has the stage's name.
func Stage(s hook.Stage) Activity[hook.StageInput, hook.Verdict] {
	return Activity[hook.StageInput, hook.Verdict]{string(s)}
}

// Registry is the part of a worker, or of a test environment, that Bind needs.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Bind registers f under the handle's name; a wrong signature does not compile.
//
// What arrives is decoded from bytes, so f never holds a pointer into workflow
// state: local activities pass arguments by reference, and one that timed out
// keeps running beside the workflow. An error or a panic of f leaves as a coded
// failure without its text, for the history shows failures of local activities
// in clear. Only errors that hook.IsTransient are retried.
func Bind[In, Out any](r Registry, a Activity[In, Out], log *slog.Logger, f func(context.Context, In) (Out, error)) {
	r.RegisterActivityWithOptions(func(ctx context.Context, raw converter.RawValue) (result converter.RawValue, err error) {
		defer func() {
			if recovered := recover(); recovered != nil {
				log.ErrorContext(ctx, "activity panicked", "activity", a.name, "panicType", fmt.Sprintf("%T", recovered), "stack", hook.Frames(debug.Stack()))
				err = failure(toolspec.CodeInternal, false)
			}
		}()
		var in In
		if err := converter.GetDefaultDataConverter().FromPayload(raw.Payload(), &in); err != nil {
			log.ErrorContext(ctx, "activity input does not decode", "activity", a.name)
			return result, failure(toolspec.CodeInternal, false)
		}
		out, err := f(ctx, in)
		if err == nil {
			result, err = encode(out)
		}
		switch {
		case err == nil:
			return result, nil
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return result, temporal.NewCanceledError()
		case hook.IsTransient(err):
			log.WarnContext(ctx, "activity will be tried again", "activity", a.name, "reason", hook.Reason(err))
			return result, failure(toolspec.CodeUnavailable, true)
		default:
			log.ErrorContext(ctx, "activity failed", "activity", a.name, "errorType", fmt.Sprintf("%T", err), "reason", hook.Reason(err))
			return result, failure(toolspec.CodeInternal, false)
		}
	}, activity.RegisterOptions{Name: a.name})
}

// failure is all that leaves an activity that has no answer.
func failure(code toolspec.Code, retry bool) error {
	if retry {
		return temporal.NewApplicationError("something the call needs is not there now; it is tried again", string(code))
	}
	return temporal.NewNonRetryableApplicationError("a part of Pawl failed; the worker's log names it", string(code), nil)
}

// encode freezes what goes into an activity and what comes out of one. Inputs
// have no maps, so their JSON is the same on every replay. Unlike the default
// converter it leaves <, > and & as they are: escaped they take six bytes each,
// and a call that carries much of them would grow beyond what the server lets
// pass.
func encode(v any) (converter.RawValue, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v) //workflowcheck:ignore
	if err != nil {
		return converter.RawValue{}, fmt.Errorf("encode for an activity: %w", err)
	}
	return converter.NewRawValue(&common.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)},
		Data:     bytes.TrimSuffix(data.Bytes(), []byte("\n")),
	}), nil
}

// local runs a as a local activity.
func local[In, Out any](ctx workflow.Context, a Activity[In, Out], in In, options workflow.LocalActivityOptions) (Out, error) {
	var out Out
	raw, err := encode(in)
	if err != nil {
		return out, err
	}
	err = workflow.ExecuteLocalActivity(workflow.WithLocalActivityOptions(ctx, options), a.name, raw).Get(ctx, &out)
	if temporal.IsCanceledError(err) && ctx.Err() == nil {
		// Not the call is cancelled but its worker, which stops: the SDK takes the step's context away. That is no outcome. The
		// task fails, and another worker takes the step.
		panic("the worker stopped during " + a.name)
	}
	return out, err
}

// regular runs a as an activity of its own.
func regular[In, Out any](ctx workflow.Context, a Activity[In, Out], in In, options workflow.ActivityOptions) (Out, error) {
	var out Out
	begun, err := begin(ctx, a, in, options)
	if err != nil {
		return out, err
	}
	err = begun.Get(ctx, &out)
	return out, err
}

// begin is regular that does not wait for the end.
func begin[In, Out any](ctx workflow.Context, a Activity[In, Out], in In, options workflow.ActivityOptions) (workflow.Future, error) {
	raw, err := encode(in)
	if err != nil {
		return nil, err
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), a.name, raw), nil
}
