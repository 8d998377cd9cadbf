package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
)

// sayEvery is the interval of progress lines.
const sayEvery = 5 * time.Second

// aims is the maximum number of calls at which one fault is aimed, until it hits one.
const aims = 8

// errUnsettled is the cause when calls have not ended in time.
var errUnsettled = errors.New("calls are still under way")

// run is the state of one call of Run or Load.
type run struct {
	Options
	plan    Plan
	servers *servers
	workers *workerPool
	calls   []*call
	began   time.Time
	counts  counts
	// fail ends the run with an error.
	fail context.CancelCauseFunc
	faultLog
}

// Run runs the plan of the options and judges it. It returns an error and no report if a server did
// not start or ctx ended. It leaves no process behind.
func Run(ctx context.Context, o Options) (*Report, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	r := &run{Options: o, plan: NewPlan(o), fail: fail}
	runID := o.runID()
	for _, p := range r.plan.Calls {
		c, err := newCall(p, runID)
		if err != nil {
			return nil, err
		}
		r.calls = append(r.calls, c)
	}
	if r.servers, err = start(ctx, o, rules); err != nil {
		return nil, err
	}
	defer r.servers.close()
	if r.workers, err = startPool(o, r.servers.environment(), fail, r.note); err != nil {
		return nil, err
	}
	defer r.workers.close()
	snapshot, err := r.live(ctx)
	if err != nil {
		return nil, fmt.Errorf("the run ended before it could be judged: %w", cmp.Or(context.Cause(ctx), err))
	}
	report := r.report(snapshot)
	if err := keepEvidence(ctx, r.Evidence, r.servers, snapshot, report.Verdicts); err != nil {
		return report, err
	}
	return report, nil
}

// live submits the calls and injects the faults, waits until the calls have ended, and takes the
// snapshot.
func (r *run) live(ctx context.Context) (oracle.Snapshot, error) {
	settling, cancel := context.WithTimeoutCause(ctx, r.For+r.Settle, errUnsettled)
	defer cancel()
	saying, quiet := context.WithCancel(ctx)
	var talk sync.WaitGroup
	defer talk.Wait()
	defer quiet()
	r.began = time.Now()
	talk.Go(func() { r.say(saying) })
	talk.Go(func() { r.watch(saying, r.servers.temporal) })

	var people sync.WaitGroup
	for _, c := range r.calls {
		people.Go(func() { r.runCall(settling, c) })
	}
	r.breakThings(ctx)
	if err := ctx.Err(); err != nil {
		people.Wait()
		return oracle.Snapshot{}, err
	}
	people.Wait()
	r.readAgain(settling)
	r.await(settling)
	// Stop the workers first, so that no call changes while it is read.
	r.workers.close()
	if err := ctx.Err(); err != nil {
		return oracle.Snapshot{}, err
	}
	return r.servers.look(ctx, r.calls, r.noted())
}

// runCall submits one call with its duplicate, its conflict and its decisions.
func (r *run) runCall(ctx context.Context, c *call) {
	if !pause(ctx, c.At) {
		return
	}
	var doing sync.WaitGroup
	doing.Go(func() { c.submit(ctx, r.servers, &r.counts) })
	if c.Duplicate {
		doing.Go(func() { c.submit(ctx, r.servers, &r.counts) })
	}
	if c.Conflict {
		doing.Go(func() { c.submitConflict(ctx, r.servers.pawl) })
	}
	if len(c.Decisions) > 0 {
		doing.Go(func() { c.decide(ctx, r.servers) })
	}
	doing.Wait()
}

// breakThings injects each fault at its time. It returns when the time of the run is over and every
// fault has ended.
func (r *run) breakThings(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.For)
	defer cancel()
	var breaking sync.WaitGroup
	for _, f := range r.plan.Faults {
		breaking.Go(func() {
			if pause(ctx, f.At) {
				r.breakThing(ctx, f)
			}
		})
	}
	<-ctx.Done()
	breaking.Wait()
}

