package presence

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
)

const (
	// maxLogged bounds the findings of one tool in the log, and the tools that one line names.
	maxLogged = 8
	// maxPointer bounds the place of a finding in the log, in bytes.
	maxPointer = 300
	// maxLinted bounds the tools whose findings one publication logs.
	maxLinted = 20
)

// published knows the tools that a worker publishes, each with its validator. It is not safe for
// concurrent use.
type published struct {
	tools   *catalog.Registry
	compile func(toolspec.Spec) (hydrate.Validator, error)
	log     *slog.Logger
	// validators are the validators of the tools that were published last, by tool and schema.
	validators map[string]*toolspec.ValidatorInfo
}

// specs returns the tools that the worker has now. It logs the findings of schema.Lint in new schemas
// for the authors of the tools.
func (p *published) specs(ctx context.Context) []toolspec.Spec {
	specs := p.tools.Specs()
	validators := make(map[string]*toolspec.ValidatorInfo, len(specs))
	linted := 0
	for i, s := range specs {
		key := s.Name + " " + s.SchemaHash
		validator, known := p.validators[key]
		if !known {
			if len(findings(s)) > 0 {
				if linted++; linted <= maxLinted {
					logFindings(ctx, p.log, s)
				}
			}
			validator = validatorOf(s, p.compile)
		}
		validators[key], specs[i].Validator = validator, validator
	}
	if linted > maxLinted {
		p.log.InfoContext(ctx, "more input schemas have keywords that some providers do not take, or that have no effect; `pawl tools lint` lists them", "tools", linted-maxLinted)
	}
	p.validators = validators
	return specs
}

// validatorOf describes the validator of a tool. It returns nil if the tool has no schema or if
// its validator cannot be made; in the second case each call of the tool fails with the reason.
func validatorOf(s toolspec.Spec, compile func(toolspec.Spec) (hydrate.Validator, error)) (info *toolspec.ValidatorInfo) {
	// compile is code of the user. A panic in it must fail the calls of the tool, not the start of
	// the worker.
	defer func() {
		if recover() != nil {
			info = nil
		}
	}()
	if s.NoSchema {
		return nil
	}
	made := hydrate.BuiltinInfo(toolspec.CompiledAtStartup)
	if compile != nil {
		v, err := compile(s)
		if err != nil || v == nil {
			return nil
		}
		made = v.Info()
	}
	return &made
}

// findings returns the findings of schema.Lint in the input schema of a tool.
func findings(s toolspec.Spec) []schema.Finding {
	if s.NoSchema {
		return nil
	}
	found, err := schema.Lint(s.InputSchema)
	if err != nil {
		return nil // the worker does not offer a tool whose schema cannot be read
	}
	return found
}

// logFindings logs the findings in the input schema of a tool.
func logFindings(ctx context.Context, log *slog.Logger, s toolspec.Spec) {
	found := findings(s)
	if len(found) == 0 {
		return
	}
	lines := make([]string, 0, maxLogged)
	for _, f := range found[:min(len(found), maxLogged)] {
		lines = append(lines, toolspec.Printable(f.Pointer, maxPointer)+": "+f.Text)
	}
	log.InfoContext(ctx, "the input schema of a tool has keywords that some providers do not take, or that have no effect; `pawl tools lint` lists them",
		"toolId", s.Name, "count", len(found), "findings", lines)
}
