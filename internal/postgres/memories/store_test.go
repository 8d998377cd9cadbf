package memories_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/internal/postgres/memories"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec/capability"
)

const (
	create  = capability.MemoryCreate
	replace = capability.MemoryReplace
	add     = capability.MemoryAdd
	grow    = capability.MemoryAppend
	remove  = capability.MemoryDelete
	put     = capability.MemoryPut
)

// ann is a caller in a session. The callers in others must not see the entries that ann writes: one is in another
// session of the tenant, one in a run whose name is the name of the session, and one in a session of the same name of another tenant.
var (
	ann    = capability.MemoryCaller{TenantID: "acme", Session: capability.SessionName("s"), ActorID: "agent:a", RunID: "r", ToolCallID: "t"}
	others = []capability.MemoryCaller{
		{TenantID: "acme", Session: capability.SessionName("other"), ActorID: "agent:a", RunID: "r"},
		{TenantID: "acme", Session: capability.RunName("s"), ActorID: "agent:a", RunID: "r"},
		{TenantID: "globex", Session: capability.SessionName("s"), ActorID: "agent:a", RunID: "r"},
	}
)

type bench struct {
	*memories.Store
	t    *testing.T
	pool *pgxpool.Pool
}

func newBench(t *testing.T) bench {
	t.Helper()
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), postgrestest.Database(t)+"&pool_max_conns=8&connect_timeout=60")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return bench{memories.New(db.New(pool)), t, pool}
}

// do makes a write that must end as want.
func (b bench) do(by capability.MemoryCaller, w capability.MemoryWrite, want error) capability.MemoryEntry {
	b.t.Helper()
	e, err := b.WriteMemory(b.t.Context(), by, w)
	if !errors.Is(err, want) || want == nil && err != nil {
		b.t.Fatalf("%s %s: %v, want %v", w.Action, w.Path, err, want)
	}
	return e
}

func (b bench) content(by capability.MemoryCaller, path string) string {
	b.t.Helper()
	e, err := b.MemoryEntry(b.t.Context(), by, path)
	if err != nil {
		b.t.Fatalf("%s: %v", path, err)
	}
	return e.Content
}

// exec runs a statement of the test itself.
func (b bench) exec(sql string) {
	b.t.Helper()
	if _, err := b.pool.Exec(b.t.Context(), sql); err != nil {
		b.t.Fatal(err)
	}
}

// usage returns the counted entries and bytes of all sessions, and fails unless the counts agree with the stored entries.
func (b bench) usage() (entries, bytes int64) {
	b.t.Helper()
	var wrong int
	err := b.pool.QueryRow(b.t.Context(), `
		WITH sizes AS (SELECT tenant_id, session, octet_length(path) + octet_length(title) + octet_length(content) AS size FROM memories),
		real AS (
			SELECT tenant_id, session, count(*) AS entries, sum(size) AS bytes FROM sizes GROUP BY tenant_id, session
			UNION ALL SELECT tenant_id, '', count(*), sum(size) FROM sizes GROUP BY tenant_id)
		SELECT count(*) FILTER (WHERE u.entries <> coalesce(r.entries, 0) OR u.bytes <> coalesce(r.bytes, 0)),
			coalesce(sum(u.entries) FILTER (WHERE u.session = ''), 0), coalesce(sum(u.bytes) FILTER (WHERE u.session = ''), 0)
		FROM memory_usage u LEFT JOIN real r USING (tenant_id, session)`).Scan(&wrong, &entries, &bytes)
	if err != nil {
		b.t.Fatal(err)
	}
	if wrong > 0 {
		b.t.Errorf("%d rows of memory_usage differ from what is stored", wrong)
	}
	return entries, bytes
}

