package skew

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// kinds has the calls of the load: the tool, its arguments, and how often the tool runs at least. A busy tool asks for a second attempt.
var kinds = map[string]struct {
	tool, args string
	runs       int
}{
	"fast": {"test__fast", `{}`, 1}, "write": {"test__write", `{}`, 1}, "send": {"test__send", `{}`, 1}, "busy": {"test__write", `{"note":"busy"}`, 2},
}

// load makes calls of every kind until stop is called. For each kind it makes one call after the other.
type load struct {
	w      *e2etest.World
	ctx    context.Context
	stop   context.CancelFunc
	ends   sync.WaitGroup
	mu     sync.Mutex
	ended  map[string][]toolspec.Invocation
	faults []string
}

func startLoad(w *e2etest.World) *load {
	l := &load{w: w, ended: map[string][]toolspec.Invocation{}}
	l.ctx, l.stop = context.WithCancel(w.T.Context())
	for kind := range kinds {
		l.ends.Go(func() {
			for n := 0; l.ctx.Err() == nil; n++ {
				l.call(kind, n)
			}
		})
	}
	return l
}

func (l *load) call(kind string, n int) {
	inv := e2etest.Invocation(fmt.Sprintf("%s-%d", kind, n), kinds[kind].tool, kinds[kind].args)
	result, err := l.w.Pawl.Invoke(l.w.T.Context(), inv)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[kind] = append(l.ended[kind], inv)
	var failed *pawl.CallError
	if err != nil && !errors.As(err, &failed) || !result.OK {
		l.faults = append(l.faults, fmt.Sprintf("%s: %s %s (%v)", inv.ToolCallID, result.ErrorCode, result.SafeMessage, err))
	}
}

// more waits until calls of every kind that begin after now have ended, and until each of these releases has run the tool of one of these calls.
func (l *load) more(what string, by ...string) {
	l.w.T.Helper()
	l.mu.Lock()
	before := map[string]int{}
	for kind := range kinds {
		before[kind] = len(l.ended[kind])
	}
	l.mu.Unlock()
	l.w.Until(func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		ran := map[string]bool{}
		for kind := range kinds {
			// The first of these calls may have begun before.
			for i, inv := range l.ended[kind][min(before[kind], len(l.ended[kind])):] {
				if i > 0 {
					for _, name := range l.w.Effects(effects(l.w, inv)) {
						ran[name] = true
					}
				}
			}
			if len(l.ended[kind]) < before[kind]+2 {
				return false
			}
		}
		return !slices.ContainsFunc(by, func(name string) bool { return !ran[name] })
	}, "calls of every kind end "+what)
}

// finish ends the load and checks its calls: no call was lost, and a tool that must not be repeated ran once.
func (l *load) finish() {
	l.w.T.Helper()
	l.stop()
	l.ends.Wait()
	for _, fault := range l.faults {
		l.w.T.Error(fault)
	}
	for kind, calls := range l.ended {
		for _, inv := range calls {
			runs := len(l.w.Effects(effects(l.w, inv)))
			if runs < kinds[kind].runs || kind == "send" && runs != 1 {
				l.w.T.Errorf("%s ran %d times", inv.ToolCallID, runs)
			}
			sound(l.w, inv)
		}
		l.w.T.Logf("%s: %d calls", kind, len(calls))
	}
}

// sound checks the record and the history of a call that has ended.
func sound(w *e2etest.World, inv toolspec.Invocation) {
	w.T.Helper()
	if record := w.Record(inv); record.Status != toolspec.StatusSettled {
		w.T.Errorf("the record of %s is %s", inv.ToolCallID, record.Status)
	}
	w.WantSound(inv.Identity().WorkflowID())
}
