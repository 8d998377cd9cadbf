package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// warmUps is the number of calls of each worker before a step is measured: connections, caches, prepared statements.
const warmUps = 10

// maxSubmitters bounds the number of calls at the same time.
const maxSubmitters = 1024

// LoadOptions configure a run under load. Calls is the maximum number of calls, and For the length of each step.
type LoadOptions struct {
	Options
	// Steps are measured one after the other, on the same servers. Faults need one step.
	Steps []LoadStep
	// Rate is the maximum number of calls that start in a second; 0 means no maximum.
	Rate float64

	// grace is how long a place of a semaphore may stay taken after the end of all calls; 0 means graceOfPlaces.
	grace time.Duration
	// tamper is called before the calls are judged, for tests; it may be nil.
	tamper func(context.Context, *load) error
}

// LoadStep is a number of workers, and a number of submitters: each submits a call, waits for its result and submits the next one.
type LoadStep struct{ Workers, Submitters int }

func (o LoadOptions) complete() (LoadOptions, error) {
	if len(o.Steps) == 0 {
		return o, errors.New("there is no step")
	}
	for _, s := range o.Steps {
		if s.Submitters < 1 || s.Submitters > maxSubmitters {
			return o, fmt.Errorf("the concurrency must be between 1 and %d", maxSubmitters)
		}
		if s.Workers < 1 || s.Workers > 16 {
			return o, errors.New("the number of workers must be between 1 and 16")
		}
	}
	switch {
	case len(o.Steps) > 1 && len(o.Faults) > 0:
		return o, errors.New("a run with faults has one number of workers and one concurrency")
	case o.Rate < 0:
		return o, errors.New("the rate must not be negative")
	}
	for _, kind := range o.Faults {
		if ofOneCall(kind) {
			return o, fmt.Errorf("the fault %s is aimed at one call, for pawl chaos: a run under load has faults of workers and servers", kind)
		}
	}
	var err error
	if o.Calls == 0 {
		o.Calls = MaxCalls
	}
	o.Workers = o.Steps[0].Workers
	o.Options, err = o.Options.complete()
	return o, err
}

// load is the state of one call of Load.
type load struct {
	*run
	options LoadOptions
	secret  *secret
	log     *workerLog
	// left are the planned calls that nobody has submitted.
	left chan *call
}

// Load submits calls as fast as the options say, injects their faults, and judges every call that was submitted. It returns an error and no
// report if a server did not start or ctx ended, and both if the evidence could not be written. It leaves no process behind.
func Load(ctx context.Context, o LoadOptions) (*LoadReport, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	l := &load{options: o, log: &workerLog{copyTo: o.Log}, left: make(chan *call, o.Calls)}
	o.Options.Log = l.log
	l.run = &run{Options: o.Options, plan: Plan{Faults: drawAllFaults(o.Options)}, fail: fail}
	if l.secret, err = newSecret(); err != nil {
		return nil, err
	}
	runID := o.runID()
	for _, p := range drawLoad(o.Options) {
		c, err := newCall(p, runID)
		if err != nil {
			return nil, err
		}
		if p.ToolID == ledger.Account {
			l.secret.attach(&c.invocation)
		}
		l.left <- c
	}
	close(l.left)
	if l.servers, err = start(ctx, o.Options, loadRules); err != nil {
		return nil, err
	}
	defer l.servers.close()
	if err := l.secret.connect(ctx, l.servers); err != nil {
		return nil, err
	}
	report, err := l.live(ctx)
	if report == nil {
		return nil, fmt.Errorf("the run ended before it could be judged: %w", cmp.Or(context.Cause(ctx), err))
	}
	return report, err
}

