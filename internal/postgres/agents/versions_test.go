package agents

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

func open(t *testing.T) (*Store, *pgx.Conn) {
	t.Helper()
	url := postgrestest.Database(t)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	d, err := db.Open(t.Context(), url, db.Options{MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return New(d), conn
}

func document(version, instructions string) agent.Document {
	return agent.Document{
		Name: "reader", Version: version, Instructions: instructions,
		Model:  agent.Model{Format: "openai", Name: "m", Connection: "c", MaxTokens: 1},
		Limits: agent.Limits{Rounds: 1, Calls: 1, Seconds: 1, ContextBytes: 1, AtOnce: 1},
	}
}

func active(t *testing.T, s *Store) (version, by string) {
	t.Helper()
	list, err := s.Agents(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "reader" || list[0].At.IsZero() || len(list[0].Digest) != 64 {
		t.Fatalf("%+v, %v", list, err)
	}
	version = list[0].Version
	if list[0].Retired {
		version += " retired"
	}
	return version, list[0].By
}

func TestApplyAgent(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	one, two := document("one", "Read."), document("two", "Read more.")
	digest, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		d    agent.Document
		want Applied
		err  error
	}{
		{one, Applied{Stored: true, Active: true, Changed: true}, nil},
		{one, Applied{Active: true, Before: "one"}, nil},
		{two, Applied{Stored: true, Active: true, Changed: true, Before: "one"}, nil},
		{document("one", "Something else."), Applied{}, ErrTaken},
		{one, Applied{Active: true, Changed: true, Before: "two"}, nil},
		{agent.Document{Name: "reader"}, Applied{}, nil},
	} {
		got, err := s.ApplyAgent(t.Context(), c.d, "user:ann")
		if c.d.Version == "" {
			if err == nil {
				t.Errorf("%d: a document without a version is stored", i)
			}
			continue
		}
		if len(got.Digest) != 64 && err == nil {
			t.Errorf("%d: digest %q", i, got.Digest)
		}
		got.Digest = ""
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%d: %+v, %v; want %+v, %v", i, got, err, c.want, c.err)
		}
	}
	if version, by := active(t, s); version != "one" || by != "user:ann" {
		t.Errorf("%s by %s", version, by)
	}
	d, stored, err := s.Agent(t.Context(), "reader", "")
	if err != nil || stored != digest || !reflect.DeepEqual(d, one) {
		t.Errorf("%+v, %s, %v", d, stored, err)
	}
	if d, _, err = s.Agent(t.Context(), "reader", "two"); err != nil || d.Instructions != "Read more." {
		t.Errorf("%+v, %v", d, err)
	}
	for _, missing := range [][2]string{{"reader", "three"}, {"writer", ""}, {"writer", "one"}} {
		if _, _, err := s.Agent(t.Context(), missing[0], missing[1]); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("%v: %v", missing, err)
		}
	}
	versions, err := s.AgentVersions(t.Context(), "reader")
	if err != nil || len(versions) != 2 || versions[0].Version != "two" || versions[0].Active || !versions[1].Active || versions[1].By != "user:ann" {
		t.Errorf("%+v, %v", versions, err)
	}
	if versions, err := s.AgentVersions(t.Context(), "writer"); err != nil || len(versions) != 0 {
		t.Errorf("%+v, %v", versions, err)
	}
	events(t, conn, "agent_applied one  ", "agent_activated one  apply", "agent_applied two  ", "agent_activated two one apply", "agent_activated one two apply")
	// The database refuses a document that does not have the digest of its row.
	if _, err := conn.Exec(t.Context(), `UPDATE agents SET document = '{}'`); err == nil {
		t.Error("a document without its digest is stored")
	}
}

