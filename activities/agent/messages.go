package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// request returns a request with the messages of a run, without tools and model. taken is the number of the last
// message of a person in the request. If the error is errMoved, the caller must read the run again and call
// request again.
func (a *Agents) request(ctx context.Context, of contract.AgentRun, run Run, c Conversation, codec wire.Codec) (r provider.Request, taken int64, err error) {
	rounds := c.Rounds
	for _, m := range c.Said {
		taken = max(taken, m.Seq)
	}
	w := &writer{of: contract.AgentRun{TenantID: of.TenantID, RunID: run.Input.Context.RunID}, codec: codec, said: c.Said, context: run.Context, summary: run.Summary}
	if run.Input.Fork != nil {
		w.copied = run.Input.Fork.Rounds
	}
	prelude, err := w.prelude(run)
	if err != nil {
		return r, 0, err
	}
	parts := make([][]json.RawMessage, len(rounds))
	for i, round := range rounds {
		if parts[i], err = w.round(round); err != nil {
			return r, 0, fmt.Errorf("round %d: %w", round.Round, err)
		}
	}
	last, err := w.saidIn(0)
	if err != nil {
		return r, 0, err
	}
	note, err := w.leftOut()
	if err != nil {
		return r, 0, err
	}
	limit := run.Document.Limits.ContextBytes - size(prelude.Messages) - len(prelude.System) - size(note) - size(last)
	kept, err := w.fit(rounds, parts, limit)
	if err != nil {
		return r, 0, err
	}
	if w.context != run.Context {
		if err := a.moveContext(ctx, of, run, w); err != nil {
			return r, 0, err
		}
		// A fork with a subject may read the outputs of its source. Only the record has the references to these outputs, so
		// the request is built again from the record.
		trimsSource := run.Context.TrimmedTo <= w.copied && run.Context.TrimmedTo < w.context.TrimmedTo
		if run.Input.Context.SubjectID != "" && trimsSource {
			return r, 0, errMoved
		}
		if note, err = w.leftOut(); err != nil {
			return r, 0, err
		}
	}
	r.Messages, r.System, r.SystemMember = slices.Concat(prelude.Messages, note), prelude.System, prelude.SystemMember
	for _, part := range kept {
		r.Messages = append(r.Messages, part...)
	}
	r.Messages = append(r.Messages, last...)
	return r, taken, nil
}

// writer writes the messages of a run in one format.
type writer struct {
	// of is the run to which the calls of the rounds after copied belong.
	of contract.AgentRun
	// copied is the number of rounds at the beginning that a fork has copied from its source; 0 without a fork. Their
	// calls belong to other runs.
	copied  int
	codec   wire.Codec
	said    []Said
	context Context
	summary Summary
}

// prelude returns the instructions and the messages that began the run.
func (w *writer) prelude(run Run) (conversation.Request, error) {
	c := conversation.Conversation{Messages: run.Input.Messages}
	instructions := run.Document.Instructions
	if len(run.Document.Output) > 0 {
		instructions += "\n\nYour final answer must be JSON that this JSON Schema accepts, and nothing else:\n" + string(run.Document.Output)
	}
	if instructions != "" {
		system := conversation.Message{Role: conversation.System, Content: []conversation.Part{{Type: conversation.Text, Text: instructions}}}
		c.Messages = append([]conversation.Message{system}, c.Messages...)
	}
	return conversation.Encode(c, w.codec, nil)
}

// saidIn returns the messages of people that belong to a round. Round 0 stands for messages that belong to no round yet.
func (w *writer) saidIn(round int) (messages []json.RawMessage, err error) {
	for _, m := range w.said {
		if m.Round != round {
			continue
		}
		message, err := w.user(m.Text)
		if err != nil {
			return nil, err
		}
		messages = append(messages, message...)
	}
	return messages, nil
}

// user returns a message of a person.
func (w *writer) user(text string) ([]json.RawMessage, error) {
	r, err := conversation.Encode(conversation.Conversation{Messages: []conversation.Message{
		{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: text}}},
	}}, w.codec, nil)
	return r.Messages, err
}

// round returns the messages of a round: what people said before it, the response, and the answers to its calls.
func (w *writer) round(r Round) ([]json.RawMessage, error) {
	messages, err := w.saidIn(r.Round)
	if err != nil {
		return nil, err
	}
	answers := r.Answers
	if r.Round < w.context.TrimmedTo {
		answers = w.trimmed(r)
	}
	var response []json.RawMessage
	if r.Format == w.codec.Format() {
		response, err = w.verbatim(r, answers)
	} else {
		response, err = w.translated(r, answers)
	}
	if err != nil {
		return nil, err
	}
	messages = append(messages, response...)
	if r.Plan.Correction == "" {
		return messages, nil
	}
	correction, err := w.user(r.Plan.Correction)
	return append(messages, correction...), err
}

