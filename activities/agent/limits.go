package agent

import (
	"encoding/json"
	"fmt"
	"regexp"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// endByLimit returns how the run must end because it has used up a limit, or nil if no limit is used up.
func endByLimit(run Run) *contract.AgentEnd {
	over := func(unit string, limit any) *contract.AgentEnd {
		return &contract.AgentEnd{Outcome: pawlagent.OverBudget, Reason: fmt.Sprintf("the run has used its %s: %v", unit, limit)}
	}
	switch l, used := run.Document.Limits, run.Totals; {
	case used.Rounds >= l.Rounds:
		return over("rounds", l.Rounds)
	case l.Calls > 0 && used.Calls >= l.Calls:
		return over("calls", l.Calls)
	case l.Tokens > 0 && used.Tokens() >= int64(l.Tokens):
		return over("tokens", l.Tokens)
	case l.MicroUSD > 0 && used.MicroUSD >= l.MicroUSD:
		return over("cost in millionths of a dollar", l.MicroUSD)
	case l.MicroUSD > 0 && used.Unpriced > 0:
		return &contract.AgentEnd{Outcome: pawlagent.Failed, Reason: "the run has a limit of cost, and the cost of a response is not known"}
	}
	return nil
}

// leastOutput is the least bound of a response, in tokens. Providers refuse a smaller bound.
const leastOutput = 16

// leastOf returns the smallest bound of a response, in tokens, that the provider of the model accepts. Anthropic refuses a bound that is not
// above the budget of the thinking.
func leastOf(model pawlagent.Model) int64 {
	var thinking struct {
		Budget int64 `json:"budget_tokens"`
	}
	if json.Unmarshal(model.Members["thinking"], &thinking) != nil {
		return leastOutput
	}
	return max(leastOutput, thinking.Budget+1)
}

// bound lowers r.MaxTokens to what the run has left of its limits of tokens and cost after the estimated input of the request. It returns the
// name of the limit that has lowered r.MaxTokens, or "". inputCached says that the provider has probably cached the input, which then costs
// less. If too little is left for a response, the error is an *unusableError with overBudget.
func (a *Agents) bound(r *provider.Request, run Run, model pawlagent.Model, inputCached bool) (limited string, err error) {
	limitTo := func(most int64, unit string, limit any) error {
		name := fmt.Sprintf("%s: %v", unit, limit)
		if most < leastOf(model) {
			return &unusableError{reason: fmt.Sprintf("the next request would use more than is left of the run's limit of %s", name), overBudget: true}
		}
		if most < int64(r.MaxTokens) {
			r.MaxTokens, limited = int(most), name
		}
		return nil
	}
	l, used, input := run.Document.Limits, run.Totals, estimateInput(*r)
	if l.Tokens > 0 {
		if err := limitTo(int64(l.Tokens)-used.Tokens()-input, "tokens", l.Tokens); err != nil {
			return "", err
		}
	}
	if l.MicroUSD == 0 {
		return limited, nil
	}
	estimated := wire.Usage{Reported: true, Input: input}
	if inputCached {
		estimated = wire.Usage{Reported: true, CacheRead: input}
	}
	inputCost := a.price(model, estimated)
	millionCost := a.price(model, wire.Usage{Reported: true, Output: 1_000_000})
	if inputCost == nil || millionCost == nil {
		return "", unusable("the run has a limit of cost, and the worker's table of prices has no price of the model %s", model.Name)
	}
	left := l.MicroUSD - used.MicroUSD - *inputCost
	if *millionCost == 0 && left >= 0 {
		return limited, nil
	}
	err = limitTo(int64(float64(left)*1_000_000/float64(*millionCost)), "cost in millionths of a dollar", l.MicroUSD)
	return limited, err
}

// isInputCached reports whether the provider has probably cached the input of the next request: it had cached a part of the last request, to
// the same model. A provider keeps the beginning of a request for some minutes, and the next request begins in the same way.
func isInputCached(past Conversation, model pawlagent.Model) bool {
	if len(past.Rounds) == 0 {
		return false
	}
	last := past.Rounds[len(past.Rounds)-1]
	return last.Format == model.Format && last.Model == model.Name && last.Usage.CacheRead > 0
}

// fileData finds the content of an image or another file in a message, in the form of each format. A text of a tool cannot have this form,
// because its quotes are escaped.
var fileData = regexp.MustCompile(`"(?:data|url|image_url|file_data)":"(?:data:[^"]*;base64,)?[A-Za-z0-9+/=_-]{1000,}"|"images":\["[A-Za-z0-9+/=]{1000,}"`)

// dataTokens is an estimate of the tokens of a file: providers count an image by its size in pixels, and not by its bytes.
const dataTokens = 1500

// estimateInput estimates the tokens of a request before it is sent. A token has about four bytes.
func estimateInput(r provider.Request) int64 {
	n := len(r.System) + len(r.Tools)
	for _, m := range r.Messages {
		n += len(m)
		for _, at := range fileData.FindAllIndex(m, -1) {
			n -= max(at[1]-at[0]-4*dataTokens, 0)
		}
	}
	return int64(n) / 4
}
