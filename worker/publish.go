package worker

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// maxLogged bounds the findings of one tool in the log.
const maxLogged = 8

// published are the tools that a worker publishes, each with its validator.
type published []toolspec.Spec

func newPublished(source *catalog.Registry, a additions) published {
	specs := source.Specs()
	for i := range specs {
		specs[i].Validator = validatorOf(specs[i], a.validators)
	}
	return specs
}

// publish publishes the tools of this worker before the worker polls for tasks. It logs the
// findings of schema.Lint for the authors of the tools.
func publish(ctx context.Context, c Config, p *presence, specs published, log *slog.Logger) error {
	for _, s := range specs {
		logFindings(ctx, log, s)
	}
	return withDatabase(ctx, c, p.publish)
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

// logFindings logs the findings of schema.Lint in the input schema of a tool.
func logFindings(ctx context.Context, log *slog.Logger, s toolspec.Spec) {
	if s.NoSchema {
		return
	}
	findings, err := schema.Lint(s.InputSchema)
	if err != nil || len(findings) == 0 {
		return // a schema that cannot be read has kept the worker from starting already
	}
	lines := make([]string, 0, maxLogged)
	for _, f := range findings[:min(len(findings), maxLogged)] {
		lines = append(lines, f.Pointer+": "+f.Text)
	}
	log.InfoContext(ctx, "the input schema of a tool has keywords that some providers do not take, or that have no effect; `pawl tools lint` lists them",
		"toolId", s.Name, "count", len(findings), "findings", lines)
}
