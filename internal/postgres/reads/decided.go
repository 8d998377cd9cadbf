package reads

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// decidedPage is the number of calls in one read.
const decidedPage = 500

// DecidedCall is a settled call with the facts that policy judged, as far as the record has
// them. The arguments are redacted. The record does not have the tools to which the run limited
// itself.
type DecidedCall struct {
	InvocationID string
	TenantID     string
	ToolID       string
	ActorID      string
	RunID        string
	ConnectionID string
	Effect       toolspec.Effect
	Risk         toolspec.Risk
	// Discovered is the digest of the definition that a server gave of the tool. It is empty for
	// other tools.
	Discovered string
	// Repaired says that the arguments were repaired.
	Repaired bool
	// NoSchema says that no schema has checked the arguments.
	NoSchema bool
	// SafeArgs is nil if the call ended before its arguments were known.
	SafeArgs json.RawMessage
	// PolicyDigest is the version that judged the call last.
	PolicyDigest string
	CreatedAt    time.Time
}

// Facts returns the facts of the call for policy. The record does not have the tags of the tool.
func (c DecidedCall) Facts() policy.Facts {
	f := policy.Facts{
		TenantID: c.TenantID, ActorID: c.ActorID, RunID: c.RunID, ConnectionID: c.ConnectionID, ToolID: c.ToolID, Effect: c.Effect, Risk: c.Risk,
		Args: c.SafeArgs, HasArgs: c.SafeArgs != nil, Repaired: c.Repaired, NoSchema: c.NoSchema, TagsUnknown: true,
	}
	if c.Discovered != "" {
		f.Discovered = &toolspec.Discovered{Digest: c.Discovered}
	}
	return f
}

// EachDecided calls f with the settled calls of a tenant that began at since or later, newest
// first, until f returns false. It leaves out calls of tools that no worker had, because policy
// did not judge them.
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
