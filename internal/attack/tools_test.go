package attack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// The tools of the victim.
const (
	// toolPay is high-risk and waits for a signed approval.
	toolPay = "test__pay"
	// toolSend must not be repeated, and nobody is asked about it.
	toolSend = "test__send"
	// toolOrder must not be repeated, and its probe can tell what became of it.
	toolOrder = "test__order"
	// toolPut may be repeated.
	toolPut = "test__put"
	// toolFast runs in the local lane.
	toolFast = "test__fast"
	// toolQuick writes in the claimed lane.
	toolQuick = "test__quick"
	// toolHooked is toolSend behind durableHook, which waits until it is released.
	toolHooked  = "test__hooked"
	durableHook = "lasting"
)

// Notes of a call say how its tool behaves.
const (
	// noteHold makes the tool wait, after its effect, until it is released.
	noteHold = "hold"
	// noteLate makes the first attempt wait, after its effect, until its time is over, and the probe wait until it is released.
	noteLate = "late"
	// noteAgain makes the first attempt fail, and the later ones wait until they are released.
	noteAgain = "again"
)

// in and out are what the tools take and give. Raw may be shown to nobody.
type in struct {
	Text string `json:"text"`
	Note string `json:"note,omitempty"`
	Raw  string `json:"raw,omitempty"`
}

type out struct {
	Text string `json:"text"`
}

// effect is one that a tool had.
type effect struct{ tool, toolCallID, tenant, text string }

// ledger keeps effects, and holds tools until they are released.
type ledger struct {
	mu       sync.Mutex
	effects  []effect
	reached  map[string]int
	released map[string]chan struct{}
}

func (l *ledger) add(toolID, text string, call toolspec.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects = append(l.effects, effect{toolID, call.ToolCallID, call.Context.TenantID, text})
}

func (l *ledger) all() []effect {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.effects)
}

// of counts the effects of a call.
func (l *ledger) of(toolCallID string) (n int) {
	for _, e := range l.all() {
		if e.toolCallID == toolCallID {
			n++
		}
	}
	return n
}

func (l *ledger) gate(place string) chan struct{} {
	if l.released == nil {
		l.released, l.reached = map[string]chan struct{}{}, map[string]int{}
	}
	if l.released[place] == nil {
		l.released[place] = make(chan struct{})
	}
	return l.released[place]
}

// hold waits until the place is released, or ctx ends.
func (l *ledger) hold(ctx context.Context, place string) error {
	l.mu.Lock()
	gate := l.gate(place)
	l.reached[place]++
	l.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets go what waits at the place, now and later.
func (l *ledger) release(place string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.gate(place):
	default:
		close(l.gate(place))
	}
}

// arrivals counts how often a place was reached.
func (l *ledger) arrivals(place string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reached[place]
}

// Places where a call can be held.
func inTool(toolCallID string) string  { return "tool " + toolCallID }
func inProbe(toolCallID string) string { return "probe " + toolCallID }
func inHook(toolCallID string) string  { return "hook " + toolCallID }

func (l *ledger) run(toolID string) func(context.Context, in, toolspec.Call) (out, error) {
	return func(ctx context.Context, args in, call toolspec.Call) (out, error) {
		l.add(toolID, args.Text, call)
		switch {
		case args.Note == noteHold, args.Note == noteAgain && call.Attempt > 1:
			if err := l.hold(ctx, inTool(call.ToolCallID)); err != nil {
				return out{}, err
			}
		case args.Note == noteAgain:
			return out{}, errors.New("the first attempt fails")
		case args.Note == noteLate && call.Attempt == 1:
			<-ctx.Done()
			return out{}, ctx.Err()
		}
		return out{Text: args.Text}, nil
	}
}

// probe knows of an effect what the ledger says.
func (l *ledger) probe(ctx context.Context, args in, call toolspec.Call) (toolspec.Found[out], error) {
	if err := l.hold(ctx, inProbe(call.ToolCallID)); err != nil {
		return toolspec.Found[out]{}, err
	}
	if l.of(call.ToolCallID) == 0 {
		return toolspec.FoundNoEffect[out](), nil
	}
	return toolspec.FoundEffect(out{Text: args.Text}), nil
}

func definition(id string, effect toolspec.Effect, risk toolspec.Risk, timeout time.Duration) toolspec.Definition {
	return toolspec.Definition{
		ID: id, Description: "a tool of the victim", Version: "1", Effect: effect, Risk: risk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: []string{"/raw"}}, Timeout: timeout,
	}
}

// options give a worker the victim's tools.
func (l *ledger) options() []worker.Option {
	const long = 30 * time.Second
	tools := []toolspec.Tool{
		toolspec.Define(definition(toolPay, toolspec.ExternalSideEffect, toolspec.HighRisk, long), l.run(toolPay)),
		toolspec.Define(definition(toolSend, toolspec.ExternalSideEffect, toolspec.LowRisk, long), l.run(toolSend)),
		toolspec.Define(definition(toolHooked, toolspec.ExternalSideEffect, toolspec.LowRisk, long), l.run(toolHooked)),
		toolspec.DefineWithProbe(definition(toolOrder, toolspec.ExternalSideEffect, toolspec.LowRisk, 2*time.Second), l.run(toolOrder), l.probe),
	}
	put := definition(toolPut, toolspec.StateChange, toolspec.LowRisk, long)
	put.Idempotent, put.MaxAttempts = true, 4
	fast := definition(toolFast, toolspec.ReadOnly, toolspec.LowRisk, 2*time.Second)
	quick := definition(toolQuick, toolspec.ExternalSideEffect, toolspec.LowRisk, 2*time.Second)
	fast.Fast, quick.Fast = true, true
	tools = append(tools, toolspec.Define(put, l.run(toolPut)), toolspec.Define(fast, l.run(toolFast)), toolspec.Define(quick, l.run(toolQuick)))
	return []worker.Option{
		worker.Tools(tools...),
		worker.ToolHooks(toolHooked, hook.New(durableHook, hook.Durable(time.Minute), hook.WillAcquireQuota.Do(func(ctx context.Context, v *hook.Check) error {
			return l.hold(ctx, inHook(v.ToolCallID()))
		}))),
	}
}

// args are arguments as JSON.
func args(text, note string) string { return fmt.Sprintf(`{"text":%q,"note":%q}`, text, note) }
