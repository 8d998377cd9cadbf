package agent

import (
	"encoding/json"
	"fmt"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// plan returns the plan of a response for the record. A call that may not start has the reason in Refused.
func (a *Agents) plan(run Run, planned turn.Plan) Plan {
	p := Plan{Message: planned.Response.Message, Text: planned.Response.Text, Finish: planned.Response.Finish}
	allowed, started, bytes := tools(run), run.Totals.Calls, 0
	for _, c := range planned.Calls {
		call := PlannedCall{ID: c.Call.ID, Name: c.Call.Name, Given: c.Call.Args, Hint: c.Hint, Refused: c.Refused, Call: contract.AgentCall{Same: c.Same, Alone: c.Alone}}
		if call.Refused == nil && c.Same < 0 { // a call with Same gets the answer of an earlier call
			inv := c.Invocation
			bytes += encodedLen(inv.Args)
			switch {
			case a.holdsSecret(c):
				call.refuse(toolspec.CodeValidation, "The call has a credential in it; send it again without the credential")
			case len(allowed) == 0:
				call.refuse(toolspec.CodePolicyDenied, "")
			case inv.ToolID == pawlagent.RunTool && !run.allows(inv.Args):
				call.refuse(toolspec.CodePolicyDenied, "This agent is not one of those that you may run")
			case run.Document.Limits.Calls > 0 && started >= run.Document.Limits.Calls:
				call.refuse(toolspec.CodeRateLimited, "The run has used its tool calls")
			case bytes > maxCallBytes:
				call.refuse(toolspec.CodeValidation, "The arguments of all calls of this response together are too large; send fewer calls at once")
			default:
				started++
				call.Call.ToolID, call.Call.ToolCallID, call.Call.Args, call.Call.ConnectionID = inv.ToolID, inv.ToolCallID, inv.Args, inv.Context.ConnectionID
				call.Call.Ends = inv.ToolID == pawlagent.DoneTool
				if inv.Provider != nil && encodedLen(inv.Provider.ToolCall)+bytes <= maxCallBytes {
					call.Call.Provider, bytes = inv.Provider, bytes+encodedLen(inv.Provider.ToolCall)
				}
			}
		}
		p.Calls = append(p.Calls, call)
	}
	switch {
	case len(p.Calls) > 0:
	case p.Finish == wire.FinishOther && p.Text == "":
		// If Gemini cannot read the arguments of a call, its response has neither the call nor a text.
		p.Correction = "Your last response had neither a text nor a call that can be read. Send it again."
	case len(run.Document.Output) > 0 && p.Finish == wire.FinishStop:
		p.Value, p.Correction = readOutput(run.Document.Output, p.Text)
	}
	return p
}

// encodedLen returns the length of JSON in the input of a workflow, in bytes. The SDK escapes <, > and & there, each with six bytes.
func encodedLen(raw json.RawMessage) int {
	encoded, err := json.Marshal(raw)
	if err != nil {
		return len(raw)
	}
	return len(encoded)
}

func (c *PlannedCall) refuse(code toolspec.Code, message string) {
	result := toolspec.Failure(code, message, nil)
	c.Refused = &result
}

// readOutput returns the final answer as JSON that is valid for the schema, or a correction that tells the model the fault.
func readOutput(schema json.RawMessage, text string) (value json.RawMessage, correction string) {
	value = json.RawMessage(text)
	compiled, err := jsonschema.CompileValue(schema)
	switch {
	case err != nil:
		return nil, "" // the schema was checked with the document; if it does not compile here, the answer counts as a text
	case strictjson.Check(value) != nil:
		return nil, "Your final answer must be JSON of the schema that the instructions name, and nothing else: no text around it and no code fence."
	}
	if problems := compiled.Validate(value); len(problems) > 0 {
		return nil, fmt.Sprintf("Your final answer does not fit its JSON Schema. Send all of it again. The first problem is at %q: %s", problems[0].Path, problems[0].Message)
	}
	return value, ""
}

// started counts the calls of a plan that start.
func (p Plan) started() (n int) {
	for _, c := range p.Calls {
		if c.Call.ToolCallID != "" {
			n++
		}
	}
	return n
}

// Started counts the calls of the round that start.
func (r Round) Started() int { return r.Plan.started() }

// roundOut returns what the activity Round answers for a recorded round.
func roundOut(run Run, r Round) contract.AgentRoundOut {
	// After a reset, the workflow reads rounds again that did not end the turn: people said something, and later rounds followed.
	hasFollower := r.Round < run.Round
	out := contract.AgentRoundOut{Recorded: true, Taken: run.Taken, Again: r.Plan.Correction != "" || hasFollower}
	if r.Plan.OverBudget != "" && !hasFollower {
		out.End = &contract.AgentEnd{Outcome: pawlagent.OverBudget, Reason: r.Plan.OverBudget}
	}
	if len(r.Plan.Calls) > 0 && r.Answers != nil {
		out.Answered = true
		_, ends := r.doneMessage()
		out.Final = ends && !hasFollower
		return out // without the calls, because they have answers
	}
	for _, c := range r.Plan.Calls {
		out.Calls = append(out.Calls, c.Call)
	}
	return out
}

// doneMessage returns the message with which a call of core__done has ended the run.
func (r Round) doneMessage() (text string, ended bool) {
	for i, c := range r.Plan.Calls {
		if c.Call.Ends && i < len(r.Answers) && !r.Answers[i].IsError {
			if json.Unmarshal(r.Answers[i].Content, &text) != nil {
				text = string(r.Answers[i].Content)
			}
			return text, true
		}
	}
	return "", false
}

// turnPlan returns the plan of the round as a plan of package turn, which makes the answers from it.
func (r Round) turnPlan() turn.Plan {
	p := turn.Plan{Response: wire.Response{Message: r.Plan.Message, Text: r.Plan.Text}}
	for i, c := range r.Plan.Calls {
		call := wire.Call{Index: i, ID: c.ID, Name: c.Name, Args: c.Given}
		p.Response.Calls = append(p.Response.Calls, call)
		p.Calls = append(p.Calls, turn.PlannedCall{Call: call, ToolID: c.Call.ToolID, Refused: c.Refused, Same: c.Call.Same, Hint: c.Hint, Alone: c.Call.Alone})
	}
	return p
}
