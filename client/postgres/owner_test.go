package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/client"
	clientpg "github.com/pawl-run/pawl/client/postgres"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestOwnsRun: a run is that of the actor, and of the subject, of all its calls, and of the owner of all its texts, in its tenant only.
func TestOwnsRun(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	store, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	db := clientpg.Of(store)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	// The first event of a call.
	begin := func(tenant, run, call string) {
		t.Helper()
		id := toolspec.Identity{TenantID: tenant, RunID: run, ToolCallID: call}
		if _, err := conn.Exec(t.Context(), `UPDATE invocations SET begun_at = now() WHERE invocation_id = $1`, id.InvocationID()); err != nil {
			t.Fatal(err)
		}
	}
	add := func(tenant, run, call, actor, subject string) {
		t.Helper()
		id := toolspec.Identity{TenantID: tenant, RunID: run, ToolCallID: call}
		if _, err := conn.Exec(t.Context(), `INSERT INTO invocations (invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, subject_id, workflow_id,
			temporal_run_id, input_digest, plan, started_at) VALUES ($1, $2, $3, $4, 'core__ls', $5, nullif($6, ''), $7, '', '', '{}', now())`,
			id.InvocationID(), tenant, run, call, actor, subject, id.WorkflowID()); err != nil {
			t.Fatal(err)
		}
		begin(tenant, run, call)
	}
	want := func(tenant, run, identity string, owns bool) {
		t.Helper()
		if _, got, err := db.OwnsRun(t.Context(), tenant, run, identity, 0); err != nil || got != owns {
			t.Errorf("%s owns %s of %s: %v, %v", identity, run, tenant, got, err)
		}
	}
	add("acme", "run-1", "one", "agent:bot", "user:ann")
	add("acme", "run-1", "two", "user:ann", "")
	add("acme", "run-2", "one", "user:bob", "")
	add("globex", "run-3", "one", "user:ann", "")
	want("acme", "run-1", "user:ann", true)
	want("acme", "run-1", "agent:bot", false) // the second call is not the agent's
	want("acme", "run-1", "user:bob", false)
	want("acme", "run-1", "", false)
	want("acme", "run-2", "user:bob", true)
	want("acme", "run-2", "user:ann", false)
	want("acme", "run-3", "user:ann", false)
	want("globex", "run-3", "user:ann", true)
	want("acme", "none", "user:ann", false)
	// A call of somebody else closes the run for both.
	add("acme", "run-1", "three", "user:bob", "")
	want("acme", "run-1", "user:ann", false)
	want("acme", "run-1", "user:bob", false)

	write := func(run, owner string) {
		t.Helper()
		if err := db.Append(t.Context(), "acme", run, client.TurnEvent{Key: "of " + owner, Text: "Hi", OwnerID: owner}); err != nil {
			t.Fatal(err)
		}
	}
	write("run-2", "user:bob")
	want("acme", "run-2", "user:bob", true)
	last, owns, err := db.OwnsRun(t.Context(), "acme", "run-2", "user:bob", 0)
	if last != 2 || !owns || err != nil {
		t.Errorf("%d, %v, %v", last, owns, err)
	}
	write("run-2", "user:ann")
	want("acme", "run-2", "user:bob", false)
	// OwnsRun looks only at the events after last, and so not at the text of bob.
	if last, owns, err = db.OwnsRun(t.Context(), "acme", "run-2", "user:ann", last); last != 3 || !owns || err != nil {
		t.Errorf("%d, %v, %v", last, owns, err)
	}
	write("run-4", "user:ann")
	want("acme", "run-4", "user:ann", true)
}