// live runs the steps, judges the calls, and searches for places and secrets that are left.
func (l *load) live(ctx context.Context) (*LoadReport, error) {
	l.began = time.Now()
	saying, quiet := context.WithCancel(ctx)
	var talk sync.WaitGroup
	defer talk.Wait()
	defer quiet()
	talk.Go(func() { l.watch(saying, l.servers.temporal) })
	talk.Go(func() { l.sayLoad(saying) })
	report := &LoadReport{Seed: l.Seed, Faults: map[oracle.FaultKind]int{}}
	for _, step := range l.options.Steps {
		figures, err := l.step(ctx, step)
		if err != nil {
			return nil, err
		}
		report.Steps = append(report.Steps, figures)
	}
	quiet()
	if l.options.tamper != nil {
		if err := l.options.tamper(ctx, l); err != nil {
			return nil, err
		}
	}
	l.Progress(fmt.Sprintf("judging %d calls", len(l.calls)))
	snapshot, err := l.servers.look(ctx, l.calls, l.noted())
	if err != nil {
		return nil, err
	}
	report.Verdicts, report.Faults = oracle.Judge(snapshot), countFaults(snapshot.Faults)
	report.add(figuresOf(snapshot))
	if report.LeakedPlaces, err = l.servers.leakedPlaces(ctx, snapshot.Calls, cmp.Or(l.options.grace, graceOfPlaces)); err != nil {
		return nil, err
	}
	l.Progress("searching histories, tables and logs for the secret")
	if report.Secrets, err = l.searchSecret(ctx); err != nil {
		return nil, err
	}
	return report, keepEvidence(ctx, l.Evidence, l.servers, snapshot, report.Verdicts)
}

// sayLoad reports the progress until ctx ends.
func (l *load) sayLoad(ctx context.Context) {
	for pause(ctx, 2*sayEvery) {
		l.Progress(fmt.Sprintf("%5s  %d calls accepted, %d answered, %s",
			time.Since(l.began).Round(time.Second), l.counts.accepted.Load(), l.counts.answered.Load(), l.broken()))
	}
}

// step runs workers and submitters for the time of a step, and waits until the calls have ended.
func (l *load) step(ctx context.Context, step LoadStep) (StepFigures, error) {
	o := l.Options
	o.Workers = step.Workers
	var err error
	if l.workers, err = startPool(o, l.servers.environment(), l.fail, l.note); err != nil {
		return StepFigures{}, err
	}
	defer l.workers.close()
	ending, cancel := context.WithTimeoutCause(ctx, l.For+l.Settle, errUnsettled)
	defer cancel()
	l.submitAll(ending, step.Submitters, l.take(ending, warmUps*step.Workers, time.Now().Add(l.For), 0))
	before := len(l.calls)

	began, used := time.Now(), l.processors()
	submitting, submitted := context.WithCancel(ctx)
	defer submitted()
	var faults sync.WaitGroup
	faults.Go(func() { l.breakThings(submitting) })
	var figures StepFigures
	var end time.Time
	var measuring sync.WaitGroup
	measuring.Go(func() {
		pause(submitting, l.For/10)
		early, earlyErr := l.use(ctx, began)
		pause(submitting, l.For-l.For/10) // there may be fewer calls than the time allows
		end = time.Now()
		late, lateErr := l.use(ctx, began)
		figures = StepFigures{LoadStep: step, Seconds: end.Sub(began).Seconds(), Processors: l.processors().since(used, end.Sub(began))}
		if earlyErr == nil && lateErr == nil { // otherwise a fault has stopped the database
			figures.Uses = []Use{early, late}
		}
	})
	l.submitAll(ending, step.Submitters, l.take(ending, l.Calls, began.Add(l.For), l.options.Rate))
	submitted()
	measuring.Wait()
	faults.Wait()
	l.await(ending)
	if err := ctx.Err(); err != nil {
		return figures, err
	}
	figures.measure(l.calls[before:], began, end)
	l.Progress(figures.String())
	return figures, nil
}

// take hands out at most limit planned calls until a time, at most rate of them in a second.
func (l *load) take(ctx context.Context, limit int, until time.Time, rate float64) <-chan *call {
	taken := make(chan *call)
	ctx, cancel := context.WithDeadline(ctx, until)
	go func() {
		defer cancel()
		defer close(taken)
		began := time.Now()
		for n := range limit {
			if rate > 0 && !pause(ctx, time.Until(began.Add(time.Duration(float64(n)/rate*float64(time.Second))))) {
				return
			}
			c, ok := <-l.left
			if !ok || ctx.Err() != nil {
				return
			}
			select {
			case taken <- c:
			case <-ctx.Done():
				return
			}
		}
	}()
	return taken
}

// submitAll lets submitters work off the calls, and returns when all have ended or ctx has.
func (l *load) submitAll(ctx context.Context, submitters int, calls <-chan *call) {
	var mu sync.Mutex
	var working sync.WaitGroup
	for range submitters {
		working.Go(func() {
			for c := range calls {
				mu.Lock()
				l.calls = append(l.calls, c)
				mu.Unlock()
				c.began = time.Now()
				l.runCall(ctx, c)
				c.took = time.Since(c.began)
			}
		})
	}
	working.Wait()
}
