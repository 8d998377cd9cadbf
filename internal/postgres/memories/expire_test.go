package memories_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/memories"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// reclaim runs upkeep until nothing is left to do.
func (b bench) reclaim() (deleted int) {
	b.t.Helper()
	for {
		n, err := b.DeleteExpiredMemory(context.WithoutCancel(b.t.Context()), 2)
		if err != nil {
			b.t.Fatal(err)
		}
		if n == 0 {
			return deleted
		}
		deleted += n
	}
}

// TestExpiry: no caller sees an entry from the moment at which it expires, and upkeep gives its space back.
func TestExpiry(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	for i := range 5 {
		for _, by := range append(others, ann) {
			b.do(by, capability.MemoryWrite{Action: create, Path: fmt.Sprintf("/old/%d", i), Content: "gone", Keep: time.Hour}, nil)
		}
	}
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/kept", Content: "here"}, nil)
	goal, err := b.CreateGoal(ctx, ann, "g", "")
	if err != nil {
		t.Fatal(err)
	}
	b.exec(`UPDATE memories SET expires_at = now() - interval '1 second' WHERE content = 'gone' OR kind = 'goal'`)
	if list, _, err := b.ListMemory(ctx, ann, "", ""); err != nil || len(list) != 1 {
		t.Errorf("the list has %+v, %v", list, err)
	}
	for _, query := range []string{"gone", "gon"} {
		if hits, err := b.SearchMemory(ctx, ann, query); err != nil || len(hits) > 0 {
			t.Errorf("a search finds %+v, %v", hits, err)
		}
	}
	if _, err := b.MemoryEntry(ctx, ann, "/old/1"); !errors.Is(err, capability.ErrNoMemory) {
		t.Errorf("view: %v", err)
	}
	if _, err := b.ShowMemory(ctx, ann.TenantID, ann.Session, "/old/1"); !errors.Is(err, capability.ErrNoMemory) {
		t.Errorf("show: %v", err)
	}
	if list, err := b.MemoryOfTenant(ctx, ann.TenantID, "", "/old", 100); err != nil || len(list) > 0 {
		t.Errorf("people see %+v, %v", list, err)
	}
	b.do(ann, capability.MemoryWrite{Action: grow, Path: "/old/1", Content: "x"}, capability.ErrNoMemory)
	if _, err := b.SwitchGoal(ctx, ann, goal.GoalID()); !errors.Is(err, capability.ErrNoGoal) {
		t.Errorf("switch: %v", err)
	}
	if e := b.do(ann, capability.MemoryWrite{Action: create, Path: "/old/0", Content: "new"}, nil); e.Version != 8 || !e.CreatedAt.Equal(e.UpdatedAt) {
		t.Errorf("in the place of an expired entry: %+v", e)
	}
	if _, err := b.CreateGoal(ctx, ann, "the next", ""); err != nil {
		t.Errorf("the expired goal is still the active goal: %v", err)
	}
	b.usage()
	if n := b.reclaim(); n != 20 {
		t.Errorf("%d rows were deleted, want 19 notes and a goal", n)
	}
	if entries, _ := b.usage(); entries != 3 {
		t.Errorf("%d entries count", entries)
	}
	b.exec(`UPDATE memory_usage SET touched_at = now() - interval '31 days'`)
	b.reclaim()
	var left string
	if err := b.pool.QueryRow(ctx, `SELECT string_agg(tenant_id || ' ' || session, ',' ORDER BY tenant_id, session) FROM memory_usage`).Scan(&left); err != nil || left != "acme ,acme session:s,globex " {
		t.Errorf("the usage is that of %q, %v", left, err)
	}
}

func TestQuotas(t *testing.T) {
	b := newBench(t)
	b.LimitMemory(memories.Limits{SessionEntries: 3, SessionBytes: 100, TenantEntries: 5, TenantBytes: 150})
	write := func(by capability.MemoryCaller, action capability.MemoryAction, path string, n int, want error) {
		t.Helper()
		b.do(by, capability.MemoryWrite{Action: action, Path: path, Content: strings.Repeat("x", n)}, want)
		b.usage()
	}
	for _, path := range []string{"/a", "/b", "/c"} {
		write(ann, create, path, 1, nil)
	}
	write(ann, create, "/d", 1, capability.ErrMemoryFull)
	write(ann, grow, "/a", 100, capability.ErrMemoryFull)
	write(ann, replace, "/a", 92, nil) // 100 bytes: 3 paths of 2 bytes, contents of 92, 1 and 1
	write(ann, replace, "/a", 93, capability.ErrMemoryFull)
	if _, err := b.CreateGoal(t.Context(), ann, "g", ""); !errors.Is(err, capability.ErrMemoryFull) {
		t.Errorf("a goal: %v", err)
	}
	write(others[0], create, "/a", 46, nil)
	write(others[0], create, "/b", 1, capability.ErrMemoryTenantFull) // bytes
	write(others[2], create, "/a", 90, nil)                           // another tenant
	write(ann, replace, "/a", 1, nil)
	write(others[0], create, "/b", 1, nil)
	write(others[0], create, "/c", 1, capability.ErrMemoryTenantFull) // entries
	// Limits below the present use do not refuse a write that frees space.
	b.LimitMemory(memories.Limits{SessionEntries: 1, SessionBytes: 1, TenantEntries: 1, TenantBytes: 1})
	write(others[0], replace, "/a", 10, nil)
	write(others[0], remove, "/a", 0, nil)
	write(ann, grow, "/a", 1, capability.ErrMemoryFull)
	if entries, bytes := b.usage(); entries != 5 || bytes != 92+4*3 {
		t.Errorf("%d entries, %d bytes", entries, bytes)
	}
}

