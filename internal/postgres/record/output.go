package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/toolspec"
)

// SaveOutput stores a redacted value of an open call and returns an opaque reference to it. A
// second value for the same invocation, dispatch and claim overwrites the first. If the call is
// settled, SaveOutput changes nothing and returns an error that is not transient.
func (s *Store) SaveOutput(ctx context.Context, in attempt.OutputRow) (ref string, err error) {
	const op = "save output"
	ref = fmt.Sprintf("%s.out.%d", in.InvocationID, in.Dispatch)
	if in.ClaimID != "" {
		ref += "." + in.ClaimID
	}
	saved, err := s.db.Exec(ctx, op, db.Query("SaveOutput", db.Values{
		"ref": ref, "invocation_id": in.InvocationID, "tenant_id": in.TenantID, "dispatch": in.Dispatch, "value": db.Document(in.Value),
	}))
	if err == nil && saved == 0 {
		err = &db.Error{Op: op, State: "the call is not open"}
	}
	if err != nil {
		return "", err
	}
	return ref, nil
}

type outputRow struct {
	Value json.RawMessage
}

// Output returns the value of a reference from SaveOutput, or the value in the result of a
// settled call (toolspec.ResultRef). It returns ErrNotFound if there is no such value.
func (s *Store) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	if invocationID, ok := toolspec.SplitResultRef(ref); ok {
		return s.settledValue(ctx, tenantID, invocationID)
	}
	row, found, err := db.First[outputRow](ctx, s.db, "output", db.Query("Output", db.Values{"ref": db.Text(ref), "tenant_id": db.Text(tenantID)}))
	if err == nil && !found {
		err = db.ErrNotFound
	}
	return row.Value, err
}

type settledValueRow struct {
	Result json.RawMessage
}

func (s *Store) settledValue(ctx context.Context, tenantID, invocationID string) (json.RawMessage, error) {
	const op = "output of a result"
	row, found, err := db.First[settledValueRow](ctx, s.db, op, db.Query("SettledValue", db.Values{"invocation_id": invocationID, "tenant_id": db.Text(tenantID)}))
	if err != nil {
		return nil, err
	}
	var result toolspec.Result
	if !found {
		return nil, db.ErrNotFound
	}
	if err := json.Unmarshal(row.Result, &result); err != nil {
		return nil, fmt.Errorf("postgres: %s: %w", op, err)
	}
	if len(result.Value) == 0 {
		return nil, db.ErrNotFound
	}
	return result.Value, nil
}
