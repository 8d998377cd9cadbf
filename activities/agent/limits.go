package agent

import (
	"fmt"
	"regexp"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// endByLimit returns how a run ends that has used up a limit, or nil.
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

// limitError says that a request would use more of a limit than the run has left. Its text is safe to show.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

// LogReason returns the same text as Error.
func (e *limitError) LogReason() string { return e.reason }

// bound bounds the response to a request by what the run has left of its limits of tokens and cost, without the estimated input of the
// request. If less than leastOutput is left, the error is a *limitError.
func (a *Agents) bound(r *provider.Request, run Run, model pawlagent.Model) error {
	within := func(most int64, unit string, limit any) error {
		if most < leastOutput {
			return &limitError{fmt.Sprintf("the next request would use more than is left of the run's limit of %s: %v", unit, limit)}
		}
		r.MaxTokens = int(min(int64(r.MaxTokens), most))
		return nil
	}
	l, used, input := run.Document.Limits, run.Totals, estimateInput(*r)
	if l.Tokens > 0 {
		if err := within(int64(l.Tokens)-used.Tokens()-input, "tokens", l.Tokens); err != nil {
			return err
		}
	}
	if l.MicroUSD == 0 {
		return nil
	}
	estimated := wire.Usage{Reported: true, Input: input}
	if used.CacheReadTokens > 0 { // the provider keeps the beginning of the requests
		estimated = wire.Usage{Reported: true, CacheRead: input}
	}
	cost := a.price(model, estimated)
	million := a.price(model, wire.Usage{Reported: true, Output: 1_000_000})
	if cost == nil || million == nil {
		return unusable("the run has a limit of cost, and the worker's table of prices has no price of the model %s", model.Name)
	}
	left := l.MicroUSD - used.MicroUSD - *cost
	if *million == 0 && left >= 0 {
		return nil
	}
	return within(int64(float64(left)*1_000_000/float64(*million)), "cost in millionths of a dollar", l.MicroUSD)
}

// base64Data finds the content of a file in a message, and dataTokens is an estimate of its tokens: providers count an image by its
// size in pixels, and not by its bytes.
var base64Data = regexp.MustCompile(`[A-Za-z0-9+/_-]{1000,}`)

const dataTokens = 1500

// estimateInput estimates the tokens of a request. A token has about four bytes.
func estimateInput(r provider.Request) int64 {
	n := len(r.System) + len(r.Tools)
	for _, m := range r.Messages {
		n += len(m)
		for _, at := range base64Data.FindAllIndex(m, -1) {
			n -= max(at[1]-at[0]-4*dataTokens, 0)
		}
	}
	return int64(n) / 4
}
