package telemetry

import (
	"cmp"
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Keys of attributes of spans.
const (
	spanInvocation = attribute.Key("pawl.invocation.id")
	spanRun        = attribute.Key("pawl.run.id")
	spanOutcome    = attribute.Key("pawl.outcome")
	spanCode       = attribute.Key("pawl.code")
	spanAttempt    = attribute.Key("pawl.attempt")
)

// none is the value of a label that a call has no value for.
const none = "none"

// KnowTools sets which tools the worker has. The label tool has no other ids.
func (t *Telemetry) KnowTools(has func(toolID string) bool) {
	t.tools.know(has)
	t.timed.know(has)
}

// Observe returns a registry that registers activities with r, measures each of their runs, and gives the context of each the ids of
// its call.
func (t *Telemetry) Observe(r contract.Registry) contract.Registry { return observed{r, t} }

type observed struct {
	contract.Registry
	t *Telemetry
}

// Begin implements contract.Observer.
func (o observed) Begin(ctx context.Context, name string, in any) (context.Context, func(any, error)) {
	t, c, began := o.t, callOf(in), time.Now()
	ctx = context.WithValue(ctx, callKey{}, c)
	if !t.measures && !t.traces {
		return ctx, func(any, error) {}
	}
	span := trace.SpanFromContext(ctx)
	if span.IsRecording() {
		describe(span, c, in)
	}
	return ctx, func(out any, err error) {
		took := time.Since(began)
		if span.IsRecording() && err == nil {
			outcome(span, out)
		}
		if !t.measures {
			return
		}
		step := metric.WithAttributes(keyStep.String(name))
		t.stepTime.Record(ctx, took.Seconds(), step)
		if err != nil {
			t.stepFaults.Add(ctx, 1, step)
			return
		}
		t.count(ctx, name, in, out, took)
	}
}

// count counts what an activity has answered.
func (t *Telemetry) count(ctx context.Context, name string, in, out any, took time.Duration) {
	switch out := out.(type) {
	case contract.AdmitOut:
		if out.Outcome == contract.Done && out.Epoch > 1 {
			t.takeovers.Add(ctx, 1)
		}
	case hook.Verdict:
		if out.Outcome == hook.Waited {
			t.waits.Add(ctx, 1, metric.WithAttributes(keyStep.String(name)))
		}
	case contract.ExecuteOut:
		if in, ok := in.(contract.ExecuteIn); ok {
			result := keyOutcome.String(string(out.Outcome))
			t.attempts.Add(ctx, 1, metric.WithAttributes(keyTool.String(t.tools.label(in.Facts.ToolID)), result))
			t.attemptTime.Record(ctx, took.Seconds(), metric.WithAttributes(keyTool.String(t.timed.label(in.Facts.ToolID))))
		}
	case contract.CheckOut:
		if out.Outcome == contract.Lost {
			t.claimsLost.Add(ctx, 1)
		}
	case contract.SettleOut:
		if in, ok := in.(contract.SettleIn); ok && out.Outcome == contract.Done {
			t.settled(ctx, in)
		}
	case contract.SweepCallsOut:
		t.sweeps.Add(ctx, 1)
		for code, n := range map[toolspec.Code]int{
			toolspec.CodeCancelled: out.Cancelled, toolspec.CodeTimeout: out.TimedOut, toolspec.CodeInternal: out.Internal, toolspec.CodeOutcomeUnknown: out.OutcomeUnknown,
		} {
			t.swept.Add(ctx, int64(n), metric.WithAttributes(keyCode.String(string(code))))
		}
	case contract.AgentAskOut:
		result := "ok"
		switch {
		case out.Fault == nil:
		case out.Fault.OverBudget:
			return // the model was not asked
		default:
			result = "fault"
		}
		t.agentRounds.Add(ctx, 1, metric.WithAttributes(keyOutcome.String(result)))
	case contract.AgentCloseOut:
		if in, ok := in.(contract.AgentCloseIn); ok && !in.Stays {
			t.agentRuns.Add(ctx, 1, metric.WithAttributes(keyOutcome.String(string(out.Result.Outcome))))
			for kind, n := range map[string]int64{
				"input": out.Result.InputTokens, "output": out.Result.OutputTokens, "cache_read": out.Result.CacheReadTokens, "cache_write": out.Result.CacheWriteTokens,
			} {
				t.agentTokens.Add(ctx, n, metric.WithAttributes(keyKind.String(kind)))
			}
		}
	}
}

// settled counts a call that has ended.
func (t *Telemetry) settled(ctx context.Context, in contract.SettleIn) {
	code := "ok"
	if !in.Result.OK {
		code = string(in.Result.ErrorCode)
	}
	effect := keyEffect.String(cmp.Or(string(in.Effect), none))
	t.calls.Add(ctx, 1, metric.WithAttributes(keyTool.String(t.tools.label(in.ToolID)), effect, keyCode.String(code)))
	if took := in.Result.EndedAtMs - in.Result.StartedAtMs; took >= 0 {
		t.callTime.Record(ctx, float64(took)/1000, metric.WithAttributes(effect))
	}
	asked, waited := int64(0), map[string]int64{}
	for _, e := range in.Stages {
		since, waits := waited[e.Stage]
		switch {
		case e.Stage == contract.Request.Name() && e.Outcome == "ok":
			asked = e.AtMs
		case e.Stage == contract.Review.Name() && asked > 0 && isDecision(contract.RequestState(e.Outcome)):
			t.decisionTime.Record(ctx, float64(e.AtMs-asked)/1000, metric.WithAttributes(keyState.String(e.Outcome)))
			asked = 0
		case e.Outcome == string(hook.Waited) && !waits:
			waited[e.Stage] = e.AtMs
		case e.Outcome != string(hook.Waited) && waits:
			t.waitTime.Record(ctx, float64(e.AtMs-since)/1000, metric.WithAttributes(keyStep.String(e.Stage)))
			delete(waited, e.Stage)
		}
	}
}

// isDecision reports whether a request in that state has ended.
func isDecision(s contract.RequestState) bool {
	switch s {
	case contract.RequestApproved, contract.RequestDenied, contract.RequestEdited, contract.RequestWithdrawn, contract.RequestExpired,
		contract.RequestClosed, contract.RequestRetried, contract.RequestSettledOK, contract.RequestSettledFailed:
		return true
	case contract.RequestOpen, contract.RequestLost:
	}
	return false
}

// callOf returns the ids of the call in the input of an activity.
func callOf(in any) call {
	switch in := in.(type) {
	case hook.StageInput:
		return callOfFacts(in.Facts)
	case contract.ExecuteIn:
		return callOfFacts(in.Facts)
	case contract.ProbeIn:
		return callOfFacts(in.Facts)
	case contract.RequestIn:
		return callOfFacts(in.Facts)
	case contract.SettleIn:
		return call{toolCallID: in.Result.ToolCallID, invocationID: in.InvocationID}
	case contract.HydrateIn:
		return call{invocationID: in.InvocationID}
	case contract.ReviewIn:
		return call{invocationID: in.InvocationID}
	case contract.CheckIn:
		return call{invocationID: in.InvocationID}
	case contract.AcceptIn:
		return call{invocationID: in.InvocationID}
	case contract.AgentAskIn:
		return call{runID: in.Run.RunID}
	case contract.AgentRoundIn:
		return call{runID: in.Run.RunID}
	case contract.AgentAnswerIn:
		return call{runID: in.Run.RunID}
	case contract.AgentCloseIn:
		return call{runID: in.Run.RunID}
	}
	return call{}
}

func callOfFacts(f hook.Facts) call {
	return call{runID: f.Context.RunID, toolCallID: f.ToolCallID, invocationID: f.InvocationID}
}

// describe gives the span of an activity the ids of its call.
func describe(span trace.Span, c call, in any) {
	attributes := make([]attribute.KeyValue, 0, 6)
	for _, a := range []attribute.KeyValue{spanInvocation.String(c.invocationID), spanRun.String(c.runID), semconv.GenAIToolCallID(c.toolCallID)} {
		if a.Value.AsString() != "" {
			attributes = append(attributes, a)
		}
	}
	if in, ok := in.(contract.ExecuteIn); ok {
		attributes = append(attributes, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(in.Facts.ToolID), spanAttempt.Int(in.Facts.Attempt))
	}
	span.SetAttributes(attributes...)
}

// outcome gives the span of an activity what the activity has answered.
func outcome(span trace.Span, out any) {
	switch out := out.(type) {
	case hook.Verdict:
		if out.Outcome != hook.Continue {
			span.SetAttributes(spanOutcome.String(string(out.Outcome)))
		}
		if out.Failure != nil {
			span.SetAttributes(spanCode.String(string(out.Failure.Code)))
		}
	case contract.ExecuteOut:
		span.SetAttributes(spanOutcome.String(string(out.Outcome)))
		if out.Failure != nil {
			span.SetAttributes(spanCode.String(string(out.Failure.Code)))
		}
	case contract.ReviewOut:
		span.SetAttributes(spanOutcome.String(string(out.State)))
	}
}
