package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/workflows/agent"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestStepFails: a step that fails for good ends the run with a result, also in the record.
func TestStepFails(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(agent.Run, workflow.RegisterOptions{Name: pawlagent.WorkflowType})
	log := slog.New(slog.DiscardHandler)
	contract.Bind(env, contract.AgentOpen, log, func(context.Context, contract.AgentOpenIn) (contract.AgentOpenOut, error) {
		return contract.AgentOpenOut{Run: contract.AgentRun{TenantID: "acme", RunID: "run"}, AtOnce: 1, Round: 1, EndsAtMs: env.Now().Add(time.Hour).UnixMilli()}, nil
	})
	contract.Bind(env, contract.AgentRound, log, func(context.Context, contract.AgentRoundIn) (contract.AgentRoundOut, error) {
		return contract.AgentRoundOut{}, errors.New("the stored round cannot be read")
	})
	var closed contract.AgentEnd
	contract.Bind(env, contract.AgentClose, log, func(_ context.Context, in contract.AgentCloseIn) (contract.AgentCloseOut, error) {
		closed = in.End
		return contract.AgentCloseOut{Result: pawlagent.Result{Outcome: in.End.Outcome, Reason: in.End.Reason}}, nil
	})
	contract.Bind(env, contract.AgentAsk, log, func(context.Context, contract.AgentAskIn) (contract.AgentAskOut, error) {
		return contract.AgentAskOut{}, nil
	})
	env.ExecuteWorkflow(pawlagent.WorkflowType, pawlagent.Input{})
	var result pawlagent.Result
	if err := env.GetWorkflowResult(&result); err != nil || result.Outcome != pawlagent.Failed || closed.Outcome != pawlagent.Failed {
		t.Errorf("the run ended %+v, closed with %+v, %v", result, closed, err)
	}
}
