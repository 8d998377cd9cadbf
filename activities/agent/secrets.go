package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/workflows/contract"
)

// unclean is the reason why a response of a model is not recorded: it has a credential that cannot be taken out.
const unclean = "the response of the model has a credential in it that cannot be taken out"

// secrets returns the live secrets for package turn. A nil Set must become a nil interface.
func (a *Agents) secrets() turn.Secrets {
	if a.Secrets == nil {
		return nil
	}
	return a.Secrets
}

// holdsSecret reports whether a call of a response has a credential in it. Such a call does not start: its arguments are written into the
// history, and without the credential they are not what the model meant.
func (a *Agents) holdsSecret(c turn.PlannedCall) bool {
	if a.Secrets == nil || a.Secrets.Len() == 0 {
		return false
	}
	parts := [][]byte{[]byte(c.Call.ID), []byte(c.Call.Name), c.Call.Args, c.Call.Raw}
	return slices.ContainsFunc(parts, func(part []byte) bool { return len(a.Secrets.Find(part)) > 0 }) || len(a.Secrets.FindPieces(parts)) > 0
}

// clean returns the plan without credentials. A provider can repeat the key of the request in its response, and a model can repeat a
// credential that a tool returned by mistake. ok is false if a credential cannot be taken out.
func (a *Agents) clean(ctx context.Context, p Plan) (clean Plan, ok bool) {
	if a.Secrets == nil || a.Secrets.Len() == 0 {
		return p, true
	}
	given := make([]string, len(p.Calls))
	for i := range p.Calls {
		// In the JSON of the plan, Given is base64, in which no secret can be replaced.
		given[i] = a.Secrets.Redact(string(p.Calls[i].Given))
		p.Calls[i].Given = nil
	}
	text, err := json.Marshal(p)
	if err == nil && len(a.Secrets.Find(text)) > 0 {
		a.Log.WarnContext(ctx, "a credential stood in the response of a model, and was taken out", "workflowId", contract.Executing(ctx).WorkflowID)
		if text, ok = redact.JSON(text, a.Secrets); !ok {
			return clean, false
		}
	}
	if err != nil || json.Unmarshal(text, &clean) != nil || len(clean.Calls) != len(given) {
		return clean, false
	}
	for i := range clean.Calls {
		if given[i] != "" {
			clean.Calls[i].Given = []byte(given[i])
		}
	}
	return clean, true
}
