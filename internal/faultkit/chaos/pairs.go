package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// batchCalls is the maximum number of calls in a batch.
const batchCalls = 72

// pairStream is the number of the random stream from which planPairs draws the order of the pairs and the choices of their calls.
const pairStream = 200

// PairOptions configure a run of pairs. Pairs and Worker have no defaults.
type PairOptions struct {
	// Pairs are the pairs to run.
	Pairs []Pair
	// Seed determines the order of the pairs and other choices.
	Seed uint64
	// Calls is the number of calls of each pair, 1 to 10 000; 1 by default.
	Calls int
	// Lanes is the number of sets of servers that run in parallel, 1 to 16; 2 by default.
	Lanes int
	// For ends the run early: no batch starts after this time. 0 means no bound.
	For time.Duration
	// Worker, Progress, Log and Evidence are as in Options. The worker must have failpoints that
	// ask at PointsEnv.
	Worker   func() *exec.Cmd
	Progress func(string)
	Log      io.Writer
	Evidence string
}

func (o PairOptions) complete() (PairOptions, error) {
	o.Calls, o.Lanes = cmp.Or(o.Calls, 1), cmp.Or(o.Lanes, 2)
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	switch {
	case o.Worker == nil:
		return o, errors.New("chaos: no worker command was given")
	case len(o.Pairs) == 0:
		return o, errors.New("chaos: no pairs were given")
	case o.Calls < 1 || o.Calls > 10_000:
		return o, errors.New("the number of calls of a pair must be between 1 and 10000")
	case o.Lanes < 1 || o.Lanes > 16:
		return o, errors.New("the number of lanes must be between 1 and 16")
	}
	return o, nil
}

// planPairs returns batches of calls that may share the faults of a batch, in random order.
func planPairs(o PairOptions) ([][]*pairCall, error) {
	random := rand.New(rand.NewPCG(o.Seed, pairStream))
	all := Pairs()
	pairs := slices.Clone(o.Pairs)
	random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	var batches [][]*pairCall
	open := map[string]int{} // the index of the batch that is not full, by batchKey
	for _, pair := range pairs {
		place, key := slices.Index(all, pair), pair.batchKey()
		for n := range o.Calls {
			c, err := newPairCall(pair, place, n, o.Seed, random.Uint64())
			if err != nil {
				return nil, err
			}
			at, ok := open[key]
			if !ok || len(batches[at]) == batchCalls {
				at = len(batches)
				batches, open[key] = append(batches, nil), at
			}
			batches[at] = append(batches[at], c)
		}
	}
	random.Shuffle(len(batches), func(i, j int) { batches[i], batches[j] = batches[j], batches[i] })
	return batches, nil
}

// batchKey returns a key: pairs with equal keys may share a batch. A fault of a worker or a server
// hits the whole batch, so all pairs of a batch have that fault. If both faults of a pair are of
// this kind, its batch shares only the first, because batches that share both would have one call.
func (p Pair) batchKey() string {
	switch {
	case p.First.wide() && p.Then.wide():
		return p.First.String() + "+"
	case p.First.wide():
		return p.First.String()
	case p.Then.wide():
		return p.Then.String()
	}
	return ""
}

// RunPairs runs pairs of strikes and judges the results of the calls. If it returns an error, the
// run ended early, and the report is about the batches that were judged before; it is nil if there
// were none.
func RunPairs(ctx context.Context, o PairOptions) (*PairReport, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	batches, err := planPairs(o)
	if err != nil {
		return nil, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p := &pairRun{PairOptions: o, fail: fail, left: batches, report: newPairReport(o), began: time.Now()}
	var lanes sync.WaitGroup
	for n := range o.Lanes {
		lanes.Go(func() {
			if err := p.serve(ctx, n); err != nil {
				fail(err)
			}
		})
	}
	lanes.Wait()
	p.report.Took = time.Since(p.began)
	if ctx.Err() == nil {
		return p.report, nil
	}
	if err = fmt.Errorf("the run was broken off: %w", context.Cause(ctx)); p.report.Calls == 0 {
		return nil, err
	}
	return p.report, err
}

// pairRun is a run of pairs that has started.
type pairRun struct {
	PairOptions
	fail   context.CancelCauseFunc
	began  time.Time
	counts counts

	mu     sync.Mutex
	left   [][]*pairCall
	report *PairReport
}

// take returns the next batch, or nil if there is none or the time is over.
func (p *pairRun) take() []*pairCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.left) == 0 || p.For > 0 && time.Since(p.began) >= p.For {
		return nil
	}
	batch := p.left[0]
	p.left = p.left[1:]
	return batch
}

// serve runs batches in its own lane until there are no more.
func (p *pairRun) serve(ctx context.Context, n int) error {
	options := Options{Worker: p.Worker, Workers: 1, Progress: p.Progress, Log: p.Log, Faults: []oracle.FaultKind{oracle.Terminate}}
	l, err := openLane(ctx, options, &p.counts, p.fail)
	if err != nil {
		return err
	}
	defer l.close()
	err = p.serveBatches(ctx, l, n)
	// Workers that were held up may have had effects after the last batch.
	l.workers.close()
	all := l.all()
	if err != nil {
		all = ofItsCalls(all) // the last batch was not judged
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.add(judgePairs(all), l.noted(), len(all.Effects))
	return err
}

func (p *pairRun) serveBatches(ctx context.Context, l *lane, n int) error {
	for at := 0; ; at++ {
		batch := p.take()
		if batch == nil {
			return nil
		}
		seen, err := l.run(batch)
		if err != nil {
			return err
		}
		verdicts := p.judged(batch, seen)
		if p.Evidence != "" && slices.ContainsFunc(verdicts, func(v oracle.Verdict) bool { return !v.Held() }) {
			if err := keepEvidence(ctx, filepath.Join(p.Evidence, fmt.Sprintf("lane-%d-batch-%d", n, at)), l.servers, seen, verdicts); err != nil {
				return err
			}
		}
	}
}

// judged adds a batch to the report, and reports the progress and the violations.
func (p *pairRun) judged(batch []*pairCall, seen oracle.Snapshot) []oracle.Verdict {
	verdicts := judgePairs(seen)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.enter(batch, seen, verdicts)
	for _, v := range verdicts {
		for _, violation := range v.Violations {
			p.Progress(fmt.Sprintf("%s is violated by %s: %s", v.Name, violation.ToolCallID, violation.Why))
		}
	}
	elapsed := time.Since(p.began)
	p.Progress(fmt.Sprintf("%6s  %d calls of %d pairs, %d with both strikes, %.1f calls/s, %d violations; %d batches left", elapsed.Round(time.Second),
		p.report.Calls, len(p.report.Pairs), p.report.Both, float64(p.report.Calls)/elapsed.Seconds(), p.report.violations(), len(p.left)))
	return verdicts
}

// judgePairs asks all oracles except the one that wants most calls to end ok: in pairs, faults make
// most calls fail.
func judgePairs(s oracle.Snapshot) []oracle.Verdict {
	return slices.DeleteFunc(oracle.Judge(s), func(v oracle.Verdict) bool { return v.Name == oracle.Void })
}
