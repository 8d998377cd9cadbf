package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Answer stores the answers to the calls of a round. If some results came from the activity Join (in.Joined), it
// takes these results from the record, and out.Final says whether a call of core__done has ended the run.
func (a *Agents) Answer(ctx context.Context, in contract.AgentAnswerIn) (out contract.AgentAnswerOut, err error) {
	round, found, err := a.Store.AgentRound(ctx, in.Run, in.Round)
	if err != nil || !found || round.Answers != nil {
		return out, err
	}
	if err := a.verifyJoined(ctx, in, round); err != nil {
		return out, err
	}
	if err := a.keepReasoning(ctx, in.Run, round); err != nil {
		return out, err
	}
	results := make([]toolspec.Result, len(round.Plan.Calls))
	for i, c := range round.Plan.Calls {
		switch {
		case c.Refused != nil:
			results[i] = *c.Refused
		case c.Call.Same >= 0:
			results[i] = results[c.Call.Same]
		default:
			results[i] = in.Results[i]
			if c.Call.ToolID == pawlagent.RunTool {
				if results[i], err = a.childResult(ctx, in.Run, c.Call.ToolCallID, results[i]); err != nil {
					return out, err
				}
			}
		}
	}
	answers, err := round.turnPlan().Answers(ctx, a.Client, in.Run.TenantID, results)
	if err != nil {
		return out, err
	}
	if codec, ok := codecs[round.Format]; ok {
		dropUncarried(answers, results, codec)
	}
	if len(in.Joined) > 0 {
		round.Answers = answers
		_, ends := round.doneMessage()
		out.Final = &ends
	}
	trimmed := make([]wire.Answer, len(answers))
	for i, answer := range answers {
		trimmed[i] = trimmedAnswer(answer, round.Plan.Calls[i], results[i].InvocationID)
	}
	return out, a.Store.RecordAnswers(ctx, in.Run, in.Round, answers, trimmed)
}

// dropUncarried replaces each image, audio or document that requests in a format have as a note only, by this note, and gives its answer a
// reference to the stored value. Each request reads the answers of all rounds, and data that it does not carry would count for none of its limits.
func dropUncarried(answers []wire.Answer, results []toolspec.Result, codec wire.Codec) {
	for i := range answers {
		for j, part := range answers[i].Parts {
			if strings.HasPrefix(part.MediaType, "text/") {
				continue
			}
			sent, err := codec.Answers([]wire.Answer{{Content: answers[i].Content, Parts: []wire.Part{part}}})
			if err != nil || size(sent) >= len(part.Data) {
				continue
			}
			answers[i].Parts[j] = wire.Part{MediaType: "text/plain", Data: part.Words()}
			if answers[i].OutputRef == "" && results[i].InvocationID != "" {
				answers[i].OutputRef = toolspec.ResultRef(results[i].InvocationID)
			}
		}
	}
}

// Close ends a run, or its turn, and tells its watchers.
func (a *Agents) Close(ctx context.Context, in contract.AgentCloseIn) (out contract.AgentCloseOut, err error) {
	return a.close(ctx, in, true)
}

// close does the work of Close. While a call of the run is open, the watchers cannot be told of the end. close
// then returns client.ErrRunOpen or, if evenUnseen is true, ends the run without telling them.
func (a *Agents) close(ctx context.Context, in contract.AgentCloseIn, evenUnseen bool) (out contract.AgentCloseOut, err error) {
	run, err := a.Store.AgentRun(ctx, in.Run)
	if err != nil {
		return out, err
	}
	if run.Result != nil {
		return contract.AgentCloseOut{Result: *run.Result}, nil
	}
	result := pawlagent.Result{
		Outcome: in.End.Outcome, Reason: in.End.Reason, Agent: run.Document.Name, Version: run.Document.Version, Totals: run.Totals,
	}
	answer := ""
	if last, found, err := a.Store.AgentRound(ctx, in.Run, run.Round); err != nil {
		return out, err
	} else if found {
		text, ended := last.doneMessage()
		if !ended {
			text = last.Plan.Text
		}
		if result.Outcome == pawlagent.Completed {
			result.Value = last.Plan.Value
			if finish := last.Plan.Finish; !ended && finish != wire.FinishStop {
				result.Reason = "the model did not finish its answer: " + string(finish)
			}
		}
		answer = strings.ToValidUTF8(text, "")
		result.Text, result.Truncated = cutTo(text, pawlagent.MaxText)
	}
	if run.Parent == nil {
		err = a.tellEnd(ctx, in, evenUnseen)
	}
	if err == nil && !in.Stays {
		result, err = a.Store.CloseAgentRun(ctx, in.Run, result, answer)
	}
	return contract.AgentCloseOut{Result: result}, err
}

// tellEnd tells the watchers of a run that the run, or its turn, has ended. It returns client.ErrRunOpen if a call of the run is open,
// or nil if evenUnseen is true. close does not call it for a run with a parent, because the watchers of such a run watch the parent.
func (a *Agents) tellEnd(ctx context.Context, in contract.AgentCloseIn, evenUnseen bool) error {
	key := "end"
	if in.Stays {
		// A turn that an interrupt ends may have the same round as the next turn, so the key has Said too.
		key = fmt.Sprintf("turn%d-%d", in.Round, in.Said)
	}
	err := a.Client.Append(ctx, in.Run.TenantID, in.Run.RunID, client.TurnEvent{Key: key, Done: true})
	if evenUnseen && errors.Is(err, client.ErrRunOpen) {
		// Another program has started a call under the ids of this run. The run must not wait for this call.
		a.Log.WarnContext(ctx, "the end of a run could not be shown to its watchers: it has an open call that is not its own", "workflowId", pawlagent.WorkflowID(in.Run.TenantID, in.Run.RunID))
		return nil
	}
	return err
}

// Join returns when a run has ended. It waits at most contract.JoinWait, and then returns contract.ErrOpen.
func (a *Agents) Join(ctx context.Context, in contract.AgentJoinIn) (out contract.AgentJoinOut, err error) {
	ctx, cancel := context.WithTimeout(ctx, contract.JoinWait)
	defer cancel()
	_, err = a.Client.AgentResult(ctx, a.Client.AttachAgent(ctx, in.Run.TenantID, in.Run.RunID))
	switch {
	case ctx.Err() != nil:
		err = contract.ErrOpen
	case err != nil && !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrOtherRun):
		// A final error would end the run in the record while its workflow goes on.
		err = errs.Transient(err)
	}
	return out, err
}

// cutTo returns at most the first limit bytes of a text, without a part of a character at the end, and whether
// it left out a part of the text.
func cutTo(text string, limit int) (string, bool) {
	text = strings.ToValidUTF8(text, "")
	if len(text) <= limit {
		return text, false
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}
