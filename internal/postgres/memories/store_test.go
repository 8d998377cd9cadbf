package memories_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

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
