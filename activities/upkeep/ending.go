package upkeep

import (
	"context"
	"errors"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// endingTime is the time after which a sweep begins no further closing stage. The next sweep continues.
	endingTime = time.Minute
	// endingStage bounds one closing stage. The activity that sweeps ends after five minutes, and a
	// durable hook may declare a day.
	endingStage = 2 * time.Minute
	// slowTries is how often TakeEnding may return a call before a stage that does not end in its time counts as
	// run, so that the hooks of later stages can release what they hold. Tries that ended for another reason count
	// too.
	slowTries = 5
	// endingsUntil is how long sweeps try to run the closing stages of a swept call, if no worker has their hooks or
	// their hooks return errors.
	endingsUntil = 7 * 24 * time.Hour
)

// Hooks runs the hooks of one closing stage of a swept call, without Pawl's own step. The
// outcome is hook.Missing if this worker lacks one of the hooks. After a transient error
// (errs.Transient) the stage runs again later.
type Hooks func(ctx context.Context, in hook.StageInput) (hook.Verdict, error)

// Endings has the swept calls whose hooks at the closing stages have not all run.
type Endings interface {
	// TakeEnding returns the call whose closing stages have been due for the longest time. It returns the call again
	// after a while, unless DropEnding deletes it before. found is false if no call is due.
	TakeEnding(ctx context.Context, namespace string) (e Ending, found bool, err error)
	// EndStage records a stage that has run. It writes nothing and returns false if TakeEnding has
	// returned the call to another sweep since.
	EndStage(ctx context.Context, in EndedStage) (ended bool, err error)
	// DropEnding deletes a call from the list, unless TakeEnding has returned it to another sweep
	// since.
	DropEnding(ctx context.Context, invocationID string, tries int) error
}

// Ending is a swept call whose hooks at the closing stages run after its workflow.
type Ending struct {
	InvocationID string
	// Done counts the stages that have run. Tries counts how often TakeEnding returned the call.
	Done, Tries int
	Plan        hook.Plan
	// Facts has the facts of the call that are in the record. The scratchpad, the bindings and the
	// arguments were only in the workflow.
	Facts hook.Facts
	// SettledAt and SeenAt are by the database's clock.
	SettledAt, SeenAt time.Time
}

// EndedStage is a closing stage that has run. Done counts the stages that have run, including this
// stage.
type EndedStage struct {
	InvocationID string
	Tries, Done  int
	Stage        hook.Stage
	Outcome      string
	At           time.Time
	DurationUs   int64
	Notes        []hook.Note
	// AuditIDs are the ids of Audit.
	AuditIDs []string
	Audit    []hook.AuditEntry
}

// stages returns the closing stages of the call that have hooks, in the order of the plan.
func (e Ending) stages() (stages []hook.Step) {
	for _, step := range e.Plan.Error {
		if len(step.Hooks) > 0 {
			stages = append(stages, step)
		}
	}
	return stages
}

