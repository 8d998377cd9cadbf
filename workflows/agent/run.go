package agent

import (
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Run is the workflow of one run of an agent. Every end of a run completes the workflow with a Result. r.run returns an error only to continue the
// workflow as new. If an activity cannot read or write the record, the result says so, and the sweeper ends the run in the record.
//
// Run takes the input undecoded, because an input that does not decode must not make the workflow fail.
func Run(ctx workflow.Context, input converter.RawValue) (pawlagent.Result, error) {
	r := &run{state: pawlagent.State{Phase: pawlagent.Opening}, closedUpTo: -1}
	if err := r.listen(ctx); err != nil {
		return pawlagent.Result{}, err
	}
	result, err := r.run(ctx, input)
	if err != nil {
		return pawlagent.Result{}, err
	}
	if err := awaitHandlers(ctx); err != nil {
		return pawlagent.Result{}, err
	}
	return result, nil
}

// unrecorded is the reason of a run whose record cannot be read or written.
const unrecorded = "the record of the run could not be read or written; the worker's log says why"

// run is the state of a run of an agent.
type run struct {
	open  contract.AgentOpenOut
	state pawlagent.State
	// isOpen says that AgentOpen has answered or failed. Until then, a message of a person waits in its update handler.
	isOpen  bool
	signals []signal
	// interrupted says that a signal has stopped the run, or its current turn.
	interrupted bool
	// isTimeOver says that the timer of the run has fired.
	isTimeOver bool
	// isClosing says that the run ends now, so its handler refuses further messages.
	isClosing bool
	// said is the number of the last message of a person that was stored.
	said int64
	// taken is the number of the last message that a model has read.
	taken int64
	// closedUpTo is the number of the last message of the turns that have ended; -1 before the first turn has ended. The
	// next turn begins with a later message.
	closedUpTo int64
	// saidBefore is the value that said had at the time of the interrupt. Later messages belong to the next turn.
	saidBefore int64
	// stopAsking cancels the request to the model. It is nil while no request runs.
	stopAsking workflow.CancelFunc
}

// run opens the run, runs its rounds, and closes it. It returns an error only to continue the workflow as new.
func (r *run) run(ctx workflow.Context, input converter.RawValue) (pawlagent.Result, error) {
	open, err := steps.Local(steps.Disconnected(ctx), contract.AgentOpen, contract.AgentOpenIn{Input: bytesOf(input)}, steps.Options("open the run", steps.Forever))
	if err != nil {
		r.isOpen = true // the handler refuses the messages that wait
		return r.setEnded(pawlagent.Result{Outcome: pawlagent.Failed, Reason: unrecorded}), nil
	}
	r.open, r.said, r.isOpen = open, open.Said, true
	r.state.Round = open.Round
	if open.Result != nil {
		return r.setEnded(*open.Result), nil
	}
	working, stop := workflow.WithCancel(ctx)
	defer stop()
	r.startTimer(working, stop)
	end, err := r.work(working)
	switch {
	case err != nil:
		end = &contract.AgentEnd{Outcome: pawlagent.Failed, Reason: unrecorded}
	case end == nil:
		return pawlagent.Result{}, workflow.NewContinueAsNewError(ctx, pawlagent.WorkflowType, input)
	}
	r.isClosing = true
	out, err := r.close(ctx, *end, false)
	if err != nil {
		out = pawlagent.Result{Outcome: pawlagent.Failed, Reason: unrecorded}
	}
	return r.setEnded(out), nil
}

// bytesOf returns the JSON of the input, or nil if the input has another encoding.
func bytesOf(input converter.RawValue) []byte {
	payload := input.Payload()
	if string(payload.GetMetadata()[converter.MetadataEncoding]) != converter.MetadataEncodingJSON {
		return nil
	}
	return payload.GetData()
}

// startTimer stops the work when the time of the run is over.
func (r *run) startTimer(working workflow.Context, stop workflow.CancelFunc) {
	rest := time.UnixMilli(r.open.EndsAtMs).Sub(workflow.Now(working))
	timer := workflow.NewTimerWithOptions(working, max(rest, 0), workflow.TimerOptions{Summary: "the time of the run"})
	workflow.Go(working, func(working workflow.Context) {
		if timer.Get(working, nil) == nil {
			r.isTimeOver = true
			stop()
		}
	})
}

// work runs rounds until the run ends, and returns how it ends. A nil end without an error means that the run must
// continue as new.
func (r *run) work(ctx workflow.Context) (*contract.AgentEnd, error) {
	// isGivenUp says that an interrupt ended the turn before the current round had its answers. The run then does not
	// continue as new, because the next run of the workflow would not know this.
	isGivenUp := false
	for {
		end, isFinal := r.checkStop(ctx), false
		if end == nil && !isGivenUp && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			if err := awaitHandlers(ctx); err != nil {
				return nil, err
			}
			// The next run of the workflow would not know of a stop that came during this wait.
			if end = r.checkStop(ctx); end == nil {
				return nil, nil //nolint:nilnil // the run continues as new
			}
		}
		if end == nil {
			var err error
			if isFinal, end, err = r.round(ctx); err != nil {
				return nil, err
			}
		}
		isGivenUp = end != nil
		// An interrupt of a run that stays ends only the turn. Any other end is the end of the run.
		endsTurnOnly := end != nil && r.open.Stays && end.Outcome == pawlagent.Interrupted
		if end != nil && !endsTurnOnly {
			return end, nil
		}
		if isFinal || end != nil {
			over, err := r.finish(ctx, end)
			if err != nil || over != nil {
				return over, err
			}
		}
		if !isGivenUp {
			r.state.Round++
		}
	}
}

