package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	pgcatalog "github.com/pawl-run/pawl/internal/postgres/catalog"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/source"
	"github.com/pawl-run/pawl/worker"
)

// listed waits until the lists of tools have exactly these tools besides the built-in ones. Each is written as "id source providedBy".
func listed(w *e2etest.World, want string) {
	w.T.Helper()
	var last error
	w.Until(func() bool {
		specs, err := w.Store.LiveSpecs(w.T.Context())
		var all []string
		for _, s := range specs {
			if s.Origin != string(source.Builtin) {
				all = append(all, strings.TrimSpace(s.Name+" "+s.Origin+" "+s.ProvidedBy))
			}
		}
		got := strings.Join(all, ", ")
		last = errors.Join(err, errors.New("listed are "+got))
		return len(specs) > 0 && got == want
	}, "the lists have "+want, &last)
}

func sees(w *e2etest.World, toolID string) bool {
	w.T.Helper()
	seen, err := w.Store.Catalog(w.T.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor})
	if err != nil {
		w.T.Fatal(err)
	}
	_, ok := seen.Get(toolID)
	return ok
}

// TestToolsComeAndGo (RG-04, RG-08, BT-30, C-16): a tool that a source offers later is listed with its source, and is denied until policy allows it. Its hooks
// run. After the source has removed the tool, a call of it ends like a call of a tool that does not exist.
func TestToolsComeAndGo(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	s := newShelf("words")
	hooked := make(chan string, 1)
	h := hook.New("hooked", hook.WillExecute.Do(func(_ context.Context, a *hook.Attempt) error { hooked <- "hooked"; return nil }))
	w.Work(worker.Sources(s), worker.Tools(e2etest.Tool("test__own", e2etest.Echo)), worker.ToolHooks("late__word", h))
	listed(w, "test__own worker")
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("early", "late__word", `{"text":"a"}`)), toolspec.CodeUnavailable)

	s.put(e2etest.Tool("late__word", e2etest.Echo))
	listed(w, "late__word extension words, test__own worker")
	list := w.Command("tools", "list", "--all")
	if list.Wait(); !strings.Contains(strings.Join(strings.Fields(list.Out.String()), " "), "late__word denied read_only low extension words") {
		t.Errorf("pawl tools list prints\n%s%s", list.Out, list.Err)
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("denied", "late__word", `{"text":"a"}`)), toolspec.CodePolicyDenied)
	if sees(w, "late__word") {
		t.Error("a tool that policy does not allow is offered")
	}
	w.Apply(strings.ReplaceAll(e2etest.PlainPolicy, `"test__*"`, `"test__*", "late__*"`))
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("allowed", "late__word", `{"text":"a"}`)), "a")
	if e2etest.Receive(t, hooked) != "hooked" || !sees(w, "late__word") {
		t.Error("policy allows the tool, and it is not offered")
	}

	s.put()
	listed(w, "test__own worker")
	if sees(w, "late__word") {
		t.Error("a tool that is gone is offered")
	}
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("gone", "late__word", `{"text":"a"}`)), toolspec.CodeUnavailable)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("own", "test__own", `{"text":"b"}`)), "b")
	if w.Log.Has("level=WARN", "hooks stand on a tool") {
		t.Error("the log warns of hooks of a tool that comes later")
	}
}

// TestDefinitionChangesDuringCalls: calls that are running when a source changes or removes their tool end with the definition with which they began.
// Calls that begin later have the new definition. No call runs twice.
func TestDefinitionChangesDuringCalls(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	const calls = 8
	began, release := make(chan string, 3*calls), make(chan struct{})
	version := func(v string) toolspec.Tool {
		return e2etest.Tool("test__changing", effects.Counted(func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if v != "3" {
				began <- call.ToolCallID
				select {
				case <-release:
				case <-ctx.Done():
				}
			}
			return e2etest.Out{Text: v}, ctx.Err()
		}), e2etest.Once, e2etest.Version(v), e2etest.Within(time.Minute))
	}
	s := newShelf("changing", version("1"))
	w.Work(worker.Sources(s))
	listed(w, "test__changing extension changing")
	start := func(of string) (all []*pawl.Call) {
		for i := range calls {
			all = append(all, w.Start(e2etest.Invocation(fmt.Sprint(of, i), "test__changing", `{}`)))
		}
		for range calls {
			e2etest.Receive(t, began)
		}
		return all
	}
	changed := func(digests int) {
		t.Helper()
		w.Until(func() bool {
			return e2etest.Scalar[int](w, `SELECT count(*)::int FROM tool_specs WHERE tool_id = 'test__changing'`) == digests
		}, "the new definition is published")
	}
	first := start("first")
	s.put(version("2"))
	changed(2)
	second := start("second")
	s.put()
	listed(w, "")
	s.put(version("3"))
	changed(3)
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("third", "test__changing", `{}`)), "3")
	close(release)
	for v, all := range map[string][]*pawl.Call{"1": first, "2": second} {
		for _, call := range all {
			e2etest.WantText(t, w.Result(call), v)
		}
	}
	for i := range calls {
		for _, of := range []string{"first", "second"} {
			if n := effects.Of(fmt.Sprint(of, i)); n != 1 {
				t.Errorf("call %s%d ran %d times", of, i, n)
			}
		}
	}
}

