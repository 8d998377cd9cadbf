package activities

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows"
)

const (
	// sweepPage is how many open calls are read at once.
	sweepPage = 200
	// sweepAsks bounds the questions that are on their way to Temporal at once.
	sweepAsks = 8
	// partitionsAhead is how many months of partitions are made ahead.
	partitionsAhead = 3
	// expireBatch is how many rows one statement of retention deletes, at most.
	expireBatch = 500
	// expireTime is how long one run of retention deletes; the next goes on.
	expireTime = 30 * time.Second
)

// errStopping ends a sweep whose worker stops; another worker repeats it.
var errStopping = errors.New("the worker stops")

// Sweeper settles calls whose workflow is over, and keeps the record's months.
// All of it may be killed at any time and may run twice at once.
type Sweeper struct {
	upkeep    Upkeep
	owners    Owners
	log       *slog.Logger
	retention int
}

// NewSweeper makes a sweeper. retention is how long a settled call is kept, in
// days, at least 1.
func NewSweeper(upkeep Upkeep, owners Owners, log *slog.Logger, retention int) *Sweeper {
	return &Sweeper{upkeep: upkeep, owners: owners, log: log, retention: retention}
}

// Register binds the activities of the workflow Sweep.
func (s *Sweeper) Register(r workflows.Registry) {
	workflows.Bind(r, workflows.SweepCalls, s.log, s.Calls)
	workflows.Bind(r, workflows.KeepPartitions, s.log, s.Partitions)
	workflows.Bind(r, workflows.DropExpired, s.log, s.Expired)
}

// Calls looks at every open call of the namespace that is there when it begins.
// A Temporal that does not answer ends it: nobody is swept on a guess.
func (s *Sweeper) Calls(ctx context.Context, in workflows.SweepCallsIn) (workflows.SweepCallsOut, error) {
	stop := beating(ctx, new(reported))
	defer stop()
	var out workflows.SweepCallsOut
	if err := s.expired(ctx); err != nil {
		return out, err
	}
	page := OpenPage{Namespace: in.Namespace, Limit: sweepPage}
	for {
		if stopping(ctx) {
			return out, hook.Transient(errStopping)
		}
		calls, err := s.upkeep.OpenCalls(ctx, page)
		if err != nil {
			return out, err
		}
		if err := s.sweepAll(ctx, in.Namespace, calls, &out); err != nil {
			return out, err
		}
		if len(calls) < page.Limit {
			if out.Unclear > 0 {
				s.log.WarnContext(ctx, "calls could not be swept: Temporal does not say how their workflows stand", "calls", out.Unclear)
			}
			return out, nil
		}
		last := calls[len(calls)-1]
		page.After = &last
		if page.Until.IsZero() {
			page.Until = calls[0].SeenAt
		}
	}
}

// expired takes back what expired with nobody to give it back: places of calls
// that were swept, and of those whose workers have been away for long.
func (s *Sweeper) expired(ctx context.Context) error {
	for {
		n, err := s.upkeep.ReleaseExpired(ctx, sweepPage)
		if n > 0 {
			s.log.WarnContext(ctx, "places expired and were taken back", "places", n)
		}
		if err != nil || n == 0 || stopping(ctx) {
			return err
		}
	}
}

// sweepAll asks for the owners of a page, a few at once, and then settles one by
// one those that are over.
func (s *Sweeper) sweepAll(ctx context.Context, namespace string, calls []OpenCall, out *workflows.SweepCallsOut) error {
	statuses, errs := make([]OwnerStatus, len(calls)), make([]error, len(calls))
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	slots := make(chan struct{}, sweepAsks)
	var asked sync.WaitGroup
	for i, c := range calls {
		slots <- struct{}{}
		asked.Go(func() {
			defer func() { <-slots }()
			if statuses[i], errs[i] = s.owner(asking, c); hook.IsTransient(errs[i]) {
				stop(errs[i]) // the others would meet the same
			}
		})
	}
	asked.Wait()
	for i, c := range calls {
		switch {
		case asking.Err() != nil:
			return context.Cause(asking)
		case errs[i] != nil:
			out.Open++
			out.Unclear++
			continue
		}
		if err := s.sweepOne(ctx, namespace, c, statuses[i], out); err != nil {
			return err
		}
	}
	return nil
}

func (s *Sweeper) sweepOne(ctx context.Context, namespace string, c OpenCall, status OwnerStatus, out *workflows.SweepCallsOut) error {
	out.Open++
	if status == OwnerRunning {
		out.Running++
		return nil
	}
	code, err := s.upkeep.Sweep(ctx, SweepRow{
		InvocationID: c.InvocationID, Namespace: namespace, Epoch: c.Epoch, Cause: status, Code: status.code(),
	})
	if err != nil {
		return err
	}
	switch code {
	case "":
		out.MovedOn++
		return nil
	case toolspec.CodeOutcomeUnknown:
		out.OutcomeUnknown++
	case toolspec.CodeTimeout:
		out.TimedOut++
	case toolspec.CodeCancelled:
		out.Cancelled++
	default:
		out.Internal++
	}
	s.log.WarnContext(ctx, "call swept: its workflow is over", "workflowId", c.WorkflowID, "workflowStatus", string(status), "errorCode", string(code))
	return nil
}

// Partitions makes the partitions of this month and of those to come.
func (s *Sweeper) Partitions(ctx context.Context, _ workflows.KeepPartitionsIn) (workflows.KeepPartitionsOut, error) {
	stop := beating(ctx, new(reported))
	defer stop()
	return workflows.KeepPartitionsOut{}, s.upkeep.EnsurePartitions(ctx, partitionsAhead)
}

// Expired deletes what is past its retention, for a while; what is left is for
// the next run.
func (s *Sweeper) Expired(ctx context.Context, _ workflows.DropExpiredIn) (workflows.DropExpiredOut, error) {
	stop := beating(ctx, new(reported))
	defer stop()
	out := workflows.DropExpiredOut{RetentionDays: s.retention}
	began := time.Now()
	late := func() bool { return time.Since(began) > expireTime || stopping(ctx) }
	// Calls go first: a month is held by its calls.
	for _, batch := range []struct {
		count  *int
		delete func(ctx context.Context, days, most int) (int, error)
		most   int
	}{
		{&out.Calls, s.upkeep.DeleteExpiredCalls, expireBatch},
		{&out.Rows, s.upkeep.DeleteExpiredRows, expireBatch},
		{&out.Cached, func(ctx context.Context, _, most int) (int, error) { return s.upkeep.DeleteExpiredCache(ctx, most) }, expireBatch},
	} {
		for !late() {
			n, err := batch.delete(ctx, s.retention, batch.most)
			if err != nil {
				return out, err
			}
			*batch.count += n
			if n == 0 {
				break
			}
		}
	}
	for _, idle := range []func(ctx context.Context, most int) (int, error){s.upkeep.DeleteIdleCapacity, s.upkeep.DeleteOldSessions} {
		for !late() {
			n, err := idle(ctx, expireBatch)
			if err != nil {
				return out, err
			}
			if n == 0 {
				break
			}
		}
	}
	if late() {
		out.Unfinished = true
		return out, nil
	}
	dropped, err := s.upkeep.DropExpiredPartitions(ctx, s.retention)
	out.Partitions, out.Busy = dropped.Dropped, dropped.Busy
	out.Unfinished = dropped.Busy > 0
	return out, err
}
