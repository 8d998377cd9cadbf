package agent

import (
	"time"

	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

const (
	// maxAfterEnd is how long after the deadline of the run the server ends a request to the model. The timer of the run
	// cancels the request earlier, at the deadline, so that the result of the run says that its time is over.
	maxAfterEnd = time.Minute
	// maxTries is how often a round asks one model whose provider gives no response.
	maxTries = 6
	// firstPause and longestPause are the waits between these requests, if the provider does not ask for a longer wait.
	firstPause, longestPause = time.Second, 30 * time.Second
)

// ask asks the model, and the fallback if the model gives no response. It returns the response of the round, or how the
// run ends. A wait between two requests is a timer of the workflow, so it continues after the loss of a worker. An
// interrupt cancels the request that runs.
func (r *run) ask(ctx workflow.Context) (contract.AgentRoundOut, *contract.AgentEnd, error) {
	r.state.Phase = pawlagent.Asking
	asking, stop := workflow.WithCancel(ctx)
	defer stop()
	r.stopAsking = stop
	defer func() { r.stopAsking = nil }()
	in := contract.AgentAskIn{Run: r.open.Run, Round: r.state.Round}
	pause := firstPause
	for try := 1; ; try++ {
		asked, err := steps.Regular(asking, contract.AgentAsk, in, askOptions(ctx, r.open.EndsAtMs))
		if end := r.checkStop(ctx); end != nil && (err != nil || asked.Fault != nil) {
			return contract.AgentRoundOut{}, end, nil
		}
		if err != nil {
			return contract.AgentRoundOut{}, &contract.AgentEnd{Outcome: pawlagent.Failed, Reason: "the model could not be asked; the worker's log says why"}, nil
		}
		round := contract.AgentRoundIn{Run: in.Run, Round: in.Round}
		if asked.Fault != nil && asked.Fault.OverBudget {
			round.OverBudget = asked.Fault.Reason
		}
		out, err := steps.Local(steps.Disconnected(ctx), contract.AgentRound, round, steps.Options("read the response", steps.Forever))
		if err != nil {
			return out, nil, err
		}
		if out.Recorded || out.End != nil {
			r.taken = max(r.taken, out.Taken)
			return out, out.End, nil
		}
		fault := asked.Fault
		if fault == nil {
			// This answer is not from a worker, because a worker records the response or returns a fault. The request of the
			// worker may still run. If the run asks again, the record still keeps only one response.
			fault = &contract.AgentFault{Reason: "the response of the model was not recorded", Retry: true}
		}
		last := !fault.Retry || try >= maxTries
		switch {
		case last && !in.Fallback && r.open.HasFallback:
			in.Fallback, try, pause = true, 0, firstPause
			continue
		case last:
			return out, &contract.AgentEnd{Outcome: pawlagent.Failed, Reason: fault.Reason}, nil
		}
		wait := max(pause, time.Duration(fault.AfterMs)*time.Millisecond)
		pause = min(2*pause, longestPause)
		if workflow.NewTimerWithOptions(asking, wait, workflow.TimerOptions{Summary: fault.Reason}).Get(asking, nil) != nil {
			return out, r.checkStop(ctx), nil
		}
	}
}

// askOptions returns the options of AgentAsk. The server repeats a request whose worker was lost.
func askOptions(ctx workflow.Context, endsAtMs int64) workflow.ActivityOptions {
	rest := time.UnixMilli(endsAtMs).Sub(workflow.Now(ctx))
	return workflow.ActivityOptions{
		StartToCloseTimeout:    contract.AgentAskTime,
		ScheduleToCloseTimeout: max(rest, 0) + maxAfterEnd,
		HeartbeatTimeout:       steps.HeartbeatTimeout,
		WaitForCancellation:    true,
		RetryPolicy:            steps.Retries(),
		Summary:                "ask the model",
	}
}