// verbatim returns the messages of a round whose response is in the format of the request. They include the reasoning that the provider
// needs in the next request.
func (w *writer) verbatim(r Round, answers []wire.Answer) ([]json.RawMessage, error) {
	messages, err := turn.Items(r.Plan.Message)
	if err != nil || len(answers) == 0 {
		return messages, err
	}
	answered, err := w.codec.Answers(answers)
	return append(messages, answered...), err
}

// translated returns the messages of a round whose response is in another format: its text, its calls and their answers. A model may have
// written arguments and names that no request can have: translated replaces such arguments by {}, and changes such names.
func (w *writer) translated(r Round, answers []wire.Answer) ([]json.RawMessage, error) {
	assistant := conversation.Message{Role: conversation.Assistant}
	if r.Plan.Text != "" {
		assistant.Content = append(assistant.Content, conversation.Part{Type: conversation.Text, Text: r.Plan.Text})
	}
	for i, call := range r.Plan.Calls {
		args := json.RawMessage(call.Given)
		if len(args) > conversation.MaxArgs || strictjson.Check(args) != nil || args[0] != '{' {
			args = json.RawMessage(`{}`)
		}
		id := fmt.Sprintf("r%d-%d", r.Round, i)
		assistant.Content = append(assistant.Content, conversation.Part{Type: conversation.ToolCall, ToolCallID: id, ToolName: call.Name, Args: args})
	}
	if len(assistant.Content) == 0 {
		return nil, nil
	}
	return conversation.EncodeAnswered(assistant, answers, w.codec, wire.Repeatable)
}

// trimmed returns the answers of a round with references in place of their outputs. Answers that are trimmed already stay as they are.
func (w *writer) trimmed(r Round) []wire.Answer {
	answers := make([]wire.Answer, len(r.Answers))
	for i, a := range r.Answers {
		invocationID := ""
		if r.Round > w.copied {
			invocationID = toolspec.Identity{TenantID: w.of.TenantID, RunID: w.of.RunID, ToolCallID: r.Plan.Calls[i].Call.ToolCallID}.InvocationID()
		}
		answers[i] = trimmedAnswer(a, r.Plan.Calls[i], invocationID)
	}
	return answers
}

// trimmedAnswer returns the answer to a call with a reference in place of its output. invocationID is the id of the call. It is
// empty if this run cannot read the output of the call.
func trimmedAnswer(a wire.Answer, c PlannedCall, invocationID string) wire.Answer {
	ref := ""
	switch {
	case invocationID == "":
	case c.Call.ToolID == pawlagent.RunTool:
		ref = toolspec.AnswerRef(invocationID)
	default:
		ref = toolspec.ResultRef(invocationID)
	}
	return turn.TrimAnswer(a, ref)
}

// fit makes the messages of the rounds fit a limit, in bytes: it replaces the oldest outputs by references, and
// then leaves out the oldest rounds. It goes on until they fit three quarters of the limit, so that the
// beginning of the requests, which a provider may cache, changes seldom. The last round stays as it is. fit
// returns the messages of the rounds that are left, and notes in w.context what it has done.
func (w *writer) fit(rounds []Round, parts [][]json.RawMessage, limit int) ([][]json.RawMessage, error) {
	sum := 0
	for _, part := range parts {
		sum += size(part)
	}
	if sum <= limit {
		return parts, nil
	}
	goal := limit / 4 * 3
	for i := 0; i+1 < len(rounds) && sum > goal; i++ {
		if rounds[i].Round < w.context.TrimmedTo {
			continue
		}
		w.context.TrimmedTo = rounds[i].Round + 1
		before := size(parts[i])
		var err error
		if parts[i], err = w.round(rounds[i]); err != nil {
			return nil, err
		}
		sum += size(parts[i]) - before
	}
	out := 0
	for ; out+1 < len(rounds) && sum > goal; out++ {
		w.context.From = rounds[out].Round + 1
		sum -= size(parts[out])
	}
	return parts[out:], nil
}

// size returns the bytes of messages.
func size(messages []json.RawMessage) (n int) {
	for _, m := range messages {
		n += len(m) + 1
	}
	return n
}
