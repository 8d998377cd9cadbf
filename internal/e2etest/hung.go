package e2etest

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/toolspec"
)

// Hung is a tool that holds calls until Release is closed, and counts the calls inside. It counts calls and not attempts: on a busy
// machine an attempt may begin before the end of the previous attempt is known. Entered has the toolCallId of each attempt.
type Hung struct {
	Entered chan string
	Release chan struct{}

	mu      sync.Mutex
	inside  map[string]int // attempts, by call
	highest int
}

// NewHung returns a Hung that holds every call.
func NewHung() *Hung {
	return &Hung{Entered: make(chan string, 64), Release: make(chan struct{}), inside: map[string]int{}}
}

// Counts returns how many calls are inside now, and the highest number so far.
func (h *Hung) Counts() (inside, highest int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.inside), h.highest
}

func (h *Hung) step(id string, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside[id] += by; h.inside[id] == 0 {
		delete(h.inside, id)
	}
	h.highest = max(h.highest, len(h.inside))
}

// Run is the function of the tool.
func (h *Hung) Run(ctx context.Context, in In, call toolspec.Call) (Out, error) {
	h.step(call.ToolCallID, 1)
	defer h.step(call.ToolCallID, -1)
	h.Entered <- call.ToolCallID
	select {
	case <-h.Release:
		return Echo(ctx, in, call)
	case <-ctx.Done():
		return Out{}, ctx.Err()
	}
}