// endAll runs the closing stages of swept calls, one call after another, for about endingTime.
func (s *Sweeper) endAll(ctx context.Context, out *contract.SweepCallsOut) error {
	began := time.Now()
	for time.Since(began) < endingTime && !heartbeat.Stopping(ctx) {
		e, found, err := s.endings.TakeEnding(ctx, s.namespace)
		switch {
		case err == nil && !found:
			return nil
		case err != nil && found:
			// The plan or the result of this call cannot be read. The sweep must still end the other
			// calls.
			if err := s.postpone(ctx, e, "", "", err); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		ended, err := s.end(ctx, e, began)
		if err != nil {
			return err
		}
		if ended {
			out.Ended++
		}
	}
	return nil
}

// end runs the closing stages of a call that have not run. It begins no stage later than endingTime after
// began. ended reports whether no stage is left. If this worker cannot run a stage, or if a stage does not
// end in its time, end leaves this stage and the later stages for a later sweep. After slowTries tries, a
// stage that does not end in its time counts as run.
func (s *Sweeper) end(ctx context.Context, e Ending, began time.Time) (ended bool, err error) {
	stages := e.stages()
	for e.Done < len(stages) {
		step, at := stages[e.Done], time.Now()
		if time.Since(began) > endingTime {
			return false, nil
		}
		budget := min(time.Duration(step.DurableMs)*time.Millisecond+contract.StepTimeout, endingStage)
		v, err := s.runEnding(ctx, budget, hook.StageInput{
			Stage: step.Stage, Hooks: step.Hooks, PlanVersion: e.Plan.V, Facts: e.Facts, BudgetMs: budget.Milliseconds(),
		})
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.Is(err, errEndingTime) && e.Tries > slowTries:
			s.log.ErrorContext(ctx, "hooks of a swept call did not end in their time and are given up: release by hand what they hold",
				"invocationId", e.InvocationID, "toolId", e.Facts.ToolID, "stage", string(step.Stage), "tries", e.Tries)
		case err != nil, v.Outcome == hook.Missing:
			return false, s.postpone(ctx, e, step.Stage, v.By, err)
		}
		e.Done++
		if ended, err := s.endings.EndStage(ctx, e.endedStage(step.Stage, v, at)); err != nil || !ended {
			return false, err
		}
		for range v.Delta.Audit {
			e.Facts.AuditIDs = append(e.Facts.AuditIDs, toolspec.AuditID(e.InvocationID, len(e.Facts.AuditIDs)+1))
		}
	}
	return true, s.endings.DropEnding(ctx, e.InvocationID, e.Tries)
}

// runEnding runs a closing stage. It returns an error if the stage does not end within budget,
// because the effects of the hooks are not known then.
func (s *Sweeper) runEnding(ctx context.Context, budget time.Duration, in hook.StageInput) (hook.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	v, err := s.hooks(ctx, in)
	if ctx.Err() != nil {
		return hook.Verdict{Failure: &hook.Failure{Code: toolspec.CodeTimeout}, DurationUs: budget.Microseconds()}, errEndingTime
	}
	return v, err
}

var errEndingTime = errors.New("the hooks did not end in their time")

// postpone leaves a call to a later sweep, or drops the call if it was settled longer than endingsUntil ago.
func (s *Sweeper) postpone(ctx context.Context, e Ending, stage hook.Stage, lacks string, err error) error {
	attrs := []any{"invocationId", e.InvocationID, "toolId", e.Facts.ToolID, "stage", string(stage), "tries", e.Tries}
	if err != nil {
		attrs = append(attrs, "reason", errs.Reason(err))
	} else {
		attrs = append(attrs, "missing", lacks)
	}
	if e.SeenAt.Sub(e.SettledAt) < endingsUntil {
		s.log.WarnContext(ctx, "hooks of a swept call could not run yet: a later sweep tries again", attrs...)
		return nil
	}
	s.log.ErrorContext(ctx, "hooks of a swept call did not run within seven days and are given up: release by hand what they hold", attrs...)
	return s.endings.DropEnding(ctx, e.InvocationID, e.Tries)
}

// endedStage returns the record of stage, which is the last stage of e that has run.
func (e Ending) endedStage(stage hook.Stage, v hook.Verdict, at time.Time) EndedStage {
	ended := EndedStage{
		InvocationID: e.InvocationID, Tries: e.Tries, Done: e.Done, Stage: stage, Outcome: "ok", At: at, DurationUs: v.DurationUs,
		Notes: v.Notes, Audit: v.Delta.Audit,
	}
	if v.Failure != nil {
		ended.Outcome = string(v.Failure.Code)
	}
	for i := range v.Delta.Audit {
		ended.AuditIDs = append(ended.AuditIDs, toolspec.AuditID(e.InvocationID, len(e.Facts.AuditIDs)+i+1))
	}
	return ended
}
