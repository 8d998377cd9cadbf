package e2etest

import (
	"context"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
)

// StartRun starts a run of an agent.
func (w *World) StartRun(in agent.Input) *client.AgentRun {
	w.T.Helper()
	r, err := w.Pawl.StartAgent(w.T.Context(), in)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

// RunResult waits for the result of a run of an agent.
func (w *World) RunResult(r *client.AgentRun) agent.Result {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), WaitTimeout)
	defer cancel()
	result, err := w.Pawl.AgentResult(ctx, r)
	if err != nil {
		w.T.Fatal(err)
	}
	return result
}
