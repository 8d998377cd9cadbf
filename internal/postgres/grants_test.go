package postgres_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
)

// TestGrantsForTheArguments: however many approvals of a tool people remember for other arguments, the approval for the arguments of the call is found. An
// approval for any arguments is found too.
func TestGrantsForTheArguments(t *testing.T) {
	b := open(t)
	grant := `INSERT INTO approval_grants (tenant_id, tool_id, granted, args_digest, approver, approval_id, expires_at)
		SELECT $1, 'core__write_file', '{}', $2::text || n::text, 'user:bob', $3::text || n::text, now() + interval '1 hour' FROM generate_series(1, $4::integer) n`
	b.sql(grant, tenant, "other-", "others.", 300)
	b.sql(grant, tenant, "own-", "own.", 1)
	b.sql(grant, tenant, nil, "any.", 1)
	grants, err := b.Grants(t.Context(), approval.GrantQuery{TenantID: tenant, ToolID: "core__write_file", ActorID: "user:ann", ArgsDigest: "own-1"})
	if err != nil || len(grants) != 2 {
		t.Fatalf("got %d grants, %v", len(grants), err)
	}
	found := map[string]bool{grants[0].ArgsDigest: true, grants[1].ArgsDigest: true}
	if !found["own-1"] || !found[""] {
		t.Errorf("got %+v", grants)
	}
}