func (r *run) breakThing(ctx context.Context, f PlannedFault) {
	var fault oracle.Fault
	var err error
	switch f.Kind {
	case oracle.Kill:
		r.workers.kill(f.Slot)
		return
	case oracle.Term:
		r.workers.term(f.Slot)
		return
	case oracle.Stop:
		r.workers.freeze(ctx, f.Slot, f.For)
		return
	case oracle.Postgres:
		fault, err = r.servers.crashPostgres(ctx, f.For)
	case oracle.Temporal:
		r.away(1)
		defer r.away(-1)
		fault, err = r.servers.killTemporal(ctx, f.For)
	case oracle.PostgresFreeze:
		fault, err = r.servers.freezePostgres(ctx, f.For, func() {})
	case oracle.Lock:
		fault, err = r.servers.lockClaims(ctx, f.For, func() {})
	case oracle.TemporalFreeze:
		r.away(1)
		defer r.away(-1)
		fault, err = r.servers.freezeTemporal(ctx, f.For, func() {})
	default:
		r.injectFault(ctx, f)
		return
	}
	if err != nil {
		r.fail(fmt.Errorf("%s ended badly: %w", f.Kind, err))
		return
	}
	r.note(fault)
}

// injectFault aims a fault at an accepted call. An error does not tell whether the fault hit, so the
// fault is recorded.
func (r *run) injectFault(ctx context.Context, f PlannedFault) {
	var calls []*call
	for _, c := range r.calls {
		if c.isAccepted() && (!c.asked() || len(c.Decisions) > 0) && (ofReset(f.Kind) || !c.isAnswered()) {
			calls = append(calls, c)
		}
	}
	for i := range min(len(calls), aims) {
		c := calls[(f.Pick+uint64(i))%uint64(len(calls))]
		c.hasFault.Store(true)
		fault := oracle.Fault{Kind: f.Kind, Call: c.ToolCallID, From: time.Now()}
		trying, cancel := context.WithTimeout(ctx, startTimeout)
		err := r.servers.injectFault(trying, f.Kind, c, f.Pick)
		cancel()
		if errors.Is(err, errNothingToHit) {
			continue
		}
		fault.To = time.Now()
		r.note(fault)
		return
	}
}

// readAgain reads the result of every call that was a target of a fault once more.
func (r *run) readAgain(ctx context.Context) {
	var reading sync.WaitGroup
	for _, c := range r.calls {
		if !c.hasFault.Load() || !c.isAccepted() {
			continue
		}
		reading.Go(func() {
			if answer, ok := c.follow(ctx, r.servers); ok {
				c.addAnswer(answer)
			}
		})
	}
	reading.Wait()
}

// await waits until each workflow has closed or, without planned decisions, waits for a person. It
// returns when ctx ends; the oracles judge the calls that are left.
func (r *run) await(ctx context.Context) {
	pending := r.calls
	for {
		var left []*call
		for _, c := range pending {
			if !r.rests(ctx, c) {
				left = append(left, c)
			}
		}
		if pending = left; len(pending) == 0 || !pause(ctx, tryAgain) {
			return
		}
	}
}

func (r *run) rests(ctx context.Context, c *call) bool {
	if c.isAnswered() && !c.hasFault.Load() {
		return true // the answer is that of a closed workflow
	}
	id := c.invocation.Identity()
	described, err := r.servers.temporal.DescribeWorkflowExecution(ctx, id.WorkflowID(), "")
	if err != nil {
		return false
	}
	if described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return true
	}
	if !c.asked() || len(c.Decisions) > 0 {
		return false
	}
	record, err := r.servers.store.Show(ctx, tenant, id.InvocationID())
	return err == nil && record.Status == toolspec.StatusWaitingApproval
}

// say reports the progress until ctx ends.
func (r *run) say(ctx context.Context) {
	for pause(ctx, sayEvery) {
		elapsed := time.Since(r.began).Round(time.Second)
		phase := ""
		if elapsed > r.For {
			phase = "  (waiting for calls to end)"
		}
		r.Progress(fmt.Sprintf("%5s  %d of %d calls accepted, %d answered, %d effects, %s%s", elapsed,
			r.counts.accepted.Load(), len(r.calls), r.counts.answered.Load(), len(r.servers.ledger.Effects()), r.broken(), phase))
	}
}

// broken counts the faults so far by kind, as text.
func (r *run) broken() string {
	return FaultsInWords(countFaults(r.noted()))
}
