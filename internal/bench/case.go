package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// bare is the case that all others are compared with.
const bare = "bare"

// kase is a way to run one call.
type kase struct {
	name string
	// about describes the case in a few words.
	about string
	// run makes a call and checks how it ended.
	run func(ctx context.Context, s *stand, id string) error
	// workflowID names the workflow of a call.
	workflowID func(id string) string
	// share is the part of the calls that the case makes, in tenths; 0 means all calls. A slow case
	// makes fewer calls.
	share int
	// remote says that another process submits the calls, with Submit.
	remote bool
}

// cases returns all cases, in the order in which they are measured and shown.
func cases() []kase {
	return []kase{
		{name: bare, about: "one activity, by hand", run: byHand(bareType, false)},
		{name: "bare_eager", about: "the same, started eagerly", run: byHand(bareType, true)},
		{name: "bare_sql", about: "and two statements by hand", run: byHand(bareSQLType, false)},
		{name: "read_only", about: "a read in the worker's process", run: byPawl(readTool, ""), workflowID: workflowID},
		{name: "read_only_remote", about: "the same from another process", workflowID: workflowID, remote: true},
		{name: "read_only_guarded_miss", about: "a read under quota and semaphore, kept", workflowID: workflowID, run: func(ctx context.Context, s *stand, id string) error {
			return invoke(ctx, s.pawl, guardedTool, id, id, "")
		}},
		{name: "read_only_guarded_hit", about: "the same again, found", run: byPawl(guardedTool, ""), workflowID: workflowID},
		{name: "read_only_connection", about: "a read that leases a connection", run: byConnection, workflowID: workflowID},
		{name: "denied", about: "a call that policy denies", run: byPawl(deniedTool, toolspec.CodePolicyDenied), workflowID: workflowID},
		{name: "external_side_effect", about: "a write, nobody is asked", run: byPawl(sendTool, ""), workflowID: workflowID},
		{name: "external_side_effect_fast", about: "the same inside the workflow task", run: byPawl(quickTool, ""), workflowID: workflowID},
		{name: "hooks_20", about: "a read with 20 hooks of a user", run: byPawl(hookedTool, ""), workflowID: workflowID},
		{name: "stage_per_activity", about: fmt.Sprintf("%d activities, by hand", stagesOfRead), run: byHand(perStageType, false), share: 3},
	}
}

// Names lists the cases.
func Names() []string {
	var names []string
	for _, k := range cases() {
		names = append(names, k.name)
	}
	return names
}

func (k kase) workflowOf(id string) string {
	if k.workflowID != nil {
		return k.workflowID(id)
	}
	return id
}

// calls returns the number of calls of this case in a run in which other cases make n calls. It is at
// least 1.
func (k kase) calls(n int) int {
	if k.share == 0 {
		return n
	}
	return max(1, n*k.share/10)
}

func byHand(workflowType string, eager bool) func(context.Context, *stand, string) error {
	return func(ctx context.Context, s *stand, id string) error {
		run, err := s.temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
			ID: id, TaskQueue: bareQueue, EnableEagerStart: eager,
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		}, workflowType, echoIn{Text: "hello", Times: 1})
		if err != nil {
			return err
		}
		var out echoOut
		if err := run.Get(ctx, &out); err != nil {
			return err
		}
		if out.Text != "hello" {
			return fmt.Errorf("%s answered %q", id, out.Text)
		}
		return nil
	}
}

// byPawl returns a run function that invokes a tool. code is the error code with which the call must
// end; it is empty for a call that must return a value.
func byPawl(toolID string, code toolspec.Code) func(context.Context, *stand, string) error {
	return func(ctx context.Context, s *stand, id string) error {
		return invoke(ctx, s.pawl, toolID, id, "hello", code)
	}
}

func invoke(ctx context.Context, c *client.Client, toolID, id, text string, code toolspec.Code) error {
	return invokeAndCheck(ctx, c, invocation(toolID, id, text), text, code)
}

func invocation(toolID, id, text string) toolspec.Invocation {
	return toolspec.Invocation{
		ToolID: toolID, ToolCallID: id, Args: json.RawMessage(fmt.Sprintf(`{"text":%q,"times":1}`, text)),
		Context: toolspec.Context{TenantID: tenant, RunID: runID, ActorID: actor},
	}
}

// invokeAndCheck makes a call. It returns an error unless the call ended with code, and, for an empty
// code, with text as its value.
func invokeAndCheck(ctx context.Context, c *client.Client, inv toolspec.Invocation, text string, code toolspec.Code) error {
	id := inv.ToolCallID
	r, err := c.Invoke(ctx, inv)
	var ended *client.CallError
	if errors.As(err, &ended) {
		r, err = ended.Result, nil
	}
	switch {
	case err != nil:
		return err
	case r.ErrorCode != code:
		return fmt.Errorf("%s ended with %q (%s), want %q", id, r.ErrorCode, r.SafeMessage, code)
	case code == "" && string(r.Value) != fmt.Sprintf(`{"text":%q}`, text):
		return fmt.Errorf("%s answered %s", id, r.Value)
	}
	return nil
}

const runID = "bench"

func workflowID(id string) string {
	return toolspec.Identity{TenantID: tenant, RunID: runID, ToolCallID: id}.WorkflowID()
}
