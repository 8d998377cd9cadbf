package turn_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// refusing is a server that lets this program start no call.
type refusing struct {
	temporal.Client
	mu    sync.Mutex
	asked []string
}

func (r *refusing) ExecuteWorkflow(_ context.Context, o temporal.StartWorkflowOptions, _ any, _ ...any) (temporal.WorkflowRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, o.ID)
	return nil, serviceerror.NewPermissionDenied("not you", "")
}

// TestNothingOvertakesAnEffectThatNobodyKnowsOf: where Temporal does not say what became of a call with an effect, what stands behind it does not
// start. What is no call has its answer all the same, and nothing is told to the model.
func TestNothingOvertakesAnEffectThatNobodyKnowsOf(t *testing.T) {
	t.Parallel()
	server := &refusing{}
	response := chat(t,
		asked{"r1", "test__echo", `{}`}, asked{"r2", "test__echo", `{}`}, asked{"w1", "test__write", `{}`}, asked{"r2", "test__write", `{}`}, asked{"r3", "test__echo", `{}`},
	)
	reply, err := newTurn("k").Take(t.Context(), client.New(server, client.Options{}), strings.NewReader(response))
	var denied *serviceerror.PermissionDenied
	if !errors.As(err, &denied) || reply.Messages != nil || len(reply.Outcomes) != 5 {
		t.Fatalf("%+v, %v", reply, err)
	}
	if len(server.asked) != 2 {
		t.Errorf("it started %q", server.asked)
	}
	for i, o := range reply.Outcomes {
		switch {
		case i == 3 && (o.Pending || o.Result.ErrorCode != toolspec.CodeConflict):
			t.Errorf("an id twice came to %+v", o)
		case i != 3 && (!o.Pending || o.Started || (o.Err != nil) != (i < 2)):
			t.Errorf("call %d came to %+v", i, o)
		}
	}
}

// cutting is a codec of somebody's own, which takes calls for whole that stand in a response that is not.
type cutting struct{ openai.Codec }

func (c cutting) Decode(response []byte) (wire.Response, error) {
	r, err := c.Codec.Decode(response)
	r.Finish = wire.FinishCut
	return r, err
}

// TestNoCallOfAResponseThatWasCut (AG-05): whatever a codec thinks of a call, it runs only out of a response that ended as one with calls.
func TestNoCallOfAResponseThatWasCut(t *testing.T) {
	t.Parallel()
	server := &refusing{}
	tu := newTurn("k")
	tu.Codec = cutting{}
	reply, err := tu.Take(t.Context(), client.New(server, client.Options{}), strings.NewReader(chat(t, asked{"c1", "test__echo", `{}`})))
	if err != nil || len(server.asked) != 0 || reply.Outcomes[0].Result.ErrorCode != toolspec.CodeIncomplete || len(reply.Messages) != 2 {
		t.Errorf("it started %q, and came to %+v, %v", server.asked, reply, err)
	}
}

// meeting is a server at which calls start in pairs: a start waits for another one.
type meeting struct {
	temporal.Client
	mu      sync.Mutex
	asked   int
	waiting chan struct{}
}

func (m *meeting) ExecuteWorkflow(ctx context.Context, _ temporal.StartWorkflowOptions, _ any, _ ...any) (temporal.WorkflowRun, error) {
	m.mu.Lock()
	m.asked++
	m.mu.Unlock()
	select {
	case m.waiting <- struct{}{}:
	case <-m.waiting:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return nil, serviceerror.NewPermissionDenied("met", "")
}

// TestOneAfterAnother (C-28, AG-09): reads do not overlap unless the caller sets AtOnce, and then no more of them than that. What is allowed to
// overlap does: of two that may, neither gets past the start of the other.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	response := chat(t, asked{"r1", "test__echo", `{}`}, asked{"r2", "test__echo", `{}`}, asked{"w1", "test__write", `{}`}, asked{"w2", "test__write", `{}`})
	for _, tc := range []struct {
		name     string
		atOnce   int
		together bool
		asked    int
	}{
		{"unless set", 0, false, 1}, {"one", 1, false, 1}, {"two", 2, false, 2}, {"two of any kind", 2, true, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server := &meeting{waiting: make(chan struct{})}
			tu := newTurn("k")
			tu.AtOnce, tu.Together = tc.atOnce, tc.together
			if tc.atOnce < 2 {
				tu.Wait = 50 * time.Millisecond // nobody comes
			}
			reply, err := tu.Take(t.Context(), client.New(server, client.Options{}), strings.NewReader(response))
			if (err != nil) != (tc.atOnce > 1) || len(reply.Pending()) != 4 {
				t.Fatalf("%+v, %v", reply, err)
			}
			if server.asked > tc.asked || tc.atOnce > 1 && server.asked < tc.asked {
				t.Errorf("%d calls were started, want %d", server.asked, tc.asked)
			}
		})
	}
}
