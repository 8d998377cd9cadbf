package upkeep

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// sweepPage is how many open calls one query reads.
	sweepPage = 200
	// sweepAsks is the maximum number of concurrent questions to Temporal.
	sweepAsks = 8
	// partitionsAhead is the number of months ahead for which partitions are made.
	partitionsAhead = 3
	// expireBatch is the maximum number of rows that one statement of retention deletes.
	expireBatch = 500
	// expireTime is how long one run of retention deletes; the next run continues.
	expireTime = 30 * time.Second
)

// errStopping ends a sweep whose worker is stopping; another worker repeats the sweep.
var errStopping = errors.New("the worker stops")

// Sweeper settles calls whose workflow has ended, makes the monthly partitions of the record and
// applies retention. Its activities may be killed at any time, and two runs may overlap.
type Sweeper struct {
	namespace string
	upkeep    Store
	endings   Endings
	hooks     Hooks
	owners    Owners
	// runs is nil if the sweeper ends no runs of agents.
	runs      AgentRuns
	log       *slog.Logger
	retention int
}

// NewSweeper makes a sweeper for the calls of a namespace; owners must ask the same
// namespace. hooks runs the hooks of swept calls. retention is how long a settled call is kept,
// in days, at least 1.
func NewSweeper(namespace string, upkeep Store, endings Endings, hooks Hooks, owners Owners, log *slog.Logger, retention int) *Sweeper {
	return &Sweeper{namespace: namespace, upkeep: upkeep, endings: endings, hooks: hooks, owners: owners, log: log, retention: retention}
}

// Register binds the activities of the workflow Sweep.
func (s *Sweeper) Register(r contract.Registry) {
	contract.Bind(r, contract.SweepCalls, s.log, s.Calls)
	contract.Bind(r, contract.KeepPartitions, s.log, s.Partitions)
	contract.Bind(r, contract.DropExpired, s.log, s.Expired)
}

// Calls checks every call of the namespace that is open when Calls begins, and settles the calls whose workflow
// has ended. It first frees expired slots. After the calls it ends the open runs of agents whose workflow has
// ended. At the end it runs the hooks at the closing stages of calls that this sweep or an earlier sweep has
// settled.
//
// Calls settles a call only if Temporal has said that its workflow ended. If Temporal cannot give the status of
// a workflow, the call stays open and Unclear counts it. If the Temporal server itself does not answer, Calls
// returns an error, because the questions about the other calls would fail too. If the store refuses to settle one
// call, the call stays open and Refused counts it.
func (s *Sweeper) Calls(ctx context.Context, _ contract.SweepCallsIn) (contract.SweepCallsOut, error) {
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	var out contract.SweepCallsOut
	err := s.settle(ctx, &out)
	if err == nil {
		err = s.endRuns(ctx, &out)
	}
	// The hooks of calls that earlier sweeps have settled run even if Temporal does not answer now.
	endErr := s.endAll(ctx, &out)
	if err == nil {
		err = endErr
	}
	return out, err
}

// settle frees expired slots, and settles the open calls whose workflow has ended.
func (s *Sweeper) settle(ctx context.Context, out *contract.SweepCallsOut) error {
	if err := s.releaseExpired(ctx); err != nil {
		return err
	}
	page := OpenPage{Namespace: s.namespace, Limit: sweepPage}
	for {
		if heartbeat.Stopping(ctx) {
			return errs.Transient(errStopping)
		}
		calls, err := s.upkeep.OpenCalls(ctx, page)
		if err != nil {
			return err
		}
		if err := s.sweepAll(ctx, calls, out); err != nil {
			return err
		}
		if len(calls) < page.Limit {
			if out.Unclear > 0 {
				s.log.WarnContext(ctx, "calls could not be swept: Temporal does not say how their workflows stand", "calls", out.Unclear)
			}
			return nil
		}
		// Leave out the calls that are created after the first page was read. Otherwise new
		// calls could keep this sweep going without end. The next sweep checks them. The
		// limit is a time of the database's clock, which also sets CreatedAt.
		last := calls[len(calls)-1]
		page.After = &last
		if page.Until.IsZero() {
			page.Until = calls[0].SeenAt
		}
	}
}

// releaseExpired frees the expired slots that no call frees itself: the slots of calls that the
// sweeper settled, and the slots of calls whose workers have not answered for a long time.
func (s *Sweeper) releaseExpired(ctx context.Context) error {
	for {
		n, err := s.upkeep.ReleaseExpired(ctx, sweepPage)
		if n > 0 {
			s.log.WarnContext(ctx, "expired slots were freed", "slots", n)
		}
		if err != nil || n == 0 || heartbeat.Stopping(ctx) {
			return err
		}
	}
}

// ask calls question for each number below n, sweepAsks at a time, and returns the errors. A question that fails keeps
// no other question from its answer: Temporal does not answer in time about a workflow that others keep busy. If sweepAsks
// questions fail with a transient error, or all of fewer, Temporal itself does not answer, and ask returns that error.
func ask(ctx context.Context, n int, question func(ctx context.Context, i int) error) ([]error, error) {
	failed := make([]error, n)
	var unanswered atomic.Int64
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(sweepAsks)
	for i := range n {
		group.Go(func() error {
			failed[i] = question(asking, i)
			if errs.IsTransient(failed[i]) && unanswered.Add(1) >= int64(min(sweepAsks, n)) {
				return failed[i]
			}
			return nil
		})
	}
	return failed, cmp.Or(group.Wait(), ctx.Err())
}

