package agent

import (
	"context"
	"encoding/json"
	"time"

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// countTime bounds how long the usage of a response that does not count holds up the run.
const countTime = 10 * time.Second

// countLost adds the usage of a response that was cut, failed or given up to the totals of its run: the provider has counted it too. If the database
// does not take it, the run goes on without it.
func (a *Agents) countLost(ctx context.Context, of contract.AgentRun, model pawlagent.Model, u wire.Usage) {
	// The request may have been given up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTime)
	defer cancel()
	if err := a.Store.AddUsage(ctx, of, u, a.price(model, u)); err != nil {
		a.Log.WarnContext(ctx, "the usage of a response that was cut or failed was not counted", "workflowId", contract.Executing(ctx).WorkflowID, "reason", errs.Reason(err))
	}
}

// price returns the cost of a response, or nil for a model without a price.
func (a *Agents) price(model pawlagent.Model, u wire.Usage) *int64 {
	if a.Price == nil {
		return nil
	}
	cost, known := a.Price(model.Format, model.Name, u)
	if !known {
		return nil
	}
	return &cost
}

// estimated returns the usage of a response that no provider has counted. A token has about four bytes.
func estimated(r provider.Request, message json.RawMessage) wire.Usage {
	return wire.Usage{Input: int64(size(r.Messages)+len(r.System)+len(r.Tools)) / 4, Output: int64(len(message)) / 4}
}
