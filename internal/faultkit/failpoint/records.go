package failpoint

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/workflows"
)

// Records puts the trap on either side of what a call commits to its record.
func (t *Trap) Records(r activities.Records) activities.Records { return records{r, t} }

type records struct {
	activities.Records
	trap *Trap
}

func (r records) Admit(ctx context.Context, in activities.AdmitRow) (activities.Record, error) {
	return step(ctx, r.trap, AdmitBefore, AdmitAfter,
		func(out activities.Record) any { return out.Epoch },
		func(ctx context.Context) (activities.Record, error) { return r.Records.Admit(ctx, in) })
}

func (r records) Request(ctx context.Context, in activities.RequestRow) (activities.RequestRecord, error) {
	return step(ctx, r.trap, WaitBefore, WaitAfter,
		func(out activities.RequestRecord) any { return out.Number },
		func(ctx context.Context) (activities.RequestRecord, error) { return r.Records.Request(ctx, in) })
}

// Review is a point only where it brings a decision: a look commits nothing that
// anybody waits for.
func (r records) Review(ctx context.Context, in activities.ReviewRow) (activities.ReviewRecord, error) {
	if in.Decision == nil {
		return r.Records.Review(ctx, in)
	}
	return step(ctx, r.trap, DecideBefore, DecideAfter,
		func(out activities.ReviewRecord) any { return out.State },
		func(ctx context.Context) (activities.ReviewRecord, error) { return r.Records.Review(ctx, in) })
}

func (r records) Claim(ctx context.Context, in activities.ClaimRow) (workflows.Outcome, error) {
	return step(ctx, r.trap, ClaimBefore, ClaimAfter,
		func(out workflows.Outcome) any { return out },
		func(ctx context.Context) (workflows.Outcome, error) { return r.Records.Claim(ctx, in) })
}

func (r records) Settle(ctx context.Context, in workflows.SettleIn) (workflows.SettleOut, error) {
	return step(ctx, r.trap, SettleBefore, SettleAfter,
		func(out workflows.SettleOut) any { return out.Outcome },
		func(ctx context.Context) (workflows.SettleOut, error) { return r.Records.Settle(ctx, in) })
}
