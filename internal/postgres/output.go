package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/activities"
)

// SaveOutput keeps a redacted value of an open call and returns its reference, which is opaque. The same (invocation, dispatch)
// overwrites. A call that is settled keeps what it has; the error is not transient.
func (s *Store) SaveOutput(ctx context.Context, in activities.OutputRow) (ref string, err error) {
	const op = "save output"
	ref = fmt.Sprintf("%s.out.%d", in.InvocationID, in.Dispatch)
	saved, err := s.exec(ctx, op, step{"SaveOutput", named{
		"ref": ref, "invocation_id": in.InvocationID, "tenant_id": in.TenantID, "dispatch": in.Dispatch, "value": document(in.Value),
	}})
	if err == nil && saved == 0 {
		err = &Error{Op: op, State: "the call is not open"}
	}
	if err != nil {
		return "", err
	}
	return ref, nil
}

type outputRow struct {
	Value json.RawMessage
}

// Output returns a value that SaveOutput kept, or ErrNotFound.
func (s *Store) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	row, found, err := first[outputRow](ctx, s, "output", step{"Output", named{"ref": text(ref), "tenant_id": text(tenantID)}})
	if err == nil && !found {
		err = ErrNotFound
	}
	return row.Value, err
}
