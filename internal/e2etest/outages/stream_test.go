package outages

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// streamTimeout is how long a call of a stream may take, outages included.
const streamTimeout = 3 * time.Minute

// stream makes calls of four kinds while servers and connections fail.
type stream struct {
	w       *e2etest.World
	effects e2etest.Ledger
	mu      sync.Mutex
	results map[string]toolspec.Result // by tool call id
	kinds   map[string]string          // the tool of each call
	calls   sync.WaitGroup
	started int
}

func newStream(w *e2etest.World) *stream {
	return &stream{w: w, results: map[string]toolspec.Result{}, kinds: map[string]string{}}
}

// streamTools has the tools that a stream calls one after the other.
var streamTools = []string{"test__fast", "test__read", "test__write", "test__send"}

func (s *stream) tools() worker.Option {
	return worker.Tools(
		e2etest.Tool("test__fast", s.effects.Counted(e2etest.Echo), e2etest.Fast),
		e2etest.Tool("test__read", s.effects.Counted(e2etest.Echo)),
		e2etest.Tool("test__write", s.effects.Counted(e2etest.Echo), e2etest.Idempotent),
		e2etest.Tool("test__send", s.effects.Counted(e2etest.Echo), e2etest.Once),
	)
}

// invoke starts the next call and waits for it in the background.
func (s *stream) invoke(c *pawl.Client) {
	toolID := streamTools[s.started%len(streamTools)]
	inv := e2etest.Invocation(fmt.Sprintf("%s-%d", toolID[len("test__"):], s.started), toolID, `{"text":"hello"}`)
	s.started++
	s.calls.Go(func() {
		ctx, cancel := context.WithTimeout(s.w.T.Context(), streamTimeout)
		defer cancel()
		r, err := c.Invoke(ctx, inv)
		var ended *pawl.CallError
		if errors.As(err, &ended) {
			r, err = ended.Result, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.kinds[inv.ToolCallID] = toolID
		if err != nil {
			s.w.T.Errorf("%s: %v", inv.ToolCallID, err)
			return
		}
		s.results[inv.ToolCallID] = r
	})
}

// verdict waits for all calls and checks them. Every call must be settled with the result that its caller got. A call whose tool may be repeated must have
// succeeded. Every other call must have had at most one effect, and must have succeeded or, in at most unknown calls, ended with an unknown outcome. verdict
// returns how many calls ended with an unknown outcome.
func (s *stream) verdict(t *testing.T, unknown int) {
	t.Helper()
	s.calls.Wait()
	outcomes := map[string]int{}
	for id, r := range s.results {
		effects, outcome := s.effects.Of(id), outcomeOf(r)
		outcomes[outcome]++
		record := s.w.Record(e2etest.Invocation(id, "", ""))
		if record.Outcome != outcome || len(record.Stages) == 0 {
			t.Errorf("%s: answered %s, and the record is %s with %d stages", id, outcome, record.Outcome, len(record.Stages))
		}
		switch {
		case s.kinds[id] != "test__send":
			if !r.OK || effects < 1 {
				t.Errorf("%s ended with %s and %d effects; it may be repeated", id, outcome, effects)
			}
		case r.OK && effects == 1, r.ErrorCode == toolspec.CodeOutcomeUnknown && effects <= 1 && len(record.Claims) > 0:
		default:
			t.Errorf("%s ended with %s, %d effects and claims %+v", id, outcome, effects, record.Claims)
		}
	}
	if len(s.results) != s.started || outcomes[string(toolspec.CodeOutcomeUnknown)] > unknown {
		t.Errorf("of %d calls %d ended: %v; at most %d may be in doubt", s.started, len(s.results), outcomes, unknown)
	}
	t.Logf("%d calls: %v", s.started, outcomes)
}
