package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// before runs what comes before execute, in the order of the plan. It returns
// an ending, or nil where the tool is to run.
func (c *call) before(ctx workflow.Context) *ending {
	c.rounds.Gate++
	c.rounds.Capacity++
	hit := false
	for _, step := range c.plan.Pre {
		if step.Phase != hook.PhaseInput && c.argsChanged {
			c.inputDone = true
			if end := c.judgeAgain(ctx); end != nil {
				return end
			}
		}
		switch {
		case step.Stage == hook.Hydrate:
			if end := c.hydrate(ctx, true); end != nil {
				return end
			}
			if c.toolDigest != c.plan.ToolDigest {
				// A deploy came between; the consent stage is ahead.
				c.rounds.Gate++
				if end := c.authorize(ctx); end != nil {
					return end
				}
			}
			continue
		case c.idle(step),
			step.Phase == hook.PhaseInput && c.inputDone,
			step.Stage == hook.DidCacheHit.Stage() && !hit,
			step.Stage == hook.DidCacheMiss.Stage() && hit:
			continue
		}
		v, end := c.runWaiting(ctx, step)
		if end != nil {
			return end
		}
		if v.Outcome == hook.Asked {
			if end := c.consent(ctx, *v.Ask); end != nil {
				return end
			}
			continue
		}
		if end := c.over(ctx, v, step.Stage); end != nil {
			return end
		}
		hit = hit || c.cached != nil
	}
	c.inputDone = true
	if c.argsChanged {
		return c.judgeAgain(ctx)
	}
	return nil
}

// over turns a verdict into an ending, or nil where the call goes on.
func (c *call) over(ctx workflow.Context, v hook.Verdict, stage hook.Stage) *ending {
	switch v.Outcome {
	case hook.Failed:
		end := failed(v.Failure)
		return &end
	case hook.Responded:
		source := toolspec.SourceResponded
		if stage == hook.DidCacheHit.Stage() {
			source = toolspec.SourceCache
		}
		return c.respond(v.Value, v.Challenge, source)
	case "", hook.Asked: // Asked is the caller's matter
	default:
		// A newer worker's word, or Missing, which is never left: not a reason to pass.
		end := failedWith(toolspec.CodeInternal, "")
		return &end
	}
	if ctx.Err() != nil {
		end := failed(&hook.Failure{Code: toolspec.CodeCancelled})
		return &end
	}
	return nil
}

func (c *call) respond(value []byte, challenge bool, source toolspec.Source) *ending {
	c.challenge, c.source = challenge, source
	c.setOutput(value)
	return &ending{}
}

// roundOf numbers a run of a stage: the gate counts its own, and so do the stages
// at which a call may wait.
func (c *call) roundOf(p hook.Phase) int {
	switch p {
	case hook.PhaseGate, hook.PhaseConsent:
		return c.rounds.Gate
	case hook.PhaseCapacity, hook.PhaseSecrets, hook.PhaseCache:
		return c.rounds.Capacity
	default:
		return 1
	}
}

// hydrate parses and validates: the workflow's input the first time, and the
// arguments as they stand whenever something changed them.
func (c *call) hydrate(ctx workflow.Context, fromInput bool) *ending {
	c.stage = nameHydrate
	delay := missingDelay
	for {
		at := workflow.Now(ctx)
		in := HydrateIn{InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, PlanVersion: c.plan.V}
		if fromInput {
			in.Input, _ = c.input()
			in.PolicyDigest = c.policyDigest
		} else {
			in.Args, in.SafeArgs, in.SafeHistory = c.args, c.safeArgs, c.safeHistory
		}
		out, err := local(ctx, Hydrate, in, stepOptions("parse and validate the arguments", c.remaining(ctx)))
		if err != nil {
			end := failed(c.classify(ctx, err))
			c.step(nameHydrate, string(end.failure.Code), at, 0)
			return &end
		}
		if out.Outcome == NotHere {
			if out.Failure = c.waitForWorker(ctx, &delay, lacking(out.By)); out.Failure == nil {
				continue
			}
		}
		c.provenance(out, at)
		if out.Failure != nil {
			c.step(nameHydrate, string(out.Failure.Code), at, out.DurationUs)
			end := failed(out.Failure)
			return &end
		}
		c.step(nameHydrate, "ok", at, out.DurationUs)
		if fromInput {
			c.setArgs(out.Args, nil)
		}
		if c.args = out.Args; out.SafeHistory != nil {
			c.safeHistory = out.SafeHistory
		}
		c.show(out.SafeArgs)
		c.toolDigest, c.effect, c.risk = out.ToolDigest, out.Effect, out.Risk
		c.repaired, c.noSchema = c.repaired || out.Repaired, out.NoSchema
		c.takeCare(out)
		return nil
	}
}

// provenance keeps where arguments came from until a statement takes it along.
func (c *call) provenance(out HydrateOut, at time.Time) {
	if out.Provenance == nil {
		return
	}
	c.hydrated++
	h := Hydration{Seq: c.hydrated, AtMs: at.UnixMilli(), Provenance: *out.Provenance}
	h.Provenance.ToolID, h.Provenance.DurationUs = c.admitted.ToolID, out.DurationUs
	if h.Provenance.ToolDigest == "" {
		h.Provenance.ToolDigest = out.ToolDigest
	}
	c.hydrations = append(c.hydrations, h)
}

// judgeAgain follows a change of the arguments: they are validated, and policy
// sees them, before anybody is asked or the tool runs.
func (c *call) judgeAgain(ctx workflow.Context) *ending {
	c.argsChanged = false
	before := c.toolDigest
	if end := c.hydrate(ctx, false); end != nil {
		return end
	}
	c.rounds.Gate++
	if c.toolDigest != before {
		if end := c.authorize(ctx); end != nil {
			return end
		}
	}
	step, ok := c.plan.Step(hook.WillCheckConsent.Stage())
	if !ok {
		return nil
	}
	v := c.runStage(ctx, step, c.rounds.Gate)
	if v.Outcome == hook.Asked {
		return c.consent(ctx, *v.Ask)
	}
	return c.over(ctx, v, step.Stage)
}

// authorize asks the gate about the tool as it is now.
func (c *call) authorize(ctx workflow.Context) *ending {
	step, ok := c.plan.Step(hook.WillAuthorize.Stage())
	if !ok {
		return nil
	}
	return c.over(ctx, c.runStage(ctx, step, c.rounds.Gate), step.Stage)
}