// round asks the model and runs the calls of its response. isFinal says that the response, or one of its calls, ends
// the turn.
func (r *run) round(ctx workflow.Context) (isFinal bool, end *contract.AgentEnd, err error) {
	asked, end, err := r.ask(ctx)
	switch {
	case err != nil || end != nil:
		return false, end, err
	case asked.Answered:
		return asked.Final, nil, nil
	case len(asked.Calls) == 0:
		return !asked.Again, nil, nil
	}
	// If an interrupt came just after the response was recorded, the response belongs to a turn that has ended. Its calls
	// do not start.
	isTurnOver := asked.Taken <= r.closedUpTo
	results, joined, isFinal := r.runCalls(ctx, asked.Calls, isTurnOver)
	storing := steps.Options("store the answers", steps.Forever)
	storing.StartToCloseTimeout = contract.AgentAnswerTime
	answered, err := steps.Local(steps.Disconnected(ctx), contract.AgentAnswer, contract.AgentAnswerIn{Run: r.open.Run, Round: r.state.Round, Results: results, Joined: joined}, storing)
	if answered.Final != nil {
		isFinal = *answered.Final
	}
	return isFinal, nil, err
}

// finish ends a turn. end is nil after a final answer of the model, and says that an interrupt ended the turn otherwise.
// For a run that stays, finish waits for the next message of a person. It returns how the run ends, or nil if another
// round follows because such a message came.
func (r *run) finish(ctx workflow.Context, end *contract.AgentEnd) (*contract.AgentEnd, error) {
	if err := awaitHandlers(ctx); err != nil {
		return nil, err
	}
	if end == nil {
		if r.said > r.taken {
			return nil, nil
		}
		if end = (&contract.AgentEnd{Outcome: pawlagent.Completed}); !r.open.Stays {
			return end, nil
		}
	}
	r.closedUpTo = max(r.said, r.taken)
	if end.Outcome == pawlagent.Interrupted {
		// The messages after the interrupt begin the next turn.
		r.closedUpTo = max(r.saidBefore, r.taken)
	}
	if _, err := r.close(ctx, *end, true); err != nil {
		return nil, err
	}
	r.state.Phase = pawlagent.Waiting
	// An interrupt during the turn has ended the turn. An interrupt from now on ends the run.
	r.interrupted = false
	if err := workflow.Await(ctx, func() bool { return r.said > r.closedUpTo || r.interrupted }); err != nil {
		return r.checkStop(ctx), nil //nolint:nilerr // the error says that ctx ended, and checkStop returns why
	}
	return r.checkStop(ctx), nil
}

// checkStop returns how the run ends if its time is over, its workflow was cancelled or a person interrupted it.
// Otherwise it returns nil.
func (r *run) checkStop(ctx workflow.Context) *contract.AgentEnd {
	// Receive the signals that the coroutines of onSignal have not received yet in this workflow task.
	for _, s := range r.signals {
		for s.channel.ReceiveAsync(nil) {
			s.do()
		}
	}
	switch {
	case r.isTimeOver:
		return &contract.AgentEnd{Outcome: pawlagent.OverBudget, Reason: "the time of the run is over"}
	case ctx.Err() != nil:
		return &contract.AgentEnd{Outcome: pawlagent.Cancelled, Reason: "the workflow of the run was cancelled"}
	case r.interrupted:
		return &contract.AgentEnd{Outcome: pawlagent.Interrupted, Reason: "a person stopped the run"}
	}
	return nil
}

