package contract

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

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Activity is a typed handle of an activity: its name and the types of its input and
// output. Histories record both types; add fields, never rename or remove them.
type Activity[In, Out any] struct {
	name string
	// regular says that the activity may run as a task of the server. Otherwise only
	// workflow code of the same worker may run it, as a local activity, because everybody
	// with access to the namespace can schedule a task with any input.
	regular bool
}

// Name returns the name that the activity is registered under.
func (a Activity[In, Out]) Name() string { return a.name }

// The activities of a call, besides its stages.
var (
	Admit   = Activity[AdmitIn, AdmitOut]{name: "admit"}
	Locate  = Activity[LocateIn, LocateOut]{name: "locateTool"}
	Hydrate = Activity[HydrateIn, HydrateOut]{name: "hydrate"}
	Request = Activity[RequestIn, RequestOut]{name: "requestApproval"}
	Review  = Activity[ReviewIn, ReviewOut]{name: "reviewDecision"}
	Execute = Activity[ExecuteIn, ExecuteOut]{name: "execute", regular: true}
	Check   = Activity[CheckIn, CheckOut]{name: "checkAttempt"}
	Accept  = Activity[AcceptIn, AcceptOut]{name: "acceptAnswer"}
	Probe   = Activity[ProbeIn, ProbeOut]{name: "reconcile", regular: true}
	Settle  = Activity[SettleIn, SettleOut]{name: "settle"}
)

// Stage returns the handle of a lifecycle stage. The activity has the name of the stage.
// The field regular is set, because a stage with a durable hook runs as a task of the
// server. A stage without durable hooks uses the same handle as a local activity.
func Stage(s hook.Stage) Activity[hook.StageInput, hook.Verdict] {
	return Activity[hook.StageInput, hook.Verdict]{name: string(s), regular: true}
}

// Registry is the part of a worker or of a test environment that Bind uses.
type Registry interface {
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// Observer is a Registry that sees every run of the activities that are bound to it.
type Observer interface {
	Registry
	// Begin is called before an activity runs, with its name and its decoded input. The activity gets the context
	// that Begin returns. done is called when the activity has returned or panicked, with its output and its error. If err
	// is not nil, out has no meaning. Begin and done must return quickly, and must not change in or out.
	Begin(ctx context.Context, name string, in any) (observed context.Context, done func(out any, err error))
}

// errPanicked is the error that an Observer gets for an activity that panicked.
var errPanicked = errors.New("the activity panicked")

// Bind registers f under the name of the handle. An f with a wrong signature does not
// compile.
//
// Bind decodes the input of f from bytes, so f never holds a pointer into workflow
// state. This matters for local activities: the SDK passes their arguments by
// reference, and a local activity that timed out keeps running beside the workflow.
//
// An error or a panic of f becomes a failure with a code and without its text, because
// the history shows failures of local activities unencrypted. Temporal retries the activity
// only after ErrOpen, ErrBusy or an error that is errs.IsTransient.
//
// f reads its execution from the context with Executing. If the field regular of the
// handle is not set, Bind refuses a task of the server, because no workflow of Pawl
// schedules such a task.
func Bind[In, Out any](r Registry, a Activity[In, Out], log *slog.Logger, f func(context.Context, In) (Out, error)) {
	BindSigned(r, a, nil, log, f)
}

// BindSigned works as Bind, and also signs the answers of regular activities. Without a
// signature, the workflow could not tell the answer of a worker from an answer that
// somebody else with access to the namespace gave. signer is nil for activities whose
// answers decide nothing.
func BindSigned[In, Out any](r Registry, a Activity[In, Out], signer Signer, log *slog.Logger, f func(context.Context, In) (Out, error)) {
	observer, _ := r.(Observer)
	r.RegisterActivityWithOptions(func(ctx context.Context, raw converter.RawValue) (result converter.RawValue, err error) {
		e := executionOf(ctx)
		if !e.Local && !a.regular {
			log.ErrorContext(ctx, "a task for a step that only Pawl's own workflow code may run was refused", "activity", a.name,
				"workflowId", e.WorkflowID, "runId", e.RunID)
			return result, failure(toolspec.CodeInternal, false)
		}
		ctx = WithExecution(ctx, e)
		done := func(any, error) {}
		defer func() {
			if recovered := recover(); recovered != nil {
				log.ErrorContext(ctx, "activity panicked", "activity", a.name, "panicType", fmt.Sprintf("%T", recovered), "stack", errs.Frames(debug.Stack()))
				err = failure(toolspec.CodeInternal, false)
				done(*new(Out), errPanicked)
			}
		}()
		var in In
		if err := converter.GetDefaultDataConverter().FromPayload(raw.Payload(), &in); err != nil {
			log.ErrorContext(ctx, "activity input does not decode", "activity", a.name)
			return result, failure(toolspec.CodeInternal, false)
		}
		if observer != nil {
			ctx, done = observer.Begin(ctx, a.name, in)
		}
		out, err := f(ctx, in)
		if err == nil {
			result, err = Encode(out)
		}
		if err == nil && !e.Local && signer != nil {
			err = sign(ctx, signer, a.name, raw.Payload(), result.Payload())
		}
		done(out, err)
		switch {
		case err == nil:
			return result, nil
		case errors.Is(err, context.Canceled) && ctx.Err() != nil:
			return result, temporal.NewCanceledError()
		case errors.Is(err, ErrOpen): // ErrOpen is not a fault, so it is not logged
			return result, temporal.NewApplicationError(ErrOpen.Error()+"; it is looked for again", string(toolspec.CodeUnavailable))
		case errors.Is(err, ErrBusy):
			return result, temporal.NewApplicationErrorWithOptions(ErrBusy.Error()+"; it is tried again", string(toolspec.CodeUnavailable), temporal.ApplicationErrorOptions{NextRetryDelay: busyDelay})
		case errs.IsTransient(err):
			log.WarnContext(ctx, "activity will be tried again", "activity", a.name, "reason", errs.Reason(err))
			return result, failure(toolspec.CodeUnavailable, true)
		default:
			log.ErrorContext(ctx, "activity failed", "activity", a.name, "errorType", fmt.Sprintf("%T", err), "reason", errs.Reason(err))
			return result, failure(toolspec.CodeInternal, false)
		}
	}, activity.RegisterOptions{Name: a.name})
}

// failure returns the error of an activity that has no answer. The error carries a code
// and a fixed message. Nothing else leaves the activity. With retry, Temporal runs the
// activity again.
func failure(code toolspec.Code, retry bool) error {
	if retry {
		return temporal.NewApplicationError("something the call needs is not there now; it is tried again", string(code))
	}
	return temporal.NewNonRetryableApplicationError("a part of Pawl failed; the worker's log names it", string(code), nil)
}

// Encode encodes the input or the output of an activity as JSON. Inputs have no maps, so
// their JSON is the same on every replay. Unlike the default converter, Encode does not
// escape <, > and &: each would take six bytes, and a call with many of them could
// exceed the payload limit of the server.
func Encode(v any) (converter.RawValue, error) {
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
