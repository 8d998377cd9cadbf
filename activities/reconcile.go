package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/workflows"
)

// Probe asks a tool what became of attempts that gave no answer. What they are
// found to have answered is checked, redacted and kept like any other value.
//
// A tool that is not the one that ran cannot tell, nor can one that fails,
// panics or takes longer than an attempt may.
func (a *Activities) Probe(ctx context.Context, in workflows.ProbeIn) (workflows.ProbeOut, error) {
	started := time.Now()
	bound, ok := a.source.Get(in.Facts.ToolID)
	var out workflows.ProbeOut
	switch {
	case newer(in.PlanVersion):
		return workflows.ProbeOut{Outcome: workflows.NotHere, By: planName(in.PlanVersion)}, nil
	case !ok:
		return workflows.ProbeOut{Outcome: workflows.NotHere, By: "tool " + in.Facts.ToolID}, nil
	case bound.Digest() != in.Facts.ToolDigest:
		out = workflows.ProbeOut{Outcome: workflows.Lost}
	default:
		ctx, lacks := a.provided(ctx, in.Facts)
		if lacks != "" {
			return workflows.ProbeOut{Outcome: workflows.NotHere, By: lacks}, nil
		}
		caps, err := capabilities(ctx, bound)
		if err != nil {
			out = workflows.ProbeOut{Outcome: workflows.Lost}
			break
		}
		lease, refusal := a.lease(ctx, workflows.ExecuteIn{Facts: in.Facts, Epoch: in.Epoch, MaxRuntimeMs: in.MaxRuntimeMs}, bound)
		if lease != nil {
			defer lease.Close()
			caps = caps.With(handed(lease, bound)...)
		}
		if refusal != nil { // without its connection the tool cannot look
			out = workflows.ProbeOut{Outcome: workflows.Lost}
			break
		}
		out = a.probe(ctx, in, bound, caps)
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

// probed is what a probe came back with.
type probed struct {
	finding toolspec.Finding
	value   json.RawMessage
	err     error
}

func (a *Activities) probe(ctx context.Context, in workflows.ProbeIn, bound *catalog.Bound, caps toolspec.Capabilities) workflows.ProbeOut {
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond)
	defer cancel()
	go leaveInTime(ctx, budget, cancel)
	stopBeating := beating(ctx, new(reported))
	defer stopBeating()
	call := a.callOf(in.Facts, in.Epoch, caps)
	done := make(chan probed, 1)
	go func() {
		var p probed
		defer func() {
			if recovered := recover(); recovered != nil {
				p.err = panicked(budget, call, recovered)
			}
			done <- p
		}()
		p.finding, p.value, p.err = bound.Tool().Probe(budget, in.Facts.Args, call)
	}()
	select {
	case p := <-done:
		return a.found(ctx, in, bound, call, p)
	case <-budget.Done(): // a probe changes nothing, so it may be left behind
		call.Logger.WarnContext(ctx, "the probe did not answer in time")
		return workflows.ProbeOut{Outcome: workflows.Lost}
	}
}

func (a *Activities) found(ctx context.Context, in workflows.ProbeIn, bound *catalog.Bound, call toolspec.Call, p probed) workflows.ProbeOut {
	switch {
	case p.err != nil:
		call.Logger.WarnContext(ctx, "the probe failed", "errorType", fmt.Sprintf("%T", p.err))
		return workflows.ProbeOut{Outcome: workflows.Lost}
	case p.finding == toolspec.NoEffect:
		return workflows.ProbeOut{Outcome: workflows.Free}
	case p.finding != toolspec.TookEffect:
		return workflows.ProbeOut{Outcome: workflows.Lost}
	}
	delivered := a.deliver(ctx, workflows.ExecuteIn{Facts: in.Facts, Dispatch: in.Dispatch, MaxResultBytes: in.MaxResultBytes}, bound,
		workflows.ExecuteOut{Outcome: workflows.Done}, p.value)
	if delivered.Outcome == workflows.Interrupted {
		// It took effect, and its large value cannot be kept now. The next probe finds it again.
		return workflows.ProbeOut{Outcome: workflows.Lost}
	}
	return workflows.ProbeOut{
		Outcome: delivered.Outcome, Value: delivered.Value, OutputRef: delivered.OutputRef, Failure: delivered.Failure,
	}
}
