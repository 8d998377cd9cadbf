package sources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/source"
)

const (
	// firstOffers is how long the start of a worker waits for the first offers of all its sources.
	firstOffers = 3 * time.Second
	// laterKind is the part of firstOffers that start reserves for each kind of sources that it has not started yet.
	laterKind = 500 * time.Millisecond
	// stopTime is how long the stop of a worker waits for the sources of one kind.
	stopTime = 5 * time.Second
)

// Set runs the sources of a worker, and keeps their tools in its registry.
type Set struct {
	registry *catalog.Registry
	// enabled returns the tools that the worker does not turn off.
	enabled func([]toolspec.Tool) []toolspec.Tool
	log     *slog.Logger
	// hosted are in the order in which they start.
	hosted []*hosted
	// changed has a value if the tools or the faults of sources have changed.
	changed chan struct{}
	// mu guards the state of all hosted.
	mu sync.Mutex
	// appliers counts the goroutines that run apply. There is one for each source, so that a source whose tools take
	// long to bind does not delay the other sources.
	appliers sync.WaitGroup
}

// Start starts the sources, kind by kind, and waits a short time for their first offers. It puts the tools
// that enabled returns into the registry. The sources run until stop is called, which stops the kinds in reverse order. An
// error names a source that is not valid or that is there twice; no source runs then.
func Start(
	ctx context.Context, all []source.Source, registry *catalog.Registry, enabled func([]toolspec.Tool) []toolspec.Tool, log *slog.Logger,
) (s *Set, stop func(), err error) {
	s = &Set{registry: registry, enabled: enabled, log: log, changed: make(chan struct{}, 1)}
	if err := s.host(all); err != nil {
		return nil, nil, err
	}
	return s, s.start(ctx), nil
}

// Changed returns a channel that has a value if the tools or the faults of sources have changed since the channel was
// read last.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// host checks the sources and puts them in the order of their kinds.
func (s *Set) host(all []source.Source) error {
	seen := map[source.Info]bool{}
	for _, from := range all {
		info := from.Info()
		if err := info.Check(); err != nil {
			return fmt.Errorf("sources of tools: %w", err)
		}
		if seen[info] {
			return fmt.Errorf("sources of tools: two sources are %q; give each source a name of its own", info)
		}
		seen[info] = true
		s.hosted = append(s.hosted, newHosted(from, info))
	}
	slices.SortStableFunc(s.hosted, func(a, b *hosted) int {
		return slices.Index(source.Kinds(), a.info.Kind) - slices.Index(source.Kinds(), b.info.Kind)
	})
	return nil
}

// start starts the sources kind by kind, and waits for their first offers. stop stops them in reverse
// order.
func (s *Set) start(ctx context.Context) (stop func()) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	phases := slices.Collect(s.phases())
	deadline := time.Now().Add(firstOffers)
	for i, phase := range phases {
		began := time.Now()
		for _, h := range phase {
			s.appliers.Go(func() { s.apply(running, h) })
			h.run(running, s)
		}
		s.await(ctx, phase, deadline.Add(-laterKind*time.Duration(len(phases)-1-i)))
		s.logPhase(phase, time.Since(began))
	}
	return func() {
		for _, phase := range slices.Backward(phases) {
			s.stopPhase(phase)
		}
		cancel()
		s.awaitApplied()
	}
}

// awaitApplied waits until the goroutines of apply have ended. It waits at most for stopTime, because binding a tool
// of a source can take any time.
func (s *Set) awaitApplied() {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.appliers.Wait()
	}()
	select {
	case <-done:
	case <-time.After(stopTime):
		s.log.Warn("the tools of a source take long to bind; the worker does not wait for them")
	}
}

// phases returns the sources of each kind together, in the order in which kinds start.
func (s *Set) phases() func(yield func([]*hosted) bool) {
	return func(yield func([]*hosted) bool) {
		for first := 0; first < len(s.hosted); {
			next := first
			for next < len(s.hosted) && s.hosted[next].info.Kind == s.hosted[first].info.Kind {
				next++
			}
			if !yield(s.hosted[first:next]) {
				return
			}
			first = next
		}
	}
}

// await waits until each source of the phase has offered tools or has failed, and at most until the deadline. A source
// that has done neither gets a fault.
func (s *Set) await(ctx context.Context, phase []*hosted, deadline time.Time) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, h := range phase {
		select {
		case <-h.settled:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				s.update(h, func() {
					if !h.hasOffered && h.runFault == "" {
						h.runFault = "it has offered no tools yet"
					}
				})
			}
		}
	}
}