func TestActivateAndRetire(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	for _, d := range []agent.Document{document("one", "Read."), document("two", "Read.")} {
		if _, err := s.ApplyAgent(t.Context(), d, "user:ann"); err != nil {
			t.Fatal(err)
		}
	}
	for _, changed := range []bool{true, false} {
		if got, err := s.ActivateAgent(t.Context(), "reader", "one", "user:bob"); err != nil || got.Changed != changed || len(got.Digest) != 64 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if version, by := active(t, s); version != "one" || by != "user:bob" {
		t.Errorf("%s by %s", version, by)
	}
	for _, changed := range []bool{true, false} {
		if got, err := s.RetireAgent(t.Context(), "reader", "user:cid"); err != nil || got != (Retired{"one", changed}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
	// No run of the agent can start. Runs that have started go on.
	for _, version := range []string{"", "one", "two"} {
		if _, err := s.AgentToStart(t.Context(), "reader", version); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("a run of version %q starts: %v", version, err)
		}
		if _, _, err := s.Agent(t.Context(), "reader", version); err != nil {
			t.Errorf("version %q: %v", version, err)
		}
	}
	// A new version is stored, and the agent stays retired.
	if got, err := s.ApplyAgent(t.Context(), document("three", "Read."), "user:ann"); err != nil || !got.Stored || got.Active || got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.ApplyAgent(t.Context(), document("one", "Read."), "user:ann"); err != nil || got.Stored || got.Active || got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	if version, by := active(t, s); version != "one retired" || by != "user:cid" {
		t.Errorf("%s by %s", version, by)
	}
	if versions, err := s.AgentVersions(t.Context(), "reader"); err != nil || len(versions) != 3 || versions[2].Active {
		t.Errorf("a version of a retired agent is active: %+v, %v", versions, err)
	}
	if got, err := s.ActivateAgent(t.Context(), "reader", "three", "user:bob"); err != nil || !got.Changed {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.AgentToStart(t.Context(), "reader", ""); err != nil {
		t.Error(err)
	}
	for name, version := range map[string]string{"reader": "four", "writer": "one"} {
		if _, err := s.ActivateAgent(t.Context(), name, version, "user:bob"); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("%s %s: %v", name, version, err)
		}
	}
	if _, err := s.RetireAgent(t.Context(), "writer", "user:bob"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("writer: %v", err)
	}
	events(t, conn, "agent_applied one  ", "agent_activated one  apply", "agent_applied two  ", "agent_activated two one apply",
		"agent_activated one two activate", "agent_retired one  ", "agent_applied three  ", "agent_activated three one activate")
}

// TestNewerDocument: a release refuses to read a version that has a key which the release does not know.
func TestNewerDocument(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	if _, err := s.ApplyAgent(t.Context(), document("one", "Read."), "user:ann"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `WITH newer AS (SELECT replace(document, '"limits":{', '"limits":{"people":1,') AS document FROM agents)
		UPDATE agents SET document = newer.document, digest = encode(sha256(convert_to(newer.document, 'UTF8')), 'hex') FROM newer`); err != nil {
		t.Fatal(err)
	}
	d, err := s.AgentToStart(t.Context(), "reader", "")
	var failed *db.Error
	if !errors.As(err, &failed) || errs.IsTransient(err) || !reflect.DeepEqual(d, agent.Document{}) {
		t.Errorf("%+v, %v", d, err)
	}
}

// events compares the events of the agent in the audit trail with want. Each text has the kind, the version, the version that was active before, and how the
// change was made.
func events(t *testing.T, conn *pgx.Conn, want ...string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT concat_ws(' ', kind, detail ->> 'version', coalesce(detail ->> 'before', ''), coalesce(detail ->> 'how', ''))
		FROM events WHERE starts_with(kind, 'agent_') AND detail ->> 'name' = 'reader' AND starts_with(detail ->> 'by', 'user:') ORDER BY at, seq`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
}

// TestApplyAtOnce: a change that had to wait for another change sees the result of that one. When two workers store different contents under one version at
// the same moment, only one content is stored.
func TestApplyAtOnce(t *testing.T) {
	t.Parallel()
	s, conn := open(t)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('agents reader', 0))`); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`INSERT INTO agents (name, version, digest, document, applied_by) VALUES ('reader', 'one', encode(sha256('{}'), 'hex'), '{}', 'user:bob')`,
		`INSERT INTO agent_active (name, version, changed_by) VALUES ('reader', 'one', 'user:bob')`,
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.ApplyAgent(t.Context(), document("one", "Read."), "user:ann")
		done <- err
	}()
	deadline := time.Now().Add(time.Minute)
	for waits, tick := false, time.NewTicker(2*time.Millisecond); !waits; <-tick.C {
		if err := tx.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid)))`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("no change waits for another")
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrTaken) {
		t.Errorf("the second content: %v", err)
	}
	if version, by := active(t, s); version != "one" || by != "user:bob" {
		t.Errorf("%s by %s", version, by)
	}
}
