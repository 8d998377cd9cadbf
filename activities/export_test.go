package activities

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// Permit gives a permit as the last stage of the gate does.
func (a *Activities) Permit(ctx context.Context, f hook.Facts, t hook.Terms) (json.RawMessage, error) {
	var v hook.Verdict
	err := a.permit(ctx, hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Facts: f, Terms: &t}, &v)
	return v.Permit, err
}

// Permits checks one as an attempt does.
func (a *Activities) Permits(ctx context.Context, permit json.RawMessage, f hook.Facts, t hook.Terms) (bool, error) {
	_, ok, err := a.permits(ctx, permit, f, t)
	return ok, err
}