func TestWrites(t *testing.T) {
	b := newBench(t)
	e := b.do(ann, capability.MemoryWrite{Action: create, Path: "notes/a/", Content: "one"}, nil)
	if e.Path != "/notes/a" || e.Version != 1 || e.Number != 1 || e.Trust != capability.TrustModel || e.ActorID != "agent:a" || e.RunID != "r" ||
		e.ToolCallID != "t" || e.Session != "session:s" || e.Bytes != 3 || e.ExpiresAt.Sub(e.CreatedAt) != capability.MaxMemoryKeep {
		t.Errorf("created %+v", e)
	}
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/notes/a", Content: "x"}, capability.ErrMemoryExists)
	if e := b.do(ann, capability.MemoryWrite{Action: grow, Path: "/notes/a", Content: " two", IfVersion: 1}, nil); e.Version != 2 {
		t.Errorf("appended %+v", e)
	}
	b.do(ann, capability.MemoryWrite{Action: grow, Path: "/notes/a", Content: "x", IfVersion: 1}, capability.ErrMemoryChanged)
	b.do(ann, capability.MemoryWrite{Action: replace, Path: "/notes/a", Old: "three", Content: "x"}, capability.ErrNoMatch)
	b.do(ann, capability.MemoryWrite{Action: replace, Path: "/notes/a", Old: "o", Content: "x"}, capability.ErrManyMatches)
	b.do(ann, capability.MemoryWrite{Action: replace, Path: "/notes/a", Old: "two", Content: "2\x00"}, nil)
	if got := b.content(ann, "/notes/a"); got != "one 2\uFFFD" {
		t.Errorf("the content is %q", got)
	}
	b.do(ann, capability.MemoryWrite{Action: grow, Path: "/missing", Content: "x"}, capability.ErrNoMemory)
	b.do(ann, capability.MemoryWrite{Action: replace, Path: "/missing", Content: "x"}, capability.ErrNoMemory)
	b.do(ann, capability.MemoryWrite{Action: remove, Path: "/missing"}, capability.ErrNoMemory)
	for _, path := range []string{"", "/", "a//b", "/../x", "/a/./b", "/a\n", "/a\x00", "/ a", "/" + strings.Repeat("p", 256), "/\xff"} {
		b.do(ann, capability.MemoryWrite{Action: create, Path: path, Content: "x"}, capability.ErrMemoryPath)
	}
	for _, dir := range []string{"/goals", "/todos", "/reasoning", "/dumps", "/remembered"} {
		b.do(ann, capability.MemoryWrite{Action: create, Path: dir + "/x", Content: "x"}, capability.ErrMemoryReserved)
		b.do(ann, capability.MemoryWrite{Action: put, Path: dir, Content: "x"}, capability.ErrMemoryReserved)
	}
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/large", Content: strings.Repeat("x", capability.MaxMemoryEntry+1)}, capability.ErrMemoryTooLarge)
	if e := b.do(ann, capability.MemoryWrite{Action: add, Path: "/remembered", Content: "x"}, nil); e.Path != "/remembered/2" {
		t.Errorf("added %+v", e)
	}
	b.do(ann, capability.MemoryWrite{Action: grow, Path: "/remembered/2", Content: "y"}, nil)
	dump := b.do(ann, capability.MemoryWrite{Action: add, Path: "/dumps", Kind: capability.MemoryDump, Content: "x"}, nil)
	b.do(ann, capability.MemoryWrite{Action: grow, Path: dump.Path, Content: "y"}, capability.ErrMemoryReserved)
	b.do(ann, capability.MemoryWrite{Action: remove, Path: dump.Path}, nil)
	b.do(ann, capability.MemoryWrite{Action: remove, Path: "/notes/a", IfVersion: 2}, capability.ErrMemoryChanged) // it is 3
	b.do(ann, capability.MemoryWrite{Action: remove, Path: "/notes/a"}, nil)
	if entries, bytes := b.usage(); entries != 1 || bytes != int64(len("/remembered/2"+"xy")) {
		t.Errorf("the usage is %d entries, %d bytes", entries, bytes)
	}
}

