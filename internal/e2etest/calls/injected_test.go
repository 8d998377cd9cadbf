package calls

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/worker"
)

// fixedClock always returns the same time.
type fixedClock struct{ at time.Time }

func (c fixedClock) Now() time.Time { return c.at }

func (fixedClock) Zone(name string) (*time.Location, error) { return time.LoadLocation(name) }

// TestFixedClock: a tool gets its time from the clock that is bound for its call (CX-09).
func TestFixedClock(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	token := provide.NewToken[capability.Clock]("clock")
	stopped := provide.NewFactory("stopped", token, func(_ context.Context, unixMs int64) (capability.Clock, error) {
		return fixedClock{time.UnixMilli(unixMs)}, nil
	})
	at := time.Date(1999, 12, 31, 23, 59, 59, 987_000_000, time.UTC)
	w.Work(worker.Providers(provide.Factories(stopped), provide.Backs(token, capability.ClockKey)),
		worker.Hooks(hook.New("stop-the-clock", hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error {
			if v.ToolCallID() != "stopped" {
				return nil
			}
			r, err := stopped.With(at.UnixMilli())
			v.Bind(r)
			return err
		}))))
	injected := func(id string) (out struct {
		Time   string
		UnixMs int64
	}) {
		r := w.Invoke(e2etest.Invocation(id, "core__get_current_time", `{"timezone":"Europe/Berlin"}`))
		if err := json.Unmarshal(r.Value, &out); err != nil {
			t.Fatalf("%s: %+v: %v", id, r, err)
		}
		return out
	}
	if got := injected("stopped"); got.UnixMs != at.UnixMilli() || got.Time != "2000-01-01T00:59:59.987+01:00" {
		t.Errorf("got %+v", got)
	}
	if got := injected("running"); got.UnixMs < time.Now().Add(-time.Hour).UnixMilli() {
		t.Errorf("the clock of one call stands still for another: %+v", got)
	}
}

// TestOneInstance: a hook that resolves a token and a tool with the capability of that token get the same instance (CX-10).
func TestOneInstance(t *testing.T) {
	t.Parallel()
	type thing struct{ name string }
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	token, key := provide.NewToken[*thing]("thing"), toolspec.NewCapability[*thing]("thing")
	made := provide.NewFactory("thing", token, func(_ context.Context, name string) (*thing, error) { return &thing{name}, nil })
	var mu sync.Mutex
	seen := map[string][]*thing{}
	see := func(id string, it *thing) {
		mu.Lock()
		defer mu.Unlock()
		seen[id] = append(seen[id], it)
	}
	w.Work(
		worker.Capabilities(key.Provide(&thing{"the worker's"})),
		worker.Providers(provide.Factories(made), provide.Backs(token, key)),
		worker.Hooks(hook.New("bind-and-look",
			hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error {
				r, err := made.With(v.ToolCallID())
				v.Bind(r)
				return err
			}),
			hook.WillAudit.Do(func(ctx context.Context, v *hook.Audit) error {
				it, ok, err := provide.TryGet(ctx, v.Providers(), token)
				if ok {
					see(v.ToolCallID(), it)
				}
				return err
			}))),
		worker.Tools(e2etest.Tool("test__thing", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			see(call.ToolCallID, key.From(call))
			return e2etest.Out{Text: key.From(call).name}, nil
		}, e2etest.Fast, func(d *toolspec.Definition) { d.Capabilities = []toolspec.CapabilityName{key.Name()} })))
	for _, id := range []string{"one", "two"} {
		e2etest.WantText(t, w.Invoke(e2etest.Invocation(id, "test__thing", `{}`)), id)
		mu.Lock()
		s := seen[id]
		mu.Unlock()
		if len(s) != 2 || s[0] == nil || s[0] != s[1] {
			t.Errorf("%s: the tool and the hook have %v", id, s)
		}
	}
	if seen["one"][0] == seen["two"][0] {
		t.Error("two calls share what each of them bound")
	}
}
