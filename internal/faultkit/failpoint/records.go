package failpoint

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/faultkit/point"
	"github.com/pawl-run/pawl/workflows/contract"
)

// breaker decides what happens at the points.
type breaker interface {
	// hit reports that a call has reached a point. call is its invocation id or its workflow id.
	hit(p point.Name, call string)
	// take runs a step, with its two points.
	take(ctx context.Context, s step) (any, error)
}

// step is a statement of the record between its two points.
type step struct {
	before, after point.Name
	// call is the invocation id.
	call string
	run  func(context.Context) (any, error)
	// outcome returns the part of the answer that the log shows.
	outcome func(any) any
}

// between runs a statement between two points of a call.
func between[T any](ctx context.Context, b breaker, before, after point.Name, call string, outcome func(T) any, run func(context.Context) (T, error)) (T, error) {
	out, err := b.take(ctx, step{
		before: before, after: after, call: call,
		run: func(ctx context.Context) (any, error) { return run(ctx) },
		outcome: func(out any) any {
			typed, _ := out.(T)
			return outcome(typed)
		},
	})
	typed, _ := out.(T)
	return typed, err
}

// Records hits the points before and after each write to the record.
func (t *Trap) Records(r activities.Records) activities.Records { return records{r, t} }

// Records asks at the points before and after each write to the record.
func (r *Remote) Records(inner activities.Records) activities.Records { return records{inner, r} }

type records struct {
	activities.Records
	points breaker
}

func (r records) Admit(ctx context.Context, in admit.Row) (admit.Record, error) {
	return between(ctx, r.points, point.AdmitBefore, point.AdmitAfter, in.InvocationID,
		func(out admit.Record) any { return out.Epoch },
		func(ctx context.Context) (admit.Record, error) { return r.Records.Admit(ctx, in) })
}

func (r records) Request(ctx context.Context, in approval.RequestRow) (approval.RequestRecord, error) {
	return between(ctx, r.points, point.WaitBefore, point.WaitAfter, in.InvocationID,
		func(out approval.RequestRecord) any { return out.Number },
		func(ctx context.Context) (approval.RequestRecord, error) { return r.Records.Request(ctx, in) })
}

// Decide has points. Look has none, because it writes nothing.
func (r records) Decide(ctx context.Context, in approval.DecideRow) (approval.DecideRecord, error) {
	return between(ctx, r.points, point.DecideBefore, point.DecideAfter, in.InvocationID,
		func(out approval.DecideRecord) any { return out.State },
		func(ctx context.Context) (approval.DecideRecord, error) { return r.Records.Decide(ctx, in) })
}

func (r records) Claim(ctx context.Context, in attempt.ClaimRow) (contract.Outcome, error) {
	return between(ctx, r.points, point.ClaimBefore, point.ClaimAfter, in.InvocationID,
		func(out contract.Outcome) any { return out },
		func(ctx context.Context) (contract.Outcome, error) { return r.Records.Claim(ctx, in) })
}

func (r records) Keep(ctx context.Context, in attempt.KeepRow) error {
	_, err := between(ctx, r.points, point.KeepBefore, point.KeepAfter, in.InvocationID,
		func(struct{}) any { return "kept" },
		func(ctx context.Context) (struct{}, error) { return struct{}{}, r.Records.Keep(ctx, in) })
	return err
}

func (r records) Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	return between(ctx, r.points, point.CheckBefore, point.CheckAfter, in.InvocationID,
		func(out contract.CheckOut) any { return out.Outcome },
		func(ctx context.Context) (contract.CheckOut, error) { return r.Records.Check(ctx, in) })
}

func (r records) SaveOutput(ctx context.Context, in attempt.OutputRow) (string, error) {
	return between(ctx, r.points, point.SaveBefore, point.SaveAfter, in.InvocationID,
		func(ref string) any { return ref },
		func(ctx context.Context) (string, error) { return r.Records.SaveOutput(ctx, in) })
}

func (r records) Settle(ctx context.Context, in contract.SettleIn) (contract.SettleOut, error) {
	return between(ctx, r.points, point.SettleBefore, point.SettleAfter, in.InvocationID,
		func(out contract.SettleOut) any { return out.Outcome },
		func(ctx context.Context) (contract.SettleOut, error) { return r.Records.Settle(ctx, in) })
}
