package e2etest

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// in and out are what the tools of these tests take and give. Of out, only text may be shown.
type in struct {
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
}

type out struct {
	Text   string `json:"text"`
	Hidden string `json:"hidden,omitempty"`
}

type run = func(ctx context.Context, in in, call toolspec.Call) (out, error)

// tool makes a read-only tool of the regular lane; what else it is, change says.
func tool(id string, f run, change ...func(*toolspec.Definition)) toolspec.Tool {
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

// fast puts a read into the local lane.
func fast(d *toolspec.Definition) { d.Fast, d.Timeout = true, 2*time.Second }

// idempotent makes a write that may be repeated, and that nobody asks about.
func idempotent(d *toolspec.Definition) { d.Effect, d.Idempotent = toolspec.StateChange, true }

// once makes an effect that must not be repeated, and that nobody asks about.
func once(d *toolspec.Definition) { d.Effect = toolspec.ExternalSideEffect }

// risky makes policy ask.
func risky(d *toolspec.Definition) { d.Risk = toolspec.MediumRisk }

func within(d time.Duration) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.Timeout = d }
}

func attempts(n int) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.MaxAttempts = n }
}

// echo answers with its text, and with a field that nobody may see.
func echo(_ context.Context, in in, _ toolspec.Call) (out, error) {
	return out{Text: in.Text, Hidden: "hidden"}, nil
}

// ledger counts effects by the call that had them.
type ledger struct {
	mu     sync.Mutex
	counts map[string]int
}

func (l *ledger) add(call toolspec.Call) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	l.counts[call.ToolCallID]++
	return l.counts[call.ToolCallID]
}

func (l *ledger) of(toolCallID string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts[toolCallID]
}

// counted makes a function that enters every run into the ledger first.
func (l *ledger) counted(f run) run {
	return func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		l.add(call)
		return f(ctx, in, call)
	}
}
