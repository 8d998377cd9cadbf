package client

import (
	"io"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// Hydrate takes the calls of a response through the stages that a worker takes them
// through, and returns a result for each, in their order: what may run, and what is
// wrong with the others. It runs nothing and records nothing. specs are the tools
// as the caller knows them, such as those of a Catalog; a worker may know others.
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

// given is a planned call as hydration takes it.
func (t Turn) given(p PlannedCall) hydrate.Given {
	g := hydrate.Given{Provider: t.Codec.Format(), ID: p.Call.ID, Name: p.Call.Name, Args: p.Call.Args, Fault: p.Call.Fault, Source: p.Call.Raw}
	if len(p.Call.Args) > maxRead {
		return g
	}
	if p.Refused != nil {
		g.Fault = p.Refused.ErrorCode
	} else if p.Call.ID != "" {
		g.ID = p.Invocation.ToolCallID // where the provider's cannot name a call, the turn's does
	}
	if tool, err := t.Offer.Names.Resolve(p.Call.Name); err == nil && tool.ToolID == p.ToolID {
		g.Args = restored(tool, g.Args)
	}
	return g
}
