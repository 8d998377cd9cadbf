package reads

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// decidedPage is how many calls are read at once.
const decidedPage = 500

// DecidedCall is a settled call as policy judged it, as far as the record knows: arguments are redacted, and what the run narrowed its
// tools to is not kept.
type DecidedCall struct {
	InvocationID string
	TenantID     string
	ToolID       string
	ActorID      string
	RunID        string
	ConnectionID string
	Effect       toolspec.Effect
	Risk         toolspec.Risk
	// Repaired says that the arguments were mended, NoSchema that nothing has checked
	// them.
	Repaired, NoSchema bool
	// SafeArgs is nil where the call ended before its arguments were known.
	SafeArgs json.RawMessage
	// PolicyDigest is the version that judged it last.
	PolicyDigest string
	CreatedAt    time.Time
}

// Facts are what policy may know of the call. The record does not have the tags of its tool.
func (c DecidedCall) Facts() policy.Facts {
	return policy.Facts{
		TenantID: c.TenantID, ActorID: c.ActorID, RunID: c.RunID, ConnectionID: c.ConnectionID, ToolID: c.ToolID, Effect: c.Effect, Risk: c.Risk,
		Args: c.SafeArgs, HasArgs: c.SafeArgs != nil, Repaired: c.Repaired, NoSchema: c.NoSchema, TagsUnknown: true,
	}
}

// EachDecided calls f with the settled calls of a tenant that began after since, the newest first, until f returns false. Calls of tools
// that no worker had are left out: nobody judged them.
func (s *Store) EachDecided(ctx context.Context, tenantID string, since time.Time, f func(DecidedCall) bool) error {
	var before *time.Time
	var beforeID *string
	for {
		calls, err := db.All[DecidedCall](ctx, s.db, "decided calls", db.Query("DecidedCalls", db.Values{
			"tenant_id": db.Text(tenantID), "since": since, "before": before, "before_id": beforeID, "max": decidedPage,
		}))
		if err != nil {
			return err
		}
		for _, c := range calls {
			if !f(c) {
				return nil
			}
		}
		if len(calls) < decidedPage {
			return nil
		}
		last := calls[len(calls)-1]
		before, beforeID = &last.CreatedAt, &last.InvocationID
	}
}
