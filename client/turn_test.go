package client_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

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
	reply, err := client.New(server, client.Options{}).Turn(t.Context(), turn("k"), strings.NewReader(response))
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
	tu := turn("k")
	tu.Codec = cutting{}
	reply, err := client.New(server, client.Options{}).Turn(t.Context(), tu, strings.NewReader(chat(t, asked{"c1", "test__echo", `{}`})))
	if err != nil || len(server.asked) != 0 || reply.Outcomes[0].Result.ErrorCode != toolspec.CodeIncomplete || len(reply.Messages) != 2 {
		t.Errorf("it started %q, and came to %+v, %v", server.asked, reply, err)
	}
}
