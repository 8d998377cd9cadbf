package activities

import (
	"context"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// Sessions keeps recipes for sessions. An error that passes by itself is marked
// errs.Transient.
type Sessions interface {
	SessionBindings(ctx context.Context, key provide.SessionKey) ([]provide.Binding, error)
	// BindSession keeps recipes, the last write wins, and returns them with their
	// versions: none where the record has a newer epoch or is settled.
	BindSession(ctx context.Context, in SessionRow) ([]provide.Binding, error)
}

// SessionRow binds recipes for a session, by a call in its epoch.
type SessionRow struct {
	InvocationID string
	Epoch        int
	Session      provide.SessionKey
	Recipes      []provide.Recipe
}

func sessionOf(c toolspec.Context) provide.SessionKey {
	return provide.SessionKey{TenantID: c.TenantID, SessionID: c.SessionID}
}

// provided returns a context with what the call is provided with here. lacks
// names a factory that its bindings need and this worker does not have.
func (a *Activities) provided(ctx context.Context, f hook.Facts) (_ context.Context, lacks string) {
	r := a.config.Providers
	switch {
	case r == nil && len(f.Bindings) > 0:
		return ctx, "factory " + f.Bindings[0].Factory
	case r == nil:
		return ctx, ""
	}
	if factory, missing := r.Lacks(f.Bindings); missing {
		return ctx, "factory " + factory
	}
	return provide.NewContext(ctx, r.For(f.InvocationID, sessionOf(f.Context), f.Bindings)), ""
}

// lacks names a factory that a hook bound and nobody registered here.
func (a *Activities) lacks(bindings []provide.Binding) (factory string, lacks bool) {
	switch {
	case len(bindings) == 0:
		return "", false
	case a.config.Providers == nil:
		return bindings[0].Factory, true
	}
	return a.config.Providers.Lacks(bindings)
}

// unknownFactory ends a call whose hook binds what its own worker cannot make:
// that is a fault of the program, and no other worker is waited for.
func unknownFactory(in hook.StageInput, factory string, v hook.Verdict) hook.Verdict {
	return hook.Verdict{Outcome: hook.Failed, By: v.By, DurationUs: v.DurationUs, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: "a hook binds the factory " + factory + ", which this worker does not have: name it in worker.Providers",
		Details: &toolspec.Details{Stage: string(in.Stage)},
	}}
}

// recall is Pawl's step before the hooks of willBindProviders. It finds what earlier calls
// bound for the session.
func (a *Activities) recall(ctx context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	if in.Facts.Context.SessionID != "" {
		v.Delta.Bindings, err = a.config.Sessions.SessionBindings(ctx, sessionOf(in.Facts.Context))
	}
	return v, err
}

// keep is Pawl's step after them. It stores what they bound for the session.
func (a *Activities) keep(ctx context.Context, in hook.StageInput, v *hook.Verdict) error {
	var recipes []provide.Recipe
	for _, b := range v.Delta.Bindings {
		if b.Scope == provide.Session && b.Version == 0 {
			recipes = append(recipes, b.Recipe)
		}
	}
	if len(recipes) == 0 {
		return nil
	}
	kept, err := a.config.Sessions.BindSession(ctx, SessionRow{
		InvocationID: in.Facts.InvocationID, Epoch: in.Facts.Epoch, Session: sessionOf(in.Facts.Context), Recipes: recipes,
	})
	for _, b := range kept {
		v.Delta.Bindings = provide.Bound(v.Delta.Bindings, b)
	}
	return err
}

// capabilities are what a tool gets: what its worker provides to all, and in the
// place of it what is provided for this call.
func capabilities(ctx context.Context, bound *catalog.Bound) (toolspec.Capabilities, error) {
	given, err := provide.FromContext(ctx).Capabilities(ctx, bound.Definition().Capabilities)
	return bound.Capabilities().With(given...), err
}
