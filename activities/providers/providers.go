package providers

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Sessions keeps recipes for sessions. An error that a retry can correct is marked errs.Transient.
type Sessions interface {
	SessionBindings(ctx context.Context, key provide.SessionKey) ([]provide.Binding, error)
	// BindSession stores recipes. A later recipe for the same provide.Token replaces an earlier recipe. BindSession
	// returns the recipes with their versions, or none if the record has a newer epoch or is settled.
	BindSession(ctx context.Context, in SessionRow) ([]provide.Binding, error)
}

// SessionRow has recipes to store for a session. The call InvocationID, whose hooks made the recipes, stores them
// only if the record still has Epoch.
type SessionRow struct {
	InvocationID string
	Epoch        int
	Session      provide.SessionKey
	Recipes      []provide.Recipe
}

// Providers gives calls their providers. The zero value gives none.
type Providers struct {
	// Registry has the factories of this worker. It may be nil.
	Registry *provide.Registry
	// Sessions stores the recipes that hooks bind to sessions. It may be nil if Registry has no factories.
	Sessions Sessions
}

func sessionOf(c toolspec.Context) provide.SessionKey {
	return provide.SessionKey{TenantID: c.TenantID, SessionID: c.SessionID}
}

// Provide returns a context with the providers of the call in this worker. lacks names a factory
// that the bindings of the call need and this worker does not have.
func (p Providers) Provide(ctx context.Context, f hook.Facts) (_ context.Context, lacks string) {
	if factory, missing := p.Lacks(f.Bindings); missing {
		return ctx, "factory " + factory
	}
	if p.Registry == nil {
		return ctx, ""
	}
	return provide.NewContext(ctx, p.Registry.For(f.InvocationID, sessionOf(f.Context), f.Bindings)), ""
}

// Lacks returns a factory that the bindings need and this worker does not have.
func (p Providers) Lacks(bindings []provide.Binding) (factory string, lacks bool) {
	switch {
	case len(bindings) == 0:
		return "", false
	case p.Registry == nil:
		return bindings[0].Factory, true
	}
	return p.Registry.Lacks(bindings)
}

// Forget drops the values that factories made for a call that has ended.
func (p Providers) Forget(invocationID string) {
	if p.Registry != nil {
		p.Registry.Forget(invocationID)
	}
}

// Recall is Pawl's step before the hooks of willBindProviders. It loads the bindings that earlier
// calls of the session stored.
func (p Providers) Recall(ctx context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	if in.Facts.Context.SessionID != "" {
		v.Delta.Bindings, err = p.Sessions.SessionBindings(ctx, sessionOf(in.Facts.Context))
	}
	return v, err
}

// Keep is Pawl's step after the hooks of willBindProviders. It stores the bindings that the hooks made for the
// session. These have the version 0 until they are stored.
func (p Providers) Keep(ctx context.Context, in hook.StageInput, v *hook.Verdict) error {
	var recipes []provide.Recipe
	for _, b := range v.Delta.Bindings {
		if b.Scope == provide.Session && b.Version == 0 {
			recipes = append(recipes, b.Recipe)
		}
	}
	if len(recipes) == 0 {
		return nil
	}
	kept, err := p.Sessions.BindSession(ctx, SessionRow{
		InvocationID: in.Facts.InvocationID, Epoch: in.Facts.Epoch, Session: sessionOf(in.Facts.Context), Recipes: recipes,
	})
	for _, b := range kept {
		v.Delta.Bindings = provide.Bound(v.Delta.Bindings, b)
	}
	return err
}

// Capabilities returns the capabilities that a tool gets: the capabilities that its worker
// provides to all calls, except the capabilities that a provider of this call replaces. ctx is a
// context of Provide.
func Capabilities(ctx context.Context, bound *catalog.Bound) (toolspec.Capabilities, error) {
	given, err := provide.FromContext(ctx).Capabilities(ctx, bound.Definition().Capabilities)
	return bound.Capabilities().With(given...), err
}

// CallOf returns the toolspec.Call that a tool gets.
func CallOf(f hook.Facts, epoch int, caps toolspec.Capabilities, log *slog.Logger) toolspec.Call {
	return toolspec.Call{
		ToolID: f.ToolID, ToolCallID: f.ToolCallID, InvocationID: f.InvocationID, IdempotencyKey: f.InvocationID,
		Attempt: f.Attempt, Epoch: epoch, Context: f.Context,
		Logger: log.With("toolId", f.ToolID, "toolCallId", f.ToolCallID, "invocationId", f.InvocationID, "runId", f.Context.RunID),
	}.WithCapabilities(caps)
}