// TestBrokenSource (RF-14): a source that fails makes the worker degraded, and all other tools can still be called. The tools of the source stay, and the
// worker recovers by itself.
func TestBrokenSource(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	good, broken := newShelf("good", e2etest.Tool("test__good", e2etest.Echo)), newShelf("broken", e2etest.Tool("test__broken", e2etest.Echo))
	stop := make(chan struct{})
	silent := silence{newShelf("silent"), stop}
	w.Work(worker.Sources(good, broken, silent), worker.Tools(e2etest.Tool("test__own", e2etest.Echo)))
	listed(w, "test__broken extension broken, test__good extension good, test__own worker")
	for i, fail := range []func() error{func() error { panic("s3cret-of-a-panic") }, func() error { return errors.New("s3cret-of-an-error") }} {
		broken.fails <- fail
		faulty(w, "broken", true)
		for _, tool := range []string{"test__good", "test__broken", "test__own"} {
			e2etest.WantText(t, w.Invoke(e2etest.Invocation(fmt.Sprint(tool, i), tool, `{"text":"a"}`)), "a")
		}
		faulty(w, "broken", false)
	}
	faulty(w, "silent", true)
	if text := doctor(w); !strings.Contains(text, "FAIL  sources") || !strings.Contains(text, "1 of 1 workers are degraded: extension silent since") {
		t.Errorf("doctor says\n%s", text)
	}
	close(stop)
	faulty(w, "silent", false)
	if text := doctor(w); !strings.Contains(text, "ok    sources     3 work") {
		t.Errorf("doctor says\n%s", text)
	}
	if text := w.Log.String(); strings.Contains(text, "s3cret") || !strings.Contains(text, "so the worker is degraded") || !strings.Contains(text, "a source of tools works again") {
		t.Errorf("the log says\n%s", text)
	}
}

// silence is a source that offers nothing until stop is closed.
type silence struct {
	*shelf

	stop chan struct{}
}

func (s silence) Run(ctx context.Context, offer func(source.Offer)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.stop:
		return s.shelf.Run(ctx, offer)
	}
}

// faulty waits until the row of the worker says that a source has a fault, or has none.
func faulty(w *e2etest.World, name string, want bool) {
	w.T.Helper()
	w.Until(func() bool {
		workers, err := w.Store.WorkerSources(w.T.Context())
		return err == nil && len(workers) == 1 && slices.ContainsFunc(workers[0].Sources, func(s pgcatalog.SourceState) bool {
			return s.Name == name && (s.Fault != "") == want && (s.Since != "") == want
		})
	}, fmt.Sprintf("%s is faulty: %t", name, want))
}

func doctor(w *e2etest.World) string {
	w.T.Helper()
	c := w.Command("doctor")
	c.Wait()
	return c.Out.String()
}

// TestConflictingDefinitions: a worker that finds another definition of one of its tools logs that, and `pawl doctor` names the tool until the workers have the
// same definition.
func TestConflictingDefinitions(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	s := newShelf("first", e2etest.Tool("test__both", e2etest.Echo))
	w.Work(worker.Sources(s))
	listed(w, "test__both extension first")
	other := newShelf("second", e2etest.Tool("test__both", e2etest.Echo, e2etest.Version("2")))
	w.Work(worker.Sources(other))
	w.Until(func() bool { return w.Log.Has("running workers have different definitions of tools", "test__both") }, "the log names the tool")
	if text := doctor(w); !strings.Contains(text, "FAIL  sources") || !strings.Contains(text, "different definitions of test__both") {
		t.Errorf("doctor says\n%s", text)
	}
	s.put(e2etest.Tool("test__both", e2etest.Echo, e2etest.Version("2")))
	w.Until(func() bool { return strings.Contains(doctor(w), "ok    sources     2 work") }, "the workers agree")
}
