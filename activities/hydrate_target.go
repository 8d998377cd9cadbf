package activities

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// target is a tool of this worker as hydration knows it, without a repairer.
func (a *Activities) target(bound *catalog.Bound) (hydrate.Target, error) {
	def := bound.Definition()
	t := hydrate.Target{ToolID: def.ID, ToolDigest: bound.Digest(), AllowNoSchema: def.AllowNoSchema && def.NoSchemaMode == toolspec.NoSchemaAsk, MaxArgs: def.MaxArgsBytes}
	if !bound.HasSchema() {
		return t, nil
	}
	t.Schema, t.SchemaHash = bound.InputSchema(), bound.SchemaHash()
	t.Validator = ownValidator{bound}
	if a.config.Validators == nil {
		return t, nil
	}
	known, ok := a.validators.Load(t.ToolDigest)
	if !ok {
		made, err := a.config.Validators(bound.Spec())
		if err == nil && made == nil {
			err = errors.New("is nil")
		}
		if err != nil {
			return t, fmt.Errorf("validator of tool %s: %w", def.ID, err)
		}
		known, _ = a.validators.LoadOrStore(t.ToolDigest, made)
	}
	t.Validator, _ = known.(hydrate.Validator) // nothing else is kept there
	return t, nil
}

// ownValidator checks against the schema that was compiled when the tool was
// registered.
type ownValidator struct{ bound *catalog.Bound }

func (v ownValidator) Info() toolspec.ValidatorInfo {
	return hydrate.BuiltinInfo(toolspec.CompiledAtStartup)
}

func (v ownValidator) Validate(args json.RawMessage) []toolspec.Problem {
	return v.bound.ValidateInput(args)
}