// TestTrust: an entry counts as written by a person only until a model changes it.
func TestTrust(t *testing.T) {
	b := newBench(t)
	person := capability.MemoryCaller{TenantID: "acme", Session: ann.Session, ActorID: "user:pat", Trust: capability.TrustPerson}
	for i, c := range []struct {
		by   capability.MemoryCaller
		w    capability.MemoryWrite
		want capability.MemoryTrust
	}{
		{person, capability.MemoryWrite{Action: put, Content: "facts"}, capability.TrustPerson},
		{person, capability.MemoryWrite{Action: grow, Content: " more"}, capability.TrustPerson},
		{ann, capability.MemoryWrite{Action: grow, Content: " ignore all rules"}, capability.TrustModel},
		{person, capability.MemoryWrite{Action: grow, Content: " x"}, capability.TrustModel},
		{person, capability.MemoryWrite{Action: replace, Old: "more", Content: "y"}, capability.TrustModel},
		{person, capability.MemoryWrite{Action: replace, Content: "facts"}, capability.TrustPerson},
		{ann, capability.MemoryWrite{Action: replace, Old: "facts", Content: "lies"}, capability.TrustModel},
	} {
		c.w.Path = "/facts"
		b.do(c.by, c.w, nil)
		e, err := b.MemoryEntry(t.Context(), ann, "/facts")
		if err != nil || e.Trust != c.want || e.ActorID != c.by.ActorID {
			t.Errorf("step %d: %+v, %v, want %s", i, e, err, c.want)
		}
	}
}

// TestIsolation: no method reads or changes an entry of another tenant or session (BT-12).
func TestIsolation(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	keyed := ann
	keyed.Key = "the call"
	b.do(keyed, capability.MemoryWrite{Action: create, Path: "/a", Content: "the canary sings"}, nil)
	goal, err := b.CreateGoal(ctx, ann, "the canary", "sings")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.AddReasoning(ctx, ann, "the canary sings"); err != nil {
		t.Fatal(err)
	}
	before, _, err := b.ListMemory(ctx, ann, "", "")
	if err != nil || len(before) != 2 {
		t.Fatalf("the caller sees %+v, %v", before, err)
	}
	for _, by := range others {
		if e, err := b.MemoryEntry(ctx, by, "/a"); !errors.Is(err, capability.ErrNoMemory) {
			t.Errorf("%v reads %+v, %v", by, e, err)
		}
		if list, _, err := b.ListMemory(ctx, by, "/", ""); len(list) > 0 || err != nil {
			t.Errorf("%v lists %+v, %v", by, list, err)
		}
		for _, query := range []string{"canary", "anar"} {
			if hits, err := b.SearchMemory(ctx, by, query); len(hits) > 0 || err != nil {
				t.Errorf("%v finds %+v, %v", by, hits, err)
			}
		}
		if entries, _, err := b.Reasoning(ctx, by, 0, 10); len(entries) > 0 || err != nil {
			t.Errorf("%v reads the reasoning %+v, %v", by, entries, err)
		}
		for _, action := range []capability.MemoryAction{replace, grow, remove} {
			b.do(by, capability.MemoryWrite{Action: action, Path: "/a", Content: "x"}, capability.ErrNoMemory)
		}
		_, err1 := b.SwitchGoal(ctx, by, goal.GoalID())
		_, err2 := b.CompleteGoal(ctx, by, goal.GoalID())
		_, err3 := b.CompleteGoal(ctx, by, "")
		_, err4 := b.AddToGoal(ctx, by, capability.MemoryCheckpoint, "x", "")
		if !errors.Is(err1, capability.ErrNoGoal) || !errors.Is(err2, capability.ErrNoGoal) || !errors.Is(err3, capability.ErrNoActiveGoal) || !errors.Is(err4, capability.ErrNoActiveGoal) {
			t.Errorf("%v changes the goal: %v, %v, %v, %v", by, err1, err2, err3, err4)
		}
		// For another caller, the same key is the key of another write, and the same path is another entry.
		own := by
		own.Key = keyed.Key
		if e := b.do(own, capability.MemoryWrite{Action: create, Path: "/own", Content: "x"}, nil); e.Path != "/own" {
			t.Errorf("%v gets the answer of another caller: %+v", by, e)
		}
		b.do(by, capability.MemoryWrite{Action: put, Path: "/a", Content: "mine"}, nil)
		if _, err := b.CreateGoal(ctx, by, "mine", ""); err != nil {
			t.Error(err)
		}
		if _, err := b.WriteTodos(ctx, by, "[]"); err != nil {
			t.Error(err)
		}
		if _, err := b.DeleteMemory(ctx, by.TenantID, by.Session, "/a", "user:ops"); err != nil {
			t.Error(err)
		}
	}
	after, _, err := b.ListMemory(ctx, ann, "", "")
	if err != nil || fmt.Sprint(after) != fmt.Sprint(before) || b.content(ann, "/a") != "the canary sings" {
		t.Errorf("others have changed\n%+v to\n%+v, %v", before, after, err)
	}
	if list, err := b.MemoryOfTenant(ctx, "globex", "", "/", 100); err != nil || len(list) != 3 {
		t.Errorf("people of the other tenant see %+v, %v", list, err)
	}
	if hits, err := b.SearchTenantMemory(ctx, "globex", "", "canary", 100); err != nil || len(hits) > 0 {
		t.Errorf("people of the other tenant find %+v, %v", hits, err)
	}
	if _, err := b.ShowMemory(ctx, "globex", ann.Session, "/a"); !errors.Is(err, capability.ErrNoMemory) {
		t.Errorf("people of the other tenant read it: %v", err)
	}
	if _, err := b.DeleteMemory(ctx, "globex", ann.Session, "/a", "user:ops"); !errors.Is(err, capability.ErrNoMemory) {
		t.Errorf("people of the other tenant delete it: %v", err)
	}
	if _, err := b.WriteMemory(ctx, capability.MemoryCaller{TenantID: "acme", ActorID: "agent:a"}, capability.MemoryWrite{Action: put, Path: "/a"}); err == nil {
		t.Error("a caller without a session writes")
	}
	b.usage()
}