func (s *Set) logPhase(phase []*hosted, took time.Duration) {
	tools, faulty := 0, 0
	s.mu.Lock()
	for _, h := range phase {
		tools += h.tools
		if h.currentFault() != "" {
			faulty++
		}
	}
	s.mu.Unlock()
	LogKind(s.log, phase[0].info.Kind, tools, took, slog.Int("sources", len(phase)), slog.Int("faulty", faulty))
}

// LogKind logs that the tools of a kind of sources are there.
func LogKind(log *slog.Logger, kind source.Kind, tools int, took time.Duration, more ...slog.Attr) {
	log.LogAttrs(context.Background(), slog.LevelInfo, "the tools of a kind of sources are there",
		append([]slog.Attr{slog.String("kind", string(kind)), slog.Int("tools", tools), slog.Duration("took", took)}, more...)...)
}

// stopPhase stops the sources of a kind at the same time.
func (s *Set) stopPhase(phase []*hosted) {
	for _, h := range phase {
		h.cancel()
	}
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	for _, h := range phase {
		select {
		case <-h.done:
		case <-timer.C:
			s.log.Warn("a source of tools does not stop; the worker does not wait for it", "kind", h.info.Kind, "name", h.info.Name)
			timer.Reset(0)
		}
	}
}

// apply puts the offers of a source into the registry until ctx ends.
func (s *Set) apply(ctx context.Context, h *hosted) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		s.take(ctx, h)
		if s.canRetry(h) {
			s.replace(ctx, h)
		}
	}
}

// canRetry reports whether the registry can take a tool of h now that it has left out before, because another source
// had a tool with the same id and has dropped it.
func (s *Set) canRetry(h *hosted) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(h.leftOut, func(l catalog.LeftOut) bool {
		_, has := s.registry.Get(l.ToolID)
		return l.Reason == catalog.Taken && !has
	})
}

// wakeOthers makes apply of each other source check whether the id of a tool that the registry has left out is free
// now.
func (s *Set) wakeOthers(except *hosted) {
	for _, h := range s.hosted {
		if h != except {
			wake(h.wake)
		}
	}
}

// wake puts a value into a channel of capacity 1, unless the channel has a value.
func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// take puts the newest offer of a source into the registry, if it has not taken this offer already.
func (s *Set) take(ctx context.Context, h *hosted) {
	s.mu.Lock()
	o := h.waiting
	h.waiting = nil
	s.mu.Unlock()
	if o == nil {
		return
	}
	h.offer, h.earlier = o.tools, o.earlier
	s.replace(ctx, h)
	s.update(h, func() {
		h.hasOffered, h.offerFault = true, printable(o.fault)
		if o.run == h.runs {
			h.runFault = ""
		}
	})
	h.settle()
}

// replace puts the tools of the last offer into the registry, in the place of the earlier tools of the source.
func (s *Set) replace(ctx context.Context, h *hosted) {
	enabled := s.enabled(h.offer)
	changed, left, err := replaceTools(s.registry, h.info, enabled, s.enabled(h.earlier))
	if err != nil {
		s.update(h, func() { h.offerFault = err.Error() })
		return
	}
	s.mu.Lock()
	leftOutChanged := !slices.EqualFunc(left, h.leftOut, func(a, b catalog.LeftOut) bool { return a.ToolID == b.ToolID && a.Reason == b.Reason })
	h.tools, h.leftOut = len(enabled)-len(left), left
	s.mu.Unlock()
	if leftOutChanged {
		logLeftOut(ctx, s.log, h.info, left)
	}
	if changed {
		s.wakeOthers(h)
	}
	if changed || leftOutChanged {
		wake(s.changed)
	}
}

// replaceTools calls r.Replace, and returns a panic as an error: a definition of a source may make the binding of its
// tool panic, and this must not end the process.
func replaceTools(r *catalog.Registry, from source.Info, tools, earlier []toolspec.Tool) (changed bool, left []catalog.LeftOut, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("binding its tools panicked (%T)", p)
		}
	}()
	changed, left = r.Replace(from, tools, earlier)
	return changed, left, nil
}

// MayGrow reports whether there is a source other than the registered tools. Such a source may
// change tools of all tenants.
func (s *Set) MayGrow() bool {
	return slices.ContainsFunc(s.hosted, func(h *hosted) bool { return h.info.Kind != source.Registered })
}
