package secrets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/worker"
)

var (
	greeter = provide.NewToken[string]("greeter")
	greeted = toolspec.NewCapability[string]("greeter")
)

// greeting returns the options of a worker whose tools get a greeting: the one that the call, its session or the worker has bound. made counts the instances
// of the factory.
func greeting(made *atomic.Int32, note func(string)) []worker.Option {
	f := provide.NewFactory("greeting", greeter, func(_ context.Context, word string) (string, error) {
		made.Add(1)
		if word == "fail" {
			return "", errors.New("canary")
		}
		return word, nil
	})
	bind := hook.New("bind", hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error {
		for prefix, scope := range map[string]provide.Scope{"request-": provide.Request, "session-": provide.Session,
			"global-": provide.Global} {
			if word, ok := strings.CutPrefix(v.ToolCallID(), prefix); ok {
				r, err := f.With(word)
				if err != nil {
					return err
				}
				v.BindIn(scope, r)
			}
		}
		return nil
	}))
	look := hook.New("look", hook.WillAudit.Do(func(ctx context.Context, v *hook.Audit) error {
		word, ok, err := provide.TryGet(ctx, v.Providers(), greeter)
		note(fmt.Sprintf("%s %s %t %v", v.ToolCallID(), word, ok, err))
		return nil
	}))
	hello := func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		return e2etest.Out{Text: greeted.From(call) + " " + greeted.From(call)}, nil
	}
	declared := func(d *toolspec.Definition) { d.Capabilities = []toolspec.CapabilityName{greeted.Name()} }
	return []worker.Option{
		worker.Capabilities(greeted.Provide("worker")),
		worker.Providers(provide.Factories(f), provide.Backs(greeter, greeted)),
		worker.Hooks(bind, look), worker.Tools(e2etest.Tool("test__fast", hello, e2etest.Fast, declared),
			e2etest.Tool("test__asked", hello, e2etest.Once, e2etest.Risky, declared)),
	}
}

// TestProviders: a binding of a call is for this call alone. A binding of a session is also for the later calls of the session, on every worker. The binding of
// the worker is used if there is no other (DI-01 to DI-04, DI-12, DI-14, CX-14).
func TestProviders(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var made atomic.Int32
	notes := make(chan string, 64)
	options := greeting(&made, func(s string) { notes <- s })
	stop := w.Work(options...)
	invoke := func(id, session string) toolspec.Result {
		inv := e2etest.Invocation(id, "test__fast", `{}`)
		inv.Context.SessionID = session
		return w.Invoke(inv)
	}
	e2etest.WantText(t, invoke("plain", "s1"), "worker worker")
	if got := e2etest.Receive(t, notes); got != "plain  false <nil>" {
		t.Errorf("the hook saw %q", got)
	}
	e2etest.WantText(t, invoke("request-one", "s1"), "one one")
	if got := e2etest.Receive(t, notes); got != "request-one one true <nil>" || made.Load() != 1 {
		t.Errorf("the hook saw %q; %d were made", got, made.Load())
	}
	e2etest.WantText(t, invoke("after-request", "s1"), "worker worker")
	e2etest.WantText(t, invoke("session-two", "s1"), "two two")
	e2etest.WantText(t, invoke("after-session", "s1"), "two two")
	e2etest.WantText(t, invoke("request-three", "s1"), "three three")
	e2etest.WantText(t, invoke("elsewhere", "s2"), "worker worker")
	if n := made.Load(); n != 3 {
		t.Errorf("%d instances were made, want one for each binding", n)
	}
	other := e2etest.Invocation("other-tenant", "test__fast", `{}`)
	other.Context.TenantID, other.Context.SessionID = "globex", "s1"
	e2etest.WantText(t, w.Invoke(other), "worker worker")
	e2etest.WantCode(t, invoke("global-four", "s1"), toolspec.CodeInternal)
	e2etest.WantCode(t, invoke("session-none", ""), toolspec.CodeInternal)
	e2etest.WantCode(t, invoke("request-fail", "s1"), toolspec.CodeInternal)

	// Another worker makes the instance again from the recorded recipe.
	asked := e2etest.Invocation("session-six", "test__asked", `{}`)
	asked.Context.SessionID = "s1"
	call := w.Start(asked)
	w.Waiting(call.WorkflowID)
	stop()
	before := made.Load()
	w.Work(options...)
	w.Approve(call.WorkflowID)
	e2etest.WantText(t, w.Result(call), "six six")
	if n := made.Load(); n != before+1 {
		t.Errorf("the second worker made %d", n-before)
	}
	e2etest.WantText(t, invoke("last", "s1"), "six six")
	if versions := e2etest.Scalar[string](w, `SELECT string_agg(token || ' ' || version, ', ') FROM session_bindings WHERE session_id = 's1'`); versions != "greeter 2" {
		t.Errorf("the session has %q", versions)
	}
	w.Replay(call.WorkflowID)
}

