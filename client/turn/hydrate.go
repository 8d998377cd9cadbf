package turn

import (
	"io"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// Hydrate hydrates the calls of a response as a worker does, and returns a result for each, in
// their order: the arguments of a call that may run, or the problems. It runs nothing and records
// nothing. specs are the tools as the caller knows them, for example from client.Catalog; a worker
// may know others.
func (t Turn) Hydrate(response io.Reader, specs []toolspec.Spec) ([]hydrate.Result, error) {
	plan, err := t.Plan(response)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]toolspec.Spec, len(specs))
	for _, s := range specs {
		byID[s.Name] = s
	}
	targets := map[string]hydrate.Target{}
	results := make([]hydrate.Result, len(plan.Calls))
	for i, p := range plan.Calls {
		target, known := targets[p.ToolID]
		if spec, published := byID[p.ToolID]; !known && published {
			if target, err = hydrate.TargetOf(spec); err != nil {
				return nil, err
			}
			targets[p.ToolID], known = target, true
		}
		results[i] = hydrate.Call(target, known, t.given(p))
	}
	return results, nil
}

// given returns the input of the hydration of a planned call.
func (t Turn) given(p PlannedCall) hydrate.Given {
	g := hydrate.Given{Provider: t.Codec.Format(), ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args, Fault: p.Call.Fault, Source: p.Call.Raw}
	if len(p.Call.Args) > maxRead {
		return g
	}
	if p.Refused != nil {
		g.Fault = p.Refused.ErrorCode
	} else if p.Call.ID != "" {
		g.ID = p.Invocation.ToolCallID // the id that the turn gave, if the provider's id cannot be used
	}
	if tool, err := t.Offer.Names.Resolve(p.Call.Name); err == nil && tool.ToolID == p.ToolID {
		g.Args = restoreArgs(tool, g.Args)
	}
	return g
}
