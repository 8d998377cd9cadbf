package memories_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/capability"
)

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
		// A page has at most 32 KiB, and an entry 4 KiB.
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

func sorted(paths []string) string {
	slices.Sort(paths)
	return strings.Join(paths, " ")
}
