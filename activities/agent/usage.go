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

// countTime bounds the write of countLost. The run waits for this write.
const countTime = 10 * time.Second

// countLost adds the usage of a response that is not recorded as a round to the totals of the run, because the
// provider has counted this usage too. If the write fails, the totals lack it.
func (a *Agents) countLost(ctx context.Context, of contract.AgentRun, model pawlagent.Model, u wire.Usage) {
	// ctx may have ended already.
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

// estimateUsage estimates the usage of a response if the provider has reported none. A token has about four bytes. Unlike
// estimateInput, it counts all bytes of a file, because a limit must hold.
func estimateUsage(r provider.Request, message json.RawMessage) wire.Usage {
	return wire.Usage{Input: int64(size(r.Messages)+len(r.System)+len(r.Tools)) / 4, Output: int64(len(message)) / 4}
}
