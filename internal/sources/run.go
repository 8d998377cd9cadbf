package sources

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/source"
)

// Bounds of restarts of a source.
const (
	// firstRestartAfter is the pause before the first restart.
	firstRestartAfter = time.Second
	// maxRestartAfter bounds the pause before a restart.
	maxRestartAfter = time.Minute
	// steadyRun is how long a source must run until its next restart has the shortest pause again.
	steadyRun = time.Minute
)

// hosted is a source and its state in the worker. Set.mu guards the fields from waiting on.
type hosted struct {
	source source.Source
	info   source.Info
	cancel context.CancelFunc
	// wake has a value if the goroutine of apply may have to change the registry.
	wake chan struct{}
	// done is closed when no goroutine of the worker runs the source any more.
	done chan struct{}
	// settled is closed when the first offer is in the registry, or when the first run has failed.
	settled chan struct{}
	settle  func()

	// offer has the tools of the last offer that apply has put into the registry. Only the goroutine of apply uses offer
	// and earlier.
	offer []toolspec.Tool
	// earlier has the earlier definitions of these tools: source.Offer.Earlier.
	earlier []toolspec.Tool
	// waiting is the newest offer that apply has not put into the registry yet.
	waiting *offered
	// runs counts the begin and the end of each run of the source. So it is odd while the source runs, and an offer with
	// another number is of a run that has ended.
	runs int
	// hasOffered says that an offer of the source was put into the registry.
	hasOffered bool
	// offerFault is the fault of the last offer.
	offerFault string
	// runFault is the fault of the last run.
	runFault string
	// since is when the present fault began; zero if there is no fault.
	since time.Time
	// tools is the number of tools of the source that are in the registry.
	tools int
	// leftOut has the tools of the last offer that the registry has not taken.
	leftOut []catalog.LeftOut
}

// offered is an offer with the number of its run.
type offered struct {
	run            int
	tools, earlier []toolspec.Tool
	fault          string
}

func newHosted(from source.Source, info source.Info) *hosted {
	h := &hosted{source: from, info: info, cancel: func() {}, wake: make(chan struct{}, 1), done: make(chan struct{}), settled: make(chan struct{})}
	h.settle = sync.OnceFunc(func() { close(h.settled) })
	return h
}

func (h *hosted) currentFault() string {
	if h.runFault != "" {
		return h.runFault
	}
	return h.offerFault
}

// run runs the source until h.cancel is called. It restarts a source that fails, with growing pauses.
func (h *hosted) run(ctx context.Context, s *Set) {
	ctx, h.cancel = context.WithCancel(ctx)
	go func() {
		defer close(h.done)
		wait := firstRestartAfter
		for {
			began := time.Now()
			fault, again := h.once(ctx, s)
			if ctx.Err() != nil {
				return
			}
			s.setFault(h, fault)
			h.settle()
			if !again {
				return
			}
			if time.Since(began) >= steadyRun {
				wait = firstRestartAfter
			}
			if db.Pause(ctx, wait); ctx.Err() != nil {
				return
			}
			wait = min(2*wait, maxRestartAfter)
		}
	}()
}

// once runs the source once. fault says how the run ended. again reports whether the run failed, so that the worker
// must start the source again.
func (h *hosted) once(ctx context.Context, s *Set) (fault string, again bool) {
	s.mu.Lock()
	h.runs++
	run := h.runs
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		h.runs++
		s.mu.Unlock()
		if p := recover(); p != nil { // its value may be a secret
			s.log.ErrorContext(ctx, "a source of tools panicked", "kind", h.info.Kind, "name", h.info.Name,
				"type", fmt.Sprintf("%T", p), "at", errs.Frames(debug.Stack()))
			fault, again = "it panicked; the worker starts it again", true
		}
	}()
	err := h.source.Run(ctx, func(o source.Offer) { s.offer(h, run, o) })
	if err != nil {
		return "it ended with an error (" + errs.Reason(err) + "); the worker starts it again", true
	}
	return "it ended before the worker; its last tools stay", false
}

// offer keeps an offer in h.waiting until apply puts it into the registry. It replaces an earlier offer that waits
// there. It ignores an offer of a run of the source that has ended.
func (s *Set) offer(h *hosted, run int, o source.Offer) {
	s.mu.Lock()
	if h.runs == run {
		h.waiting = &offered{run: run, tools: slices.Clone(o.Tools), earlier: slices.Clone(o.Earlier), fault: o.Fault}
	}
	s.mu.Unlock()
	wake(h.wake)
}
