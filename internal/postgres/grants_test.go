package postgres_test

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/workflows/contract"
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

// TestLiveGrants: a call finds the remembered approvals of its tenant and tool that have not ended, are not revoked, and are for everybody or for its actor and session.
func TestLiveGrants(t *testing.T) {
	b := open(t)
	for name, columns := range map[string]string{
		"everybody":         `'acme', 'core__write_file', NULL, NULL, now() + interval '1 hour', NULL`,
		"actor and session": `'acme', 'core__write_file', 'user:ann', 's1', now() + interval '1 hour', NULL`,
		"other tenant":      `'globex', 'core__write_file', NULL, NULL, now() + interval '1 hour', NULL`,
		"other tool":        `'acme', 'core__read_file', NULL, NULL, now() + interval '1 hour', NULL`,
		"other actor":       `'acme', 'core__write_file', 'user:bob', NULL, now() + interval '1 hour', NULL`,
		"other session":     `'acme', 'core__write_file', NULL, 's2', now() + interval '1 hour', NULL`,
		"ended":             `'acme', 'core__write_file', NULL, NULL, now() - interval '1 second', NULL`,
		"revoked":           `'acme', 'core__write_file', NULL, NULL, now() + interval '1 hour', 'user:ann'`,
	} {
		b.sql(`INSERT INTO approval_grants (approver, approval_id, granted, tenant_id, tool_id, actor_id, session_id, expires_at, revoked_by, revoked_at)
			SELECT $1, $1, '{}', c.*, CASE WHEN c.revoked_by IS NOT NULL THEN now() END FROM (SELECT `+columns+`) AS c (tenant_id, tool_id, actor_id, session_id, expires_at, revoked_by)`, name)
	}
	live := func() (names []string) {
		t.Helper()
		grants, err := b.Grants(t.Context(), approval.GrantQuery{TenantID: tenant, ToolID: "core__write_file", ActorID: "user:ann", SessionID: "s1"})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range grants {
			names = append(names, g.Approver)
		}
		return slices.Sorted(slices.Values(names))
	}
	if got := live(); !slices.Equal(got, []string{"actor and session", "everybody"}) {
		t.Errorf("found %q", got)
	}
	// An operator sees all grants of the tenant, and takes back only those.
	all, err := b.ListGrants(t.Context(), tenant)
	if err != nil || len(all) != 7 {
		t.Errorf("listed %d, %v", len(all), err)
	}
	ids := map[string]string{}
	for _, g := range all {
		if ids[g.Approver] = g.ID; g.Uses != 0 || g.Expired != (g.Approver == "ended") || (g.RevokedAt != nil) != (g.Approver == "revoked") {
			t.Errorf("listed %+v", g)
		}
	}
	b.admit("uses")
	b.request(requestRow("uses", 1))
	b.sql(`UPDATE approvals SET remembered = $1::uuid`, ids["everybody"])
	if all, err = b.ListGrants(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if (g.Uses == 1) != (g.Approver == "everybody") || g.Uses > 1 {
			t.Errorf("%s was used %d times", g.Approver, g.Uses)
		}
	}
	if revoked, err := b.RevokeGrant(t.Context(), "globex", ids["everybody"], "user:eve"); revoked || err == nil {
		t.Errorf("another tenant revokes: %t, %v", revoked, err)
	}
	for _, want := range []bool{true, false} {
		if revoked, err := b.RevokeGrant(t.Context(), tenant, ids["everybody"], "user:ann"); revoked != want || err != nil {
			t.Errorf("revoked %t, %v", revoked, err)
		}
	}
	if got := live(); !slices.Equal(got, []string{"actor and session"}) {
		t.Errorf("found %q", got)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind = 'grant_revoked' AND detail ->> 'grantId' = $1`, ids["everybody"]); n != 1 {
		t.Errorf("%d events", n)
	}
}

// TestRememberedApprovalCounts: a remembered approval answers a request only while it is the tenant's, has not ended and is not revoked.
func TestRememberedApprovalCounts(t *testing.T) {
	b := open(t)
	add := func(tenantID, expires, revokedBy string) string {
		return value[string](b, `INSERT INTO approval_grants (tenant_id, tool_id, granted, approver, approval_id, expires_at, revoked_by, revoked_at)
			VALUES ($1, 'core__write_file', '{}', 'user:bob', gen_random_uuid()::text, now() + $2::interval, nullif($3, ''), CASE WHEN $3 <> '' THEN now() END)
			RETURNING grant_id::text`, tenantID, expires, revokedBy)
	}
	good := add(tenant, "1 hour", "")
	for name, grant := range map[string]string{
		"another tenant's": add("globex", "1 hour", ""), "ended": add(tenant, "-1 second", ""), "revoked": add(tenant, "1 hour", "user:ann"),
		"unknown": "00000000-0000-4000-8000-000000000000",
	} {
		b.admit(name)
		row := requestRow(name, 1)
		if row.Remembered = grant; !b.request(row).Superseded {
			t.Errorf("%s: it answers", name)
		}
		if row.Remembered = good; b.request(row).State != contract.RequestApproved {
			t.Errorf("%s: the valid one does not answer", name)
		}
	}
	if n := value[int](b, `SELECT count(*) FROM approvals WHERE remembered IS DISTINCT FROM $1::uuid`, good); n != 0 {
		t.Errorf("%d requests were answered by another", n)
	}
}
