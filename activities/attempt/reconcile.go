package attempt

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Check reports whether a dispatch without an answer had begun. If it had not, Check writes a tombstone, so that the
// dispatch never begins.
func (a *Attempts) Check(ctx context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	return a.Store.Check(ctx, in)
}

// Probe asks the probe of a tool whether attempts without an answer took effect. A value that it
// finds is checked, redacted and stored like the value of an attempt.
//
// The outcome is contract.Lost if the tool has changed since the attempt, or if the probe
// fails, panics or takes longer than an attempt may.
func (a *Attempts) Probe(ctx context.Context, in contract.ProbeIn) (contract.ProbeOut, error) {
	started := time.Now()
	bound, ok := a.Tools.Find(in.Facts.ToolID, in.Facts.ToolDigest)
	var out contract.ProbeOut
	switch {
	case judge.IsNewerPlan(in.PlanVersion):
		return contract.ProbeOut{Outcome: contract.NotHere, By: judge.PlanName(in.PlanVersion)}, nil
	case !ok:
		return contract.ProbeOut{Outcome: contract.NotHere, By: "tool " + in.Facts.ToolID}, nil
	case bound.Digest() != in.Facts.ToolDigest:
		out = contract.ProbeOut{Outcome: contract.Lost}
	default:
		allowed, ok, err := a.verifyPermit(ctx, in.Permit, in.Facts, in.Terms, false)
		if err != nil {
			return contract.ProbeOut{}, err
		}
		if ok {
			_, ok, err = stage.Owns(ctx, a.Store, in.Facts, in.Epoch)
		}
		if err != nil {
			return contract.ProbeOut{}, err
		}
		if !ok {
			a.Log.WarnContext(ctx, "a probe that the gate has not permitted, or of a call that is another run's, was refused",
				"invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID)
			return contract.ProbeOut{Outcome: contract.Lost}, nil
		}
		ctx, lacks := a.Providers.Provide(ctx, in.Facts)
		if lacks != "" {
			return contract.ProbeOut{Outcome: contract.NotHere, By: lacks}, nil
		}
		bound, failed := a.applyMasks(ctx, contract.ExecuteIn{Facts: in.Facts}, allowed.PolicyDigest, bound)
		if failed != nil && failed.Outcome == contract.NotHere {
			return contract.ProbeOut{Outcome: contract.NotHere, By: failed.By}, nil
		}
		if failed != nil { // a value may not leave without its masks
			out = contract.ProbeOut{Outcome: contract.Lost}
			break
		}
		caps, err := providers.Capabilities(ctx, bound)
		if err != nil {
			out = contract.ProbeOut{Outcome: contract.Lost}
			break
		}
		lease, refusal := a.lease(ctx, contract.ExecuteIn{Facts: in.Facts, Epoch: in.Epoch, Terms: in.Terms}, allowed.PolicyDigest, bound)
		if lease != nil {
			defer lease.Close()
			caps = caps.With(leaseCapabilities(lease, bound)...)
		}
		if refusal != nil { // without its connection the tool cannot probe
			out = contract.ProbeOut{Outcome: contract.Lost}
			break
		}
		out = a.probe(ctx, in, bound, caps)
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

// probed has the results of the probe of a tool.
type probed struct {
	finding toolspec.Finding
	value   json.RawMessage
	err     error
}

// probe runs the probe of the tool, at most for the time of an attempt.
func (a *Attempts) probe(ctx context.Context, in contract.ProbeIn, bound *catalog.Bound, caps toolspec.Capabilities) contract.ProbeOut {
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond)
	defer cancel()
	go heartbeat.LeaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send[struct{}](ctx, nil)
	defer stopBeating()
	call := providers.CallOf(in.Facts, in.Epoch, caps, a.Log)
	done := make(chan probed, 1)
	go func() {
		var p probed
		defer func() {
			if recovered := recover(); recovered != nil {
				p.err = logPanic(budget, call, recovered)
			}
			done <- p
		}()
		p.finding, p.value, p.err = bound.Tool().Probe(budget, in.Facts.Args, call)
	}()
	select {
	case p := <-done:
		return a.probeAnswer(ctx, in, bound, call, p)
	case <-budget.Done(): // the probe changes nothing, so it may be left behind
		call.Logger.WarnContext(ctx, "the probe did not answer in time")
		return contract.ProbeOut{Outcome: contract.Lost}
	}
}

// probeAnswer returns the answer of the activity for the results of a probe.
func (a *Attempts) probeAnswer(ctx context.Context, in contract.ProbeIn, bound *catalog.Bound, call toolspec.Call, p probed) contract.ProbeOut {
	switch {
	case p.err != nil:
		call.Logger.WarnContext(ctx, "the probe failed", "errorType", fmt.Sprintf("%T", p.err))
		return contract.ProbeOut{Outcome: contract.Lost}
	case p.finding == toolspec.NoEffect:
		return contract.ProbeOut{Outcome: contract.Free, Fenced: bound.Definition().Fences}
	case p.finding != toolspec.TookEffect:
		return contract.ProbeOut{Outcome: contract.Lost}
	}
	delivered := a.deliver(ctx, contract.ExecuteIn{Facts: in.Facts, Dispatch: in.Dispatch, Terms: in.Terms}, rand.Text(), bound,
		contract.ExecuteOut{Outcome: contract.Done}, p.value)
	if delivered.Outcome == contract.Interrupted {
		// The call took effect, but its large value cannot be stored now. The next probe finds it again.
		return contract.ProbeOut{Outcome: contract.Lost}
	}
	return contract.ProbeOut{
		Outcome: delivered.Outcome, Value: delivered.Value, OutputInfo: delivered.OutputInfo, Failure: delivered.Failure,
	}
}
