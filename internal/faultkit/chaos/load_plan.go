package chaos

import (
	"fmt"
	"math/rand/v2"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/toolspec"
)

// MaxCalls is the maximum number of calls of a run.
const MaxCalls = 100_000

// places is how many calls of a limited tool may run at the same time under load.
const places = 24

// loadRules is the policy under load. Writes take a place of a semaphore and a token of a quota.
var loadRules = fmt.Sprintf(`
version: 1
tenants:
  acme:
    allowedTools: ["chaos__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 24h, allowUnsigned: true}
    limits:
      - {tool: "chaos__put", concurrent: %d, then: wait}
      - {tool: "chaos__put", quota: {tokens: 1000000, every: 1h}}
`, places)

// loadMix returns the share of each tool under load.
func loadMix() []share {
	return []share{
		{ledger.LocalRead, 35}, {ledger.Read, 10}, {ledger.Account, 10}, {ledger.Put, 10}, {ledger.QuickPut, 10}, {ledger.Send, 10}, {ledger.Quick, 10}, {ledger.Ask, 5},
	}
}

// loadStream is the random stream of the calls under load.
const loadStream = 2

// drawLoad draws calls whose tools do not wait: what is measured is Pawl and its servers. Each approval is given at once.
func drawLoad(o Options) []PlannedCall {
	random := rand.New(rand.NewPCG(o.Seed, loadStream))
	calls := make([]PlannedCall, o.Calls)
	for i := range calls {
		id := fmt.Sprintf("l%06d", i+1)
		calls[i] = PlannedCall{ToolCallID: id, ToolID: drawFrom(random, loadMix())}
		calls[i].In.Text = "effect of " + id
		if calls[i].asked() {
			calls[i].Decisions = []PlannedDecision{{Verb: toolspec.Approve, Approver: "user:ann", Signal: random.IntN(2) == 0}}
		}
	}
	return calls
}
