package gate

import (
	"context"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// byKill stands in the verdict on a call that a kill switch stops: as the rule, and in place of the name of the
// hook that decided. No hook can have this name, because it has a space.
const byKill = "kill switch"

// killed returns the verdict on a call that a kill switch stops. No approval and no policy
// overrules it.
func (g *gate) killed(ctx context.Context, f hook.Facts, k hook.Kill) hook.Verdict {
	g.Log.WarnContext(ctx, "a kill switch stopped a call", append(ids(f), "switch", k.ID)...)
	return hook.Verdict{Outcome: hook.Failed, Failure: judge.KillFailure(k.Reason), By: byKill, Delta: hook.Delta{Rule: byKill}}
}
