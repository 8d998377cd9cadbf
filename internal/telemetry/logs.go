package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Names of the attributes that Handler adds.
const (
	logTrace      = "traceId"
	logRun        = "runId"
	logToolCall   = "toolCallId"
	logInvocation = "invocationId"
)

// call has the ids of the call to which a context belongs.
type call struct{ runID, toolCallID, invocationID string }

type callKey struct{}

// Logs returns a handler that adds to each line the ids of the call and of the trace to which the context of the line belongs. It
// adds no attribute that the line has.
func Logs(next slog.Handler) slog.Handler { return logs{next, nil} }

type logs struct {
	slog.Handler
	has []string // attributes of WithAttrs
}

// Handle adds the ids.
func (h logs) Handle(ctx context.Context, r slog.Record) error {
	c, _ := ctx.Value(callKey{}).(call)
	span := trace.SpanContextFromContext(ctx)
	if c == (call{}) && !span.HasTraceID() {
		return h.Handler.Handle(ctx, r)
	}
	added := []slog.Attr{slog.String(logRun, c.runID), slog.String(logToolCall, c.toolCallID), slog.String(logInvocation, c.invocationID)}
	if span.HasTraceID() {
		added = append(added, slog.String(logTrace, span.TraceID().String()))
	}
	has := make(map[string]bool, r.NumAttrs()+len(h.has))
	for _, key := range h.has {
		has[key] = true
	}
	r.Attrs(func(a slog.Attr) bool {
		has[a.Key] = true
		return true
	})
	r = r.Clone()
	for _, a := range added {
		if a.Value.String() != "" && !has[a.Key] {
			r.AddAttrs(a)
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs returns a handler with attributes.
func (h logs) WithAttrs(attrs []slog.Attr) slog.Handler {
	has := append([]string(nil), h.has...)
	for _, a := range attrs {
		has = append(has, a.Key)
	}
	return logs{h.Handler.WithAttrs(attrs), has}
}

// WithGroup returns a handler with a group.
func (h logs) WithGroup(name string) slog.Handler { return logs{h.Handler.WithGroup(name), h.has} }
