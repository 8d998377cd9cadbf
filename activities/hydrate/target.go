package hydrate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// target describes a tool of this worker for hydration. It has no repairer, which repairArgs adds. It fails if
// Validators cannot make the validator of the tool.
func (a *Hydrator) target(bound *catalog.Bound) (hydrate.Target, error) {
	def := bound.Definition()
	t := hydrate.Target{ToolID: def.ID, ToolDigest: bound.Digest(), AllowNoSchema: def.AllowNoSchema && def.NoSchemaMode == toolspec.NoSchemaAsk, MaxArgs: def.MaxArgsBytes}
	// Without a schema there is no validator. Hydration then refuses the arguments unless
	// AllowNoSchema is set.
	if !bound.HasSchema() {
		return t, nil
	}
	t.Schema, t.SchemaHash = bound.InputSchema(), bound.SchemaHash()
	t.Validator = ownValidator{bound}
	if a.parts.Validators == nil {
		return t, nil
	}
	known, ok := a.validators.Load(t.ToolDigest)
	if !ok {
		made, err := a.parts.Validators(bound.Spec())
		// A nil validator in a target means that the tool has no schema. This tool has one.
		if err == nil && made == nil {
			err = errors.New("is nil")
		}
		if err != nil {
			return t, fmt.Errorf("validator of tool %s: %w", def.ID, err)
		}
		// Another activity may have stored a validator in the meantime. All activities use the stored validator.
		known, _ = a.validators.LoadOrStore(t.ToolDigest, made)
	}
	t.Validator, _ = known.(hydrate.Validator) // the map holds nothing else
	return t, nil
}

// ownValidator is the built-in validator. It uses the schema that was compiled when the
// tool was registered.
type ownValidator struct{ bound *catalog.Bound }

func (v ownValidator) Info() toolspec.ValidatorInfo {
	return hydrate.BuiltinInfo(toolspec.CompiledAtStartup)
}

func (v ownValidator) Validate(args json.RawMessage) []toolspec.Problem {
	return v.bound.ValidateInput(args)
}
