package e2etest

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// In has the arguments of the tools of these tests.
type In struct {
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
}

// Out is the value of these tools. Redaction allows only Text.
type Out struct {
	Text   string `json:"text"`
	Hidden string `json:"hidden,omitempty"`
}

// Run is the function of a tool.
type Run = func(ctx context.Context, in In, call toolspec.Call) (Out, error)

// Tool makes a read-only tool of the regular lane that may take 20 seconds, unless change says otherwise.
func Tool(id string, f Run, change ...func(*toolspec.Definition)) toolspec.Tool {
	def := toolspec.Definition{
		ID: id, Description: "a tool of a test", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Timeout: 20 * time.Second,
		MaxArgsBytes: toolspec.MaxInline,
	}
	for _, c := range change {
		c(&def)
	}
	return toolspec.Define(def, f)
}

// Fast makes a tool run in the local lane.
func Fast(d *toolspec.Definition) { d.Fast, d.Timeout = true, 2*time.Second }

// Idempotent makes a tool a write that may be repeated and that needs no approval.
func Idempotent(d *toolspec.Definition) { d.Effect, d.Idempotent = toolspec.StateChange, true }

// Once makes a tool an effect that must not be repeated and that needs no approval.
func Once(d *toolspec.Definition) { d.Effect = toolspec.ExternalSideEffect }

// Risky gives a tool a risk for which policy requires an approval.
func Risky(d *toolspec.Definition) { d.Risk = toolspec.MediumRisk }

// Within sets the time limit of one attempt.
func Within(d time.Duration) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.Timeout = d }
}

// Attempts sets the highest number of attempts.
func Attempts(n int) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.MaxAttempts = n }
}

// Version sets the version of a tool.
func Version(v string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Version = v }
}

// Masks hides the values at these paths of the arguments.
func Masks(paths ...string) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Redaction.MaskInput = paths }
}

// Longest gives a tool the longest time limit that the local lane allows.
func Longest(d *toolspec.Definition) { d.Timeout = toolspec.FastLimit }

// Shown is a tool that answers with a fixed text.
func Shown(context.Context, In, toolspec.Call) (Out, error) { return Out{Text: "shown"}, nil }

// On returns a handler that calls at with the stage.
func On[V any](p hook.Point[V], at func(hook.Stage, any) error) hook.Handler {
	return p.Do(func(_ context.Context, v V) error { return at(p.Stage(), v) })
}

// Echo is a tool that answers with the text of its arguments and with a field that redaction must remove.
func Echo(_ context.Context, in In, _ toolspec.Call) (Out, error) {
	return Out{Text: in.Text, Hidden: "hidden"}, nil
}

// Ledger counts the runs of tools, by toolCallId. Read Counts only after the tools have ended; until then,
// call Of.
type Ledger struct {
	mu     sync.Mutex
	Counts map[string]int
}

// Add counts a run of a call, and returns the number of its runs including this one.
func (l *Ledger) Add(call toolspec.Call) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Counts == nil {
		l.Counts = map[string]int{}
	}
	l.Counts[call.ToolCallID]++
	return l.Counts[call.ToolCallID]
}

// Of returns the number of runs of a call so far.
func (l *Ledger) Of(toolCallID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Counts[toolCallID]
}

// Counted returns a function that counts each run in the ledger and then calls f.
func (l *Ledger) Counted(f Run) Run {
	return func(ctx context.Context, in In, call toolspec.Call) (Out, error) {
		l.Add(call)
		return f(ctx, in, call)
	}
}