// TestFactoryIsMissing: a call with a recipe whose factory the worker does not have waits for a worker that has it.
func TestFactoryIsMissing(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var made atomic.Int32
	options := greeting(&made, func(string) {})
	stop := w.Work(options...)
	call := w.Start(e2etest.Invocation("request-late", "test__asked", `{}`))
	w.Waiting(call.WorkflowID)
	stop()
	// This worker has the same options without the factory.
	stop = w.Work(append(greeting(&made, func(string) {})[2:], worker.Capabilities(greeted.Provide("worker")))...)
	w.Approve(call.WorkflowID)
	w.Until(func() bool {
		state, err := w.Pawl.State(t.Context(), call.WorkflowID)
		return err == nil && state.Approval == nil && state.Status == toolspec.StatusRunning
	}, "the call goes on")
	stop()
	if n := e2etest.Scalar[int](w, `SELECT count(*)::int FROM claims`); n != 0 {
		t.Errorf("%d claims by a worker that cannot provide", n)
	}
	w.Work(options...)
	e2etest.WantText(t, w.Result(call), "late late")
}

// TestOverriddenRoot: a call reads only under the root directory that was bound for it (DI-13).
func TestOverriddenRoot(t *testing.T) {
	t.Parallel()
	// The cache must not answer a call that has another root.
	w := e2etest.NewWorld(t, strings.Replace(e2etest.PlainPolicy, "    mode: auto\n",
		"    mode: auto\n    cache: [{tool: core__read_file, for: 1m}]\n", 1))
	other := t.TempDir()
	for dir, text := range map[string]string{w.Workspace: "ours", other: "theirs"} {
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(w.Workspace, "only.txt"), []byte("ours\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := provide.NewToken[capability.Files]("files")
	f := provide.NewFactory("root", token, func(_ context.Context, dir string) (capability.Files, error) { return files.Open(dir) })
	w.Work(worker.Providers(provide.Factories(f), provide.Backs(token, capability.FilesKey)),
		worker.Hooks(hook.New("root", hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error {
			if !strings.HasPrefix(v.ToolCallID(), "there") {
				return nil
			}
			r, err := f.With(other)
			v.Bind(r)
			return err
		}))))
	read := func(id, path string) toolspec.Result {
		return w.Invoke(e2etest.Invocation(id, "core__read_file", fmt.Sprintf(`{"path":%q}`, path)))
	}
	for _, tc := range []struct {
		id, want string
		source   toolspec.Source
	}{
		{"here", "ours", toolspec.SourceExecuted}, {"there", "theirs", toolspec.SourceExecuted}, {"here-again", "ours", toolspec.SourceCache},
		{"there-again", "theirs", toolspec.SourceExecuted},
	} {
		if r := read(tc.id, "a.txt"); !r.OK || !strings.Contains(string(r.Value), tc.want) || r.Source != tc.source {
			t.Errorf("%s: %+v", tc.id, r)
		}
	}
	for id, path := range map[string]string{"there-1": "only.txt", "there-2": filepath.Join(w.Workspace, "a.txt"),
		"there-3": "../" + filepath.Base(w.Workspace) + "/a.txt"} {
		if r := read(id, path); r.OK {
			t.Errorf("%s read %s: %s", id, path, r.Value)
		}
	}
}

// TestUnknownFactory: if a hook binds a recipe whose factory its own worker does not have, that is an error of the program, and the call does not wait (DI-08).
func TestUnknownFactory(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	unknown := provide.NewFactory("unknown", greeter, func(_ context.Context, s string) (string, error) { return s, nil })
	w.Work(worker.Tools(e2etest.Tool("test__fast", e2etest.Echo, e2etest.Fast)),
		worker.Hooks(hook.New("bind", hook.WillBindProviders.Do(func(_ context.Context, v *hook.Binder) error {
			r, err := unknown.With("x")
			v.Bind(r)
			return err
		}))))
	e2etest.WantCode(t, w.Invoke(e2etest.Invocation("unknown", "test__fast", `{}`)), toolspec.CodeInternal)
}
