package capacity

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// keptFor returns a change of a definition that lets the values of the tool be cached.
func keptFor(d time.Duration, tags ...string) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.CacheFor, def.CacheTags = d, tags }
}

// counter returns a tool whose answer is how often it has run.
func counter(runs *atomic.Int64) e2etest.Run {
	return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: fmt.Sprint("run ", runs.Add(1)), Hidden: "canary-77b1"}, nil
	}
}

// TestResultCache: the same read runs its tool once. A call never gets a value of another tenant, actor, connection, policy version or tool version (fault
// 38). Invalidating a tag removes the values with this tag.
func TestResultCache(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var runs atomic.Int64
	tools := func(v string) worker.Option {
		return worker.Tools(
			e2etest.Tool("test__kept", counter(&runs), e2etest.Fast, e2etest.Version(v), keptFor(time.Hour, "books")),
			e2etest.Tool("test__far", counter(&runs), e2etest.Version(v), keptFor(time.Hour)),
			e2etest.Tool("test__plain", counter(&runs), e2etest.Fast, e2etest.Version(v)),
			e2etest.Tool("test__brief", counter(&runs), e2etest.Fast, e2etest.Version(v), keptFor(time.Second)))
	}
	stop := w.Work(tools("1"))
	n := 0
	do := func(toolID string, change ...func(*toolspec.Invocation)) toolspec.Result {
		t.Helper()
		n++
		inv := e2etest.Invocation(fmt.Sprint("call-", n), toolID, `{"text":"a","note":"b"}`)
		for _, c := range change {
			c(&inv)
		}
		r := w.Invoke(inv)
		if !r.OK || strings.Contains(string(r.Value), "canary") {
			t.Fatalf("got %+v", r)
		}
		return r
	}
	// once fails unless a call runs the tool and the next identical call does not.
	once := func(what, toolID string, change ...func(*toolspec.Invocation)) {
		t.Helper()
		first := do(toolID, change...)
		second := do(toolID, change...)
		if first.Source != toolspec.SourceExecuted || second.Source != toolspec.SourceCache || string(first.Value) != string(second.Value) ||
			second.Attempts != 0 {
			t.Errorf("%s: got %+v and then %+v", what, first, second)
		}
	}
	w.Account("acme", "conn-1", e2etest.Actor)
	w.Account("acme", "conn-2", e2etest.Actor)
	once("the first", "test__kept")
	once("the regular lane", "test__far")
	if r := do("test__kept", func(inv *toolspec.Invocation) { inv.Args = []byte(`{ "note": "b", "text": "a" }`) }); r.Source != toolspec.SourceCache {
		t.Errorf("the order of arguments: %+v", r)
	}
	for what, change := range map[string]func(*toolspec.Invocation){
		"another tenant":       func(inv *toolspec.Invocation) { inv.Context.TenantID = "globex" },
		"another actor":        func(inv *toolspec.Invocation) { inv.Context.ActorID = "agent:two" },
		"a connection":         func(inv *toolspec.Invocation) { *inv = e2etest.Over(*inv, "conn-1") },
		"another connection":   func(inv *toolspec.Invocation) { *inv = e2etest.Over(*inv, "conn-2") },
		"other arguments":      func(inv *toolspec.Invocation) { inv.Args = []byte(`{"text":"other"}`) },
		"an argument the less": func(inv *toolspec.Invocation) { inv.Args = []byte(`{"text":"a"}`) },
	} {
		once(what, "test__kept", change)
	}
	for range 2 {
		if r := do("test__plain"); r.Source != toolspec.SourceExecuted {
			t.Errorf("a tool that declares nothing: %+v", r)
		}
	}
	if printed := w.PawlCLI("cache invalidate --tag books --tag more")[0]; !strings.Contains(printed, "6 cached values deleted") {
		t.Errorf("pawl says %q", printed)
	}
	if r := do("test__far"); r.Source != toolspec.SourceCache {
		t.Errorf("what has no tag: %+v", r)
	}
	once("after the invalidation", "test__kept")
	if r := do("test__kept", func(inv *toolspec.Invocation) { inv.Context.TenantID = "globex" }); r.Source != toolspec.SourceCache {
		t.Errorf("the other tenant's values are void too: %+v", r)
	}
	do("test__brief")
	w.Until(func() bool { return do("test__brief").Source == toolspec.SourceExecuted }, "a value is past its time")
	w.Apply(e2etest.PlainPolicyWith(t, "mode: auto", "mode: yolo"))
	once("another policy version", "test__kept")
	stop()
	w.Work(tools("2"))
	once("another tool version", "test__kept")
	w.Apply(e2etest.PlainPolicyWith(t, "mode: auto", "mode: auto\n    cache: [{tool: test__kept, for: never}]"))
	for range 2 {
		if r := do("test__kept"); r.Source != toolspec.SourceExecuted {
			t.Errorf("policy forbids it: %+v", r)
		}
	}
	w.Apply(e2etest.PlainPolicyWith(t, "mode: auto", "mode: auto\n    cache: [{tool: test__plain, for: 1h}]"))
	once("policy gives it", "test__plain")
	w.EventsOnce(n)
	w.Replay(fmt.Sprint("tool:acme:run:call-", 2))
}