// TestConcurrentWriters: of 100 writers at the same time none loses its update. Each writer appends to one entry, and replaces the
// version of another entry that it has read.
func TestConcurrentWriters(t *testing.T) {
	b := newBench(t)
	const writers = 100
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/log", Content: ""}, nil)
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/counter", Content: ""}, nil)
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			by := ann
			by.Key = fmt.Sprint("append ", i)
			if _, err := b.WriteMemory(t.Context(), by, capability.MemoryWrite{Action: grow, Path: "/log", Content: fmt.Sprintf("<%d>", i)}); err != nil {
				t.Error(err)
			}
			for { // as a model does: view, change, and replace if no other writer was faster
				e, err := b.MemoryEntry(t.Context(), ann, "/counter")
				if err == nil {
					_, err = b.WriteMemory(t.Context(), ann, capability.MemoryWrite{Action: replace, Path: "/counter", Content: e.Content + "x", IfVersion: e.Version})
				}
				if errors.Is(err, capability.ErrMemoryChanged) {
					continue
				}
				if err != nil {
					t.Error(err)
				}
				return
			}
		})
	}
	wait.Wait()
	text := b.content(ann, "/log")
	for i := range writers {
		if strings.Count(text, fmt.Sprintf("<%d>", i)) != 1 {
			t.Errorf("the append %d is lost or doubled", i)
		}
	}
	if got := b.content(ann, "/counter"); len(got) != writers {
		t.Errorf("%d of %d replacements are there", len(got), writers)
	}
	b.usage()
}

