package postgres_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
)

// TestSubmitters: a key belongs to one tenant. A proof counts if the key was valid when the call was admitted. A removed key can never be added again, and every
// change is an event.
func TestSubmitters(t *testing.T) {
	b := open(t)
	b.admit("r1-0")
	public := ed25519.PublicKey(bytes.Repeat([]byte{7}, ed25519.PublicKeySize))
	add := func(tenantID string) (string, bool) {
		t.Helper()
		keyID, added, err := b.AddSubmitter(t.Context(), tenantID, "web", public, "user:root")
		if err != nil {
			t.Fatal(err)
		}
		return keyID, added
	}
	keyID, added := add(tenant)
	if _, again := add(tenant); !added || again {
		t.Errorf("added %t, and again %t", added, again)
	}
	key := func(tenantID, keyID string, end time.Duration) (there, active, fresh bool) {
		t.Helper()
		now := value[time.Time](b, `SELECT created_at FROM invocations`)
		found, active, fresh, err := b.SubmitterKey(t.Context(), tenantID, keyID, id("r1-0"), "proof", now.Add(end))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Equal(found, public), active, fresh
	}
	engine := b.Trusting(authztest.AllowAll{})
	trusted := func(tenantID, submitter, subject string) authz.Decision {
		t.Helper()
		d, err := engine.Check(own(t), authz.Request{TenantID: tenantID, SubjectID: subject, Submitter: submitter})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, tc := range []struct {
		name                 string
		tenantID, keyID      string
		end                  time.Duration
		there, active, fresh bool
	}{
		{"good", tenant, keyID, time.Second, true, true, true},
		{"over when the call came", tenant, keyID, 0, true, true, false},
		{"another key", tenant, "other", time.Second, false, false, true},
		{"another tenant", "globex", keyID, time.Second, false, false, false},
	} {
		if there, active, fresh := key(tc.tenantID, tc.keyID, tc.end); there != tc.there || active != tc.active || fresh != tc.fresh {
			t.Errorf("%s: there %t, active %t, fresh %t", tc.name, there, active, fresh)
		}
	}
	b.sql(`INSERT INTO agent_runs (tenant_id, run_id, input_digest, agent, version, document, input, opened_at)
		SELECT tenant_id, run_id, '', 'a', '1', '{"limits":{"seconds":7200}}', '{"submitterProof":"proof"}', created_at - interval '1 hour' FROM invocations`)
	if _, _, fresh := key(tenant, keyID, -time.Minute); fresh {
		t.Error("fresh in a run whose model has not planned the call")
	}
	b.sql(`INSERT INTO agent_rounds (tenant_id, run_id, round, format, model, plan, calls_planned, calls, bytes, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens)
		SELECT tenant_id, run_id, 1, '', '', json_build_object('calls', json_build_array(json_build_object('call', json_build_object('toolCallId', tool_call_id, 'toolId', tool_id)))), 1, 1, 0, 0, 0, 0, 0
		FROM invocations`)
	for end, want := range map[time.Duration]bool{-time.Minute: true, -2 * time.Hour: false} {
		if _, _, fresh := key(tenant, keyID, end); fresh != want {
			t.Errorf("in a run that began with the proof, which ended %s before the call: fresh %t", -end, fresh)
		}
	}
	b.sql(`UPDATE agent_rounds SET round = 2`)
	if _, _, fresh := key(tenant, keyID, -time.Minute); fresh {
		t.Error("fresh for a call that another round than its own has planned")
	}
	b.sql(`UPDATE agent_rounds SET round = 1`)
	b.sql(`UPDATE invocations SET tool_id = 'core__other'`)
	if _, _, fresh := key(tenant, keyID, -time.Minute); fresh {
		t.Error("fresh for a call of another tool than the model has planned")
	}
	b.sql(`UPDATE invocations SET tool_id = $1`, admitRow("r1-0").Invocation.ToolID)
	b.sql(`UPDATE agent_runs SET input = '{"submitterProof":"proof","fork":{"rounds":1}}'`)
	if _, _, fresh := key(tenant, keyID, -time.Minute); fresh {
		t.Error("fresh for a call of a round that a fork has kept")
	}
	b.sql(`UPDATE agent_runs SET input = '{"submitterProof":"proof"}'`)
	for _, change := range []string{
		`document = '{"limits":{"seconds":60}}'`, `document = '{"limits":{"seconds":7200}}', input = '{"submitterProof":"another"}'`,
		`input = '{"submitterProof":"proof"}', ended_at = now(), result = '{}'`,
	} {
		b.sql(`UPDATE agent_runs SET ` + change)
		if _, _, fresh := key(tenant, keyID, -time.Minute); fresh {
			t.Errorf("fresh in a run with %s", change)
		}
	}
	before := b.trips.Load()
	if d := trusted(tenant, "", ""); !d.Allowed || b.trips.Load() != before {
		t.Errorf("without a subject: %+v after %d round trips", d, b.trips.Load()-before)
	}
	for _, tc := range []struct {
		tenantID, keyID string
		want            authz.Decision
	}{{tenant, keyID, authz.Allow()}, {"globex", keyID, authz.Deny(authz.Trust)}, {tenant, "", authz.Deny(authz.Trust)}} {
		if d := trusted(tc.tenantID, tc.keyID, "user:sue"); d != tc.want {
			t.Errorf("%s of %q: %+v", tc.keyID, tc.tenantID, d)
		}
	}
	if err := b.RevokeSubmitter(t.Context(), "globex", keyID, "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("another tenant removes it: %v", err)
	}
	if err := b.RevokeSubmitter(t.Context(), tenant, keyID, "user:root"); err != nil {
		t.Fatal(err)
	}
	if err := b.RevokeSubmitter(t.Context(), tenant, keyID, "user:root"); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("removed twice: %v", err)
	}
	if _, active, _ := key(tenant, keyID, time.Second); active || trusted(tenant, keyID, "user:sue").Allowed {
		t.Error("it counts after it was removed")
	}
	if _, again := add(tenant); again {
		t.Error("it came back")
	}
	list, err := b.Submitters(t.Context(), tenant)
	if err != nil || len(list) != 1 || list[0].KeyID != keyID || list[0].RevokedAt == nil || list[0].RevokedBy != "user:root" || list[0].Name != "web" {
		t.Errorf("the keys are %+v, %v", list, err)
	}
	if n := value[int](b, `SELECT count(*) FROM events WHERE kind IN ('submitter_added', 'submitter_revoked')`); n != 2 {
		t.Errorf("%d events, want 2", n)
	}
}