// TestDeleteSession: a person deletes all entries of one session. The deletion is one event of the audit trail, and
// gives the space of the entries back.
func TestDeleteSession(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	for _, by := range append(others, ann) {
		b.do(by, capability.MemoryWrite{Action: create, Path: "/a", Content: "x"}, nil)
	}
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/expired", Content: "x"}, nil)
	if _, err := b.CreateGoal(ctx, ann, "g", ""); err != nil {
		t.Fatal(err)
	}
	b.exec(`UPDATE memories SET expires_at = now() - interval '1 second' WHERE path = '/expired'`)
	if n, err := b.DeleteSessionMemory(ctx, ann.TenantID, ann.Session, "user:pat"); n != 3 || err != nil {
		t.Errorf("%d entries were deleted, %v", n, err)
	}
	if n, err := b.DeleteSessionMemory(ctx, ann.TenantID, ann.Session, "user:pat"); n != 0 || !errors.Is(err, capability.ErrNoMemory) {
		t.Errorf("a second time, %d entries were deleted, %v", n, err)
	}
	if entries, _ := b.usage(); entries != 3 {
		t.Errorf("%d entries count", entries)
	}
	for _, by := range others {
		b.content(by, "/a")
	}
	var events string
	if err := b.pool.QueryRow(ctx, `SELECT string_agg(tenant_id || ' ' || detail::text, ',') FROM events WHERE kind = 'memory_deleted'`).Scan(&events); err != nil ||
		events != `acme {"session" : "session:s", "entries" : 3, "by" : "user:pat"}` {
		t.Errorf("the audit trail has %s, %v", events, err)
	}
}

// TestRunsAreKeptShorter: entries of a run are kept shorter than those of a session. No call reads them after the end of the run,
// and they should not fill the quota of the tenant for a year.
func TestRunsAreKeptShorter(t *testing.T) {
	b := newBench(t)
	run := others[1]
	kept := func(by capability.MemoryCaller, path string, keep, want time.Duration) {
		t.Helper()
		e := b.do(by, capability.MemoryWrite{Action: create, Path: path, Content: "x", Keep: keep}, nil)
		if got := e.ExpiresAt.Sub(e.UpdatedAt); got != want {
			t.Errorf("%s %s is kept for %s, want %s", by.Session, path, got, want)
		}
	}
	const day = 24 * time.Hour
	kept(run, "/default", 0, 30*day)
	kept(run, "/long", 31*day, 30*day)
	kept(run, "/short", day, day)
	named := ann
	named.Session = capability.SessionName("run:s")
	kept(named, "/default", 0, 365*day)
	kept(named, "/long", 31*day, 31*day)
	if e, err := b.WriteTodos(t.Context(), run, "[]"); err != nil || e.ExpiresAt.Sub(e.UpdatedAt) != 30*day {
		t.Errorf("todos: %+v, %v", e, err)
	}
}

// TestVersionsNeverComeBack: an entry that is created again at the same path never gets a version number that a call has viewed before. That
// holds after a deletion, after an expiry, and after upkeep has deleted the counters of the session.
func TestVersionsNeverComeBack(t *testing.T) {
	b := newBench(t)
	write := capability.MemoryWrite{Action: create, Path: "/a", Content: "x"}
	viewed := b.do(ann, write, nil)
	again := func(how string) {
		t.Helper()
		next := b.do(ann, write, nil)
		if next.Version <= viewed.Version {
			t.Errorf("%s: version %d follows %d", how, next.Version, viewed.Version)
		}
		b.do(ann, capability.MemoryWrite{Action: replace, Path: "/a", Content: "stale", IfVersion: viewed.Version}, capability.ErrMemoryChanged)
		viewed = next
	}
	b.do(ann, capability.MemoryWrite{Action: remove, Path: "/a"}, nil)
	again("deleted")
	b.exec(`UPDATE memories SET expires_at = now() - interval '1 second'`)
	again("expired")
	if _, err := b.DeleteSessionMemory(t.Context(), ann.TenantID, ann.Session, "user:pat"); err != nil {
		t.Fatal(err)
	}
	again("deleted with its session")
	b.do(ann, capability.MemoryWrite{Action: remove, Path: "/a"}, nil)
	b.exec(`UPDATE memory_usage SET touched_at = now() - interval '31 days'`)
	if n := b.reclaim(); n != 1 {
		t.Fatalf("%d rows were forgotten", n)
	}
	again("forgotten")
}