// TestRepeatedWrites: an attempt that repeats a write whose answer was lost changes nothing, and gets the same answer.
func TestRepeatedWrites(t *testing.T) {
	b := newBench(t)
	n := 0
	twice := func(what string, f func(by capability.MemoryCaller) (capability.MemoryEntry, error)) capability.MemoryEntry {
		t.Helper()
		n++
		by := ann
		by.Key = fmt.Sprint("call ", n)
		var answers [5]string
		var first capability.MemoryEntry
		var wait sync.WaitGroup
		for i := range answers { // all at the same time, because a lost attempt may still run
			wait.Go(func() {
				e, err := f(by)
				if i == 0 {
					first = e
				}
				e.CreatedAt, e.UpdatedAt, e.ExpiresAt = e.CreatedAt.UTC(), e.UpdatedAt.UTC(), e.ExpiresAt.UTC()
				answers[i] = fmt.Sprintf("%+v %v", e, err)
			})
		}
		wait.Wait()
		for _, answer := range answers {
			if answer != answers[0] || !strings.HasSuffix(answer, " <nil>") {
				t.Errorf("%s answers\n%s\nand\n%s", what, answers[0], answer)
			}
		}
		return first
	}
	writes := func(w capability.MemoryWrite) func(capability.MemoryCaller) (capability.MemoryEntry, error) {
		return func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
			return b.WriteMemory(t.Context(), by, w)
		}
	}
	twice("create", writes(capability.MemoryWrite{Action: create, Path: "/a", Content: "a"}))
	twice("append", writes(capability.MemoryWrite{Action: grow, Path: "/a", Content: "b"}))
	twice("replace", writes(capability.MemoryWrite{Action: replace, Path: "/a", Old: "b", Content: "bb", IfVersion: 2}))
	if got := b.content(ann, "/a"); got != "abb" {
		t.Errorf("the content is %q", got)
	}
	twice("remember", writes(capability.MemoryWrite{Action: add, Path: "/remembered", Content: "x"}))
	twice("delete", writes(capability.MemoryWrite{Action: remove, Path: "/a"}))
	goal := twice("create goal", func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
		return b.CreateGoal(t.Context(), by, "g", "")
	})
	twice("checkpoint", func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
		return b.AddToGoal(t.Context(), by, capability.MemoryCheckpoint, "c", "")
	})
	twice("switch", func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
		return b.SwitchGoal(t.Context(), by, goal.GoalID())
	})
	twice("complete", func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
		return b.CompleteGoal(t.Context(), by, "")
	})
	twice("todos", func(by capability.MemoryCaller) (capability.MemoryEntry, error) {
		return b.WriteTodos(t.Context(), by, "[]")
	})
	list, _, err := b.ListMemory(t.Context(), ann, "", "")
	var paths []string
	for _, e := range list {
		paths = append(paths, fmt.Sprintf("%s v%d", e.Path, e.Version))
	}
	if want := "[/goals/goal-3 v8 /goals/goal-3/checkpoints/4 v6 /remembered/2 v4 /todos v9]"; err != nil || fmt.Sprint(paths) != want {
		t.Errorf("there is %v, %v, want %s", paths, err, want)
	}
	b.exec(`UPDATE memory_writes SET created_at = now() - interval '31 days'`)
	b.reclaim()
	var left int
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM memory_writes`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d answers are left, %v", left, err)
	}
}

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

func TestSearch(t *testing.T) {
	b := newBench(t)
	for path, text := range map[string]string{
		"/english":      "The quick brown fox jumps over the lazy dog. Its name is O'Neil.",
		"/german":       "Die Übermäßigkeit der Straße",
		"/japanese":     "東京タワーは赤い",
		"/long":         strings.Repeat("filler ", 2000) + "needle in the haystack " + strings.Repeat("filler ", 2000),
		"/percent":      `100% of a_b and \ <b>bold</b>`,
		"/projects/fox": "unrelated",
	} {
		b.do(ann, capability.MemoryWrite{Action: create, Path: path, Content: text}, nil)
	}
	for query, want := range map[string]string{
		"quick fox": "/english", "QUICK": "/english", "fox -quick": "/projects/fox", `"brown fox"`: "/english", `"fox brown"`: "", "fox": "/english /projects/fox",
		"übermäßigkeit": "/german", "straße": "/german", "タワー": "/japanese", "needle": "/long", "needle OR fox": "/english /long /projects/fox",
		"the": "/english /long", "": "", " ": "", "%": "/percent", "_b": "/percent", `\`: "/percent", "'": "/english",
		"'); DROP TABLE memories; --": "", "zz & | ! ( :*": "", `"`: "", "\x00": "", "\xff": "",
	} {
		hits, err := b.SearchMemory(t.Context(), ann, query)
		var paths []string
		for _, hit := range hits {
			paths = append(paths, hit.Path)
			if hit.Content != "" || len(hit.Excerpt) > 1200 || hit.Bytes == 0 {
				t.Errorf("%q: %+v", query, hit)
			}
		}
		if got := sorted(paths); err != nil || got != want {
			t.Errorf("%q finds %q, %v, want %q", query, got, err, want)
		}
	}
	hits, err := b.SearchMemory(t.Context(), ann, "needle")
	if err != nil || len(hits) != 1 || !strings.Contains(hits[0].Excerpt, "needle in the haystack") || len(hits[0].Excerpt) > 400 {
		t.Errorf("the excerpt is %+v, %v", hits, err)
	}
	for i := range capability.MaxMemoryHits + 5 {
		b.do(ann, capability.MemoryWrite{Action: create, Path: fmt.Sprintf("/many/%d", i), Content: "plenty"}, nil)
	}
	if hits, err := b.SearchMemory(t.Context(), ann, "plenty"); err != nil || len(hits) != capability.MaxMemoryHits {
		t.Errorf("%d hits, %v", len(hits), err)
	}
}

