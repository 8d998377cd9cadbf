package envelope

import (
	"time"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// trace holds the events of the call that the workflow writes to the record.
type trace struct {
	// events are all stages and steps that this run has run.
	events []contract.StageEvent
	// attempts are all dispatches that this run has made.
	attempts []contract.AttemptEvent
	// hydrations are the runs of hydrate that the record does not have yet.
	hydrations []contract.Hydration
	// hydrationCount counts all runs of hydrate, also those that the record has.
	hydrationCount int
}

// StageEvents returns the stages and steps that ran, in the order in which they began.
func (c *Call) StageEvents() []contract.StageEvent { return c.events }

// RecordStages adds stages or steps that ran.
func (c *Call) RecordStages(events ...contract.StageEvent) { c.events = append(c.events, events...) }

// RecordStep adds a step of Pawl's own, which began at the time at and took durationUs microseconds.
func (c *Call) RecordStep(name, outcome string, at time.Time, durationUs int64) {
	c.RecordStages(contract.StageEvent{Stage: name, Outcome: outcome, AtMs: at.UnixMilli(), DurationUs: durationUs})
}

// recordStage adds a stage that ran.
func (c *Call) recordStage(stage hook.Stage, round int, v hook.Verdict, at time.Time) {
	outcome := string(v.Outcome)
	switch {
	case v.Failure != nil:
		outcome = string(v.Failure.Code)
	case outcome == "":
		outcome = "ok"
	}
	c.RecordStages(contract.StageEvent{
		Stage: string(stage), Round: round, Outcome: outcome, By: v.By, Rule: v.Delta.Rule,
		AtMs: at.UnixMilli(), DurationUs: v.DurationUs, Notes: v.Notes,
	})
}

// AttemptEvents returns the dispatches of the call.
func (c *Call) AttemptEvents() []contract.AttemptEvent { return c.attempts }

// RecordAttempt adds a dispatch of the current attempt.
func (c *Call) RecordAttempt(e contract.AttemptEvent) {
	e.Attempt = c.attempt
	c.attempts = append(c.attempts, e)
}

// DispatchedAttempts returns the number of attempts with a recorded outcome.
func (c *Call) DispatchedAttempts() int {
	highest := 0
	for _, t := range c.attempts {
		highest = max(highest, t.Attempt)
	}
	return highest
}

// Hydrations returns the hydrations that the record does not have yet.
func (c *Call) Hydrations() []contract.Hydration { return c.hydrations }

// RecordHydration adds a hydration and numbers it.
func (c *Call) RecordHydration(h contract.Hydration) {
	c.hydrationCount++
	h.Seq = c.hydrationCount
	c.hydrations = append(c.hydrations, h)
}

// ClearHydrations drops the hydrations, because the record has them.
func (c *Call) ClearHydrations() { c.hydrations = nil }