// close ends the run, or its turn.
func (r *run) close(ctx workflow.Context, end contract.AgentEnd, stays bool) (pawlagent.Result, error) {
	out, err := steps.Local(steps.Disconnected(ctx), contract.AgentClose, contract.AgentCloseIn{Run: r.open.Run, Round: r.state.Round, Said: r.closedUpTo, Stays: stays, End: end},
		steps.Options("close the run", steps.Forever))
	return out.Result, err
}

// setEnded sets the state that the state query returns for a run that has ended, and returns the result.
func (r *run) setEnded(result pawlagent.Result) pawlagent.Result {
	r.state = pawlagent.State{Phase: pawlagent.Ended, Round: r.state.Round, Result: &result}
	return result
}

func awaitHandlers(ctx workflow.Context) error {
	return workflow.Await(steps.Disconnected(ctx), func() bool { return workflow.AllHandlersFinished(ctx) })
}

// listen registers the handlers of the run.
func (r *run) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandlerWithOptions(ctx, pawlagent.StateName, func() (pawlagent.State, error) { return r.state, nil },
		workflow.QueryHandlerOptions{Description: "What the run does now, with its open calls. Takes nothing."}); err != nil {
		return err
	}
	r.onSignal(ctx, pawlagent.InterruptName, "Stops the run after its current call. A run that stays only ends its turn, unless it waits for a message. Takes nothing.", r.interrupt)
	r.onSignal(ctx, pawlagent.InterruptTurnName, "As interrupt, and nothing while the run waits for a message. Takes nothing.", func() {
		if r.state.Phase != pawlagent.Waiting {
			r.interrupt()
		}
	})
	return workflow.SetUpdateHandlerWithOptions(ctx, pawlagent.MessageName, r.say, workflow.UpdateHandlerOptions{
		Validator: func(_ workflow.Context, m pawlagent.Message) error {
			if r.isClosing || r.state.Phase == pawlagent.Ended {
				return errEnded()
			}
			if err := m.Check(); err != nil {
				return temporal.NewNonRetryableApplicationError(err.Error(), string(toolspec.CodeValidation), nil)
			}
			return nil
		},
		Description: "Adds a message of a person to the run: {\"id\":…,\"text\":…,\"by\":…}. Answers when the message is stored.",
	})
}

// signal is a signal of a run, with its handler.
type signal struct {
	channel workflow.ReceiveChannel
	do      func()
}

// onSignal calls do for each signal with the name.
func (r *run) onSignal(ctx workflow.Context, name, description string, do func()) {
	channel := workflow.GetSignalChannelWithOptions(ctx, name, workflow.SignalChannelOptions{Description: description})
	r.signals = append(r.signals, signal{channel, do})
	workflow.Go(ctx, func(ctx workflow.Context) {
		for channel.Receive(ctx, nil) {
			do()
		}
	})
}

// interrupt handles the signals that stop the run, or its turn: no further call starts, and interrupt cancels the
// request to the model that runs now.
func (r *run) interrupt() {
	if !r.interrupted {
		r.saidBefore = r.said
	}
	r.interrupted = true
	if r.stopAsking != nil {
		r.stopAsking()
	}
}

// say stores a message for the next round.
func (r *run) say(ctx workflow.Context, m pawlagent.Message) error {
	if err := workflow.Await(ctx, func() bool { return r.isOpen }); err != nil {
		return err
	}
	if r.isClosing || r.state.Phase == pawlagent.Ended {
		return errEnded()
	}
	out, err := steps.Local(ctx, contract.AgentSay, contract.AgentSayIn{Run: r.open.Run, Message: m}, steps.Options("store the message", steps.Forever))
	if err != nil {
		return err
	}
	if out.Ended {
		return errEnded()
	}
	if out.Said == 0 {
		return temporal.NewNonRetryableApplicationError("the model has not read the earlier messages yet; send this one again later", string(toolspec.CodeRateLimited), nil)
	}
	r.said = max(r.said, out.Said)
	return nil
}

func errEnded() error {
	return temporal.NewNonRetryableApplicationError("the run has ended", string(toolspec.CodeConflict), nil)
}