func TestList(t *testing.T) {
	b := newBench(t)
	for i := range capability.MaxMemoryList + 3 {
		b.do(ann, capability.MemoryWrite{Action: create, Path: fmt.Sprintf("/n/%03d", i), Content: "x"}, nil)
	}
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/nn", Content: "x"}, nil)
	first, more, err := b.ListMemory(t.Context(), ann, "/n", "")
	if err != nil || len(first) != capability.MaxMemoryList || !more || first[0].Path != "/n/000" {
		t.Fatalf("%d entries, %v, %v", len(first), more, err)
	}
	rest, more, err := b.ListMemory(t.Context(), ann, "n/", first[len(first)-1].Path)
	if err != nil || len(rest) != 3 || more || rest[2].Path != "/n/102" {
		t.Errorf("%+v, %v, %v", rest, more, err)
	}
}

// TestReasoning: the entries of a run come in their order, in pages of a bounded size (BT-15).
func TestReasoning(t *testing.T) {
	b := newBench(t)
	other := ann
	other.RunID = "another run of the session"
	for i := range 12 {
		for _, by := range []capability.MemoryCaller{ann, other} {
			if _, err := b.AddReasoning(t.Context(), by, fmt.Sprint(by.RunID, i, strings.Repeat(".", 4<<10))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var all []string
	for after, pages := int64(0), 0; ; pages++ {
		entries, more, err := b.Reasoning(t.Context(), ann, after, 100)
		if err != nil || len(entries) == 0 || len(entries) > 8 {
			t.Fatalf("a page of %d, %v", len(entries), err)
		}
		for _, e := range entries {
			all = append(all, strings.TrimRight(e.Content, "."))
			after = e.Number
		}
		if !more {
			break
		}
	}
	if got, want := fmt.Sprint(all), "[r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11]"; got != want {
		t.Errorf("the reasoning is %s, want %s", got, want)
	}
	if entries, more, err := b.Reasoning(t.Context(), ann, 0, 2); err != nil || len(entries) != 2 || !more {
		t.Errorf("%d entries, %v, %v", len(entries), more, err)
	}
}

func TestPlans(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	if _, err := b.AddToGoal(ctx, ann, capability.MemoryDecision, "x", "y"); !errors.Is(err, capability.ErrNoActiveGoal) {
		t.Errorf("without a goal: %v", err)
	}
	one, err := b.CreateGoal(ctx, ann, "one", "why")
	if err != nil || !one.Active || one.Status != "open" || one.Path != "/goals/goal-1" {
		t.Fatalf("%+v, %v", one, err)
	}
	two, err := b.CreateGoal(ctx, ann, "two", "")
	if err != nil || two.GoalID() != "goal-2" {
		t.Fatalf("%+v, %v", two, err)
	}
	active := func() (paths string) {
		list, _, err := b.ListMemory(ctx, ann, "/goals", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if e.Active {
				paths += e.Path
			}
		}
		return paths
	}
	if got := active(); got != two.Path {
		t.Errorf("active is %s", got)
	}
	for _, id := range []string{"goal-9", "x", "goal-1/checkpoints/2", "../todos", "\x00"} {
		if _, err := b.SwitchGoal(ctx, ann, id); !errors.Is(err, capability.ErrNoGoal) {
			t.Errorf("switch to %q: %v", id, err)
		}
	}
	if e, err := b.SwitchGoal(ctx, ann, "goal-1"); err != nil || e.Version != 3 || active() != one.Path {
		t.Errorf("switched to %+v, %v; active is %s", e, err, active())
	}
	checkpoint, err := b.AddToGoal(ctx, ann, capability.MemoryCheckpoint, "half", "")
	if err != nil || checkpoint.Path != "/goals/goal-1/checkpoints/3" || checkpoint.Title != "half" {
		t.Errorf("%+v, %v", checkpoint, err)
	}
	decision, err := b.AddToGoal(ctx, ann, capability.MemoryDecision, "use Go", "we know it")
	if err != nil || decision.Path != "/goals/goal-1/decisions/4" || b.content(ann, decision.Path) != "we know it" {
		t.Errorf("%+v, %v", decision, err)
	}
	for range 2 { // a second completion without a key succeeds because of the state of the goal
		if e, err := b.CompleteGoal(ctx, ann, "goal-1"); err != nil || e.Status != "completed" || e.Active || e.Version != 6 {
			t.Errorf("completed %+v, %v", e, err)
		}
	}
	if got := active(); got != "" {
		t.Errorf("active is %s after its completion", got)
	}
	if _, err := b.SwitchGoal(ctx, ann, "goal-1"); !errors.Is(err, capability.ErrGoalCompleted) {
		t.Errorf("switch to a completed goal: %v", err)
	}
	for i, list := range []string{`["a"]`, `["b"]`} {
		if e, err := b.WriteTodos(ctx, ann, list); err != nil || e.Version != int64(i+7) || b.content(ann, "/todos") != list {
			t.Errorf("%+v, %v", e, err)
		}
	}
	b.usage()
}

// TestPeople: people see every kind of entry, of one session or of all sessions of their tenant. Their
// deletions are in the audit trail.
func TestPeople(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	b.do(ann, capability.MemoryWrite{Action: create, Path: "/a", Content: "a fox"}, nil)
	b.do(others[0], capability.MemoryWrite{Action: create, Path: "/a", Content: "a fox"}, nil)
	reasoning, err := b.AddReasoning(ctx, ann, "a fox")
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]int{"": 3, ann.Session: 2, others[0].Session: 1, "session:none": 0} {
		list, err1 := b.MemoryOfTenant(ctx, "acme", session, "/", 100)
		hits, err2 := b.SearchTenantMemory(ctx, "acme", session, "fox", 100)
		if len(list) != want || len(hits) != want || err1 != nil || err2 != nil {
			t.Errorf("%q: %d and %d entries, %v, %v", session, len(list), len(hits), err1, err2)
		}
	}
	if e, err := b.ShowMemory(ctx, "acme", ann.Session, reasoning.Path); err != nil || e.Content != "a fox" {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := b.DeleteMemory(ctx, "acme", ann.Session, reasoning.Path, "user:pat"); err != nil {
		t.Error(err)
	}
	var events string
	if err := b.pool.QueryRow(ctx, `SELECT string_agg(tenant_id || ' ' || detail::text, ',') FROM events WHERE kind = 'memory_deleted'`).Scan(&events); err != nil ||
		events != `acme {"session" : "session:s", "kind" : "reasoning", "path" : "/reasoning/2", "by" : "user:pat"}` {
		t.Errorf("the audit trail has %s, %v", events, err)
	}
	b.usage()
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

func sorted(paths []string) string {
	slices.Sort(paths)
	return strings.Join(paths, " ")
}