// sweepAll determines the owners of a page of calls. Then it settles, one by one, the calls whose owner has ended.
func (s *Sweeper) sweepAll(ctx context.Context, calls []OpenCall, out *contract.SweepCallsOut) error {
	statuses := make([]OwnerStatus, len(calls))
	failed, err := ask(ctx, len(calls), func(ctx context.Context, i int) (err error) {
		statuses[i], err = s.owner(ctx, calls[i])
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range calls {
		if failed[i] != nil { // Temporal says nothing about this workflow. Its call stays open.
			out.Open++
			out.Unclear++
			continue
		}
		switch err := s.sweepOne(ctx, c, statuses[i], out); {
		case errs.IsTransient(err) || ctx.Err() != nil:
			return err
		case err != nil:
			// The error concerns this call only. It must not keep the younger calls open.
			out.Refused++
			s.log.ErrorContext(ctx, "a call could not be swept", "workflowId", c.WorkflowID, "reason", errs.Reason(err))
		}
	}
	return nil
}

// sweepOne counts a call in out, and settles the call unless its owner is running.
func (s *Sweeper) sweepOne(ctx context.Context, c OpenCall, status OwnerStatus, out *contract.SweepCallsOut) error {
	out.Open++
	if status == OwnerRunning {
		out.Running++
		return nil
	}
	code, err := s.upkeep.Sweep(ctx, SweepRow{
		InvocationID: c.InvocationID, Namespace: s.namespace, Epoch: c.Epoch, RunID: c.RunID, Cause: status, Code: status.code(),
	})
	if err != nil {
		return err
	}
	switch code {
	case "": // another process settled the call or took it over since OpenCalls read it
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

// Partitions makes the partitions of this month and of partitionsAhead months ahead.
func (s *Sweeper) Partitions(ctx context.Context, _ contract.KeepPartitionsIn) (contract.KeepPartitionsOut, error) {
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	return contract.KeepPartitionsOut{}, s.upkeep.EnsurePartitions(ctx, partitionsAhead)
}

// Expired deletes calls, rows, runs, cached values, outputs, memory and partitions that are past their
// retention. It also deletes idle capacity, old sessions and kept answers of settled calls. It works for about
// expireTime. Unfinished in the output means that the next run has more to delete.
func (s *Sweeper) Expired(ctx context.Context, _ contract.DropExpiredIn) (contract.DropExpiredOut, error) {
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	out := contract.DropExpiredOut{RetentionDays: s.retention}
	began := time.Now()
	late := func() bool { return time.Since(began) > expireTime || heartbeat.Stopping(ctx) }
	var uncounted int
	kinds := []expiring{
		{&out.Outputs, func(ctx context.Context) (int, error) { return s.upkeep.DeleteExpiredOutputs(ctx, expireBatch) }, false},
		{&out.Calls, func(ctx context.Context) (int, error) {
			return s.upkeep.DeleteExpiredCalls(ctx, s.retention, expireBatch)
		}, false},
		{&out.Rows, func(ctx context.Context) (int, error) {
			return s.upkeep.DeleteExpiredRows(ctx, s.retention, expireBatch)
		}, false},
		{&out.Runs, func(ctx context.Context) (int, error) {
			return s.upkeep.DeleteExpiredRuns(ctx, s.retention, expireBatch)
		}, false},
		{&out.AgentRuns, func(ctx context.Context) (int, error) {
			return s.upkeep.DeleteExpiredAgentRuns(ctx, s.retention, expireBatch)
		}, false},
		{&out.Cached, func(ctx context.Context) (int, error) { return s.upkeep.DeleteExpiredCache(ctx, expireBatch) }, false},
		{&uncounted, func(ctx context.Context) (int, error) { return s.upkeep.DeleteIdleCapacity(ctx, expireBatch) }, false},
		{&uncounted, func(ctx context.Context) (int, error) { return s.upkeep.DeleteOldSessions(ctx, expireBatch) }, false},
		{&uncounted, func(ctx context.Context) (int, error) { return s.upkeep.DeleteKeptAnswers(ctx, expireBatch) }, false},
		{&uncounted, func(ctx context.Context) (int, error) { return s.upkeep.DeleteExpiredSeals(ctx, s.retention) }, false},
		{&out.Memories, func(ctx context.Context) (int, error) { return s.upkeep.DeleteExpiredMemory(ctx, expireBatch) }, false},
		{&uncounted, s.upkeep.DeleteOutputObjects, true},
	}
	// The kinds take turns, so that neither many rows nor a failure of one kind delays the other kinds. A
	// kind may have more to delete after a turn of another kind: a call stays as long as its outputs.
	var failed error
	for changed := 1; changed > 0 && !late(); {
		changed = 0
		for i := 0; i < len(kinds) && !late(); i++ {
			n, err := kinds[i].delete(ctx)
			*kinds[i].count += n
			changed += n
			switch {
			case err == nil:
				continue
			case kinds[i].inBucket:
				s.log.WarnContext(ctx, "objects of outputs could not be deleted from the bucket", "reason", errs.Reason(err))
			default:
				failed = errors.Join(failed, err)
			}
			kinds = slices.Delete(kinds, i, i+1)
			i--
		}
	}
	if failed != nil {
		return out, failed
	}
	// Expired calls may be left, so the partitions may not be ready to be dropped.
	if late() {
		out.Unfinished = true
		return out, nil
	}
	dropped, err := s.upkeep.DropExpiredPartitions(ctx, s.retention)
	out.Partitions, out.Busy = dropped.Dropped, dropped.Busy
	out.Unfinished = dropped.Busy > 0
	return out, err
}

// expiring is a kind of rows that expire. delete deletes a batch and returns how many rows it changed.
// inBucket says that delete deletes objects from the bucket, which is no part of the record: after a failure
// the next sweep tries again, and this sweep does not fail.
type expiring struct {
	count    *int
	delete   func(ctx context.Context) (int, error)
	inBucket bool
}
