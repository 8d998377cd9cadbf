package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows"
)

// kindMissingConnection refines `validation` (contradiction C-10).
const kindMissingConnection = "missing_connection"

// Hydrate parses arguments, validates them against the tool's schema and gives
// the view of them that people and records may see.
func (a *Activities) Hydrate(_ context.Context, in workflows.HydrateIn) (workflows.HydrateOut, error) {
	started := time.Now()
	bound, ok := a.source.Get(in.ToolID)
	switch {
	case newer(in.PlanVersion):
		return workflows.HydrateOut{Outcome: workflows.NotHere, By: planName(in.PlanVersion)}, nil
	case !ok:
		return workflows.HydrateOut{Outcome: workflows.NotHere, By: "tool " + in.ToolID}, nil
	}
	out := a.hydrate(bound, in)
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

func (a *Activities) hydrate(bound *catalog.Bound, in workflows.HydrateIn) workflows.HydrateOut {
	raw := in.Args
	if in.Input != nil {
		inv, fault := hydrate.Decode(in.Input)
		if fault != nil {
			return refused(failureOf(fault))
		}
		if f := checkConnection(bound, inv.Context); f != nil {
			return refused(f)
		}
		raw = inv.Args
	}
	args, safe, failure := checkArgs(bound, raw)
	if failure != nil {
		return refused(failure)
	}
	history, err := []json.RawMessage(nil), error(nil)
	if in.SafeArgs != nil {
		// What was masked stays so, whatever the tool says now.
		safe, err = bound.SafeArgs(in.SafeArgs)
	}
	if err == nil {
		history, err = masked(bound, in.SafeHistory)
	}
	if err != nil {
		return refused(&hook.Failure{Code: toolspec.CodeRedactionFailed, SafeMessage: "the arguments could not be redacted"})
	}
	def := bound.Definition()
	repeatable := def.Repeatable()
	return workflows.HydrateOut{
		Outcome: workflows.Done, Args: args, SafeArgs: safe, SafeHistory: history,
		ToolDigest: bound.Digest(), Effect: def.Effect, Risk: def.Risk, Repeatable: &repeatable,
	}
}

// masked masks views of arguments once more. It returns nil where that changes
// none of them.
func masked(bound *catalog.Bound, views []json.RawMessage) ([]json.RawMessage, error) {
	again, differ := make([]json.RawMessage, len(views)), false
	for i, view := range views {
		again[i] = view
		if len(view) == 0 || string(view) == "null" {
			continue
		}
		safe, err := bound.SafeArgs(view)
		if err != nil {
			return nil, err
		}
		again[i], differ = safe, differ || !bytes.Equal(safe, view)
	}
	if !differ {
		return nil, nil
	}
	return again, nil
}

func refused(f *hook.Failure) workflows.HydrateOut {
	return workflows.HydrateOut{Outcome: workflows.Refused, Failure: f}
}

// checkConnection stands before validation: a tool that needs a connection does
// not say anything about its arguments without one (CONNECTION_ID_VIA_CONTEXT).
func checkConnection(bound *catalog.Bound, c toolspec.Context) *hook.Failure {
	if !bound.Definition().RequiresConnection {
		return nil
	}
	if c.ConnectionID == "" {
		return &hook.Failure{
			Code: toolspec.CodeValidation, SafeMessage: "the tool needs context.connectionId",
			Details: &toolspec.Details{Path: "/context/connectionId", Kind: kindMissingConnection},
		}
	}
	return nil // the gate has looked for a grant
}

// checkArgs parses and validates; the order of its checks decides the code.
func checkArgs(bound *catalog.Bound, raw json.RawMessage) (args, safe json.RawMessage, f *hook.Failure) {
	most := bound.Definition().MaxArgsBytes
	if len(raw) > most {
		return nil, nil, tooLarge(most)
	}
	args, fault := hydrate.Args(raw)
	if fault != nil {
		return nil, nil, failureOf(fault)
	}
	// The canonical form of 1e20 is five times as long.
	if len(args) > most {
		return nil, nil, tooLarge(most)
	}
	if problems := bound.ValidateInput(args); len(problems) > 0 {
		return nil, nil, &hook.Failure{
			Code: toolspec.CodeValidation, SafeMessage: problems[0].Message,
			Details: &toolspec.Details{Path: problems[0].Path, Kind: problems[0].Kind, Problems: problems},
		}
	}
	safe, err := bound.SafeArgs(args)
	if err != nil {
		return nil, nil, &hook.Failure{Code: toolspec.CodeRedactionFailed, SafeMessage: "the arguments could not be redacted"}
	}
	return args, safe, nil
}

func tooLarge(most int) *hook.Failure {
	return &hook.Failure{
		Code: toolspec.CodeValidation, SafeMessage: fmt.Sprintf("the arguments are larger than %d bytes", most),
		Details: &toolspec.Details{Kind: hydrate.KindTooLarge},
	}
}
