package worker

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/legacy"
)

func idle(name string, options ...hook.Option) hook.Hook {
	return hook.New(name, append(options, hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }))...)
}

// TestHooksAreChecked: a worker with an invalid hook does not start. The log names a hook that never runs.
func TestHooksAreChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start(Hooks(idle("twice"), idle("twice"))).expectError(`hook "twice" is registered twice`)
	w.start(ToolHooks("core__ls", idle("endless", hook.Durable(0)))).expectError("tool core__ls", `hook "endless"`, "at least a millisecond")
	inside := hook.New("inside", hook.Durable(time.Second), hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil }))
	w.start(Hooks(inside)).expectError(`hook "inside" is durable`, "part of the execute activity")
	r := w.start(ToolHooks("core__lss", idle("misspelt")), ToolHooks("core__ls", idle("right")))
	r.waitForLog(runs)
	if text := w.log.String(); strings.Count(text, "hooks stand on a tool that this worker does not have") != 1 || !strings.Contains(text, "toolId=core__lss") {
		t.Errorf("the log says\n%s", text)
	}
}

// TestALegacyTool: a tool of the old form runs with its hooks around it. Its hooks do not run for other tools.
func TestALegacyTool(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", rules)
	type in struct {
		Text string `json:"text"`
	}
	type out struct {
		Text string `json:"text"`
	}
	var mu sync.Mutex
	var seen []string
	saw := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, what)
	}
	imported, hooks := legacy.Tool[in, out]{
		ID: "shout", ProvidedBy: "test", Description: "Shouts.",
		Contract: toolspec.Definition{Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}}},
		Execute: func(_ context.Context, in in, _ toolspec.Call) (out, error) {
			saw("execute " + in.Text)
			return out{strings.ToUpper(in.Text)}, nil
		},
		PreHook:  func(_ context.Context, c legacy.Call, in in) error { saw("pre " + in.Text); return nil },
		PostHook: func(_ context.Context, c legacy.Call, in in, out out) error { saw("post " + out.Text); return nil },
	}.Import()
	w.start(Tools(imported, tool("test__other")), ToolHooks(imported.Definition().ID, hooks...)).waitForLog(runs)
	result, err := w.invoke("test__shout", "shout", `{"text":"hey"}`)
	if err != nil || string(result.Value) != `{"text":"HEY"}` {
		t.Fatalf("got %+v, %v", result, err)
	}
	mu.Lock()
	all := strings.Join(seen, ", ")
	seen = nil
	mu.Unlock()
	// On a slow machine an attempt may be lost at any point, and another attempt follows.
	if !regexp.MustCompile(`^(pre hey, (execute hey, (post HEY, )?)?)*pre hey, execute hey, post HEY$`).MatchString(all) {
		t.Errorf("seen: %q", all)
	}
	if _, err := w.invoke("test__other", "other", `{}`); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(seen, func(what string) bool { return !strings.HasSuffix(strings.ToLower(what), " hey") }) {
		t.Errorf("seen with another tool: %q", seen)
	}
}

// TestMainFunction: Main runs until SIGTERM, and returns the exit status.
func TestMainFunction(t *testing.T) {
	w := newWorld(t) // before setEnvironment hides the cache with the Temporal CLI
	setEnvironment(t, map[string]string{"PAWL_LOG_LEVEL": "loud"})
	if status := Main(); status != 1 {
		t.Errorf("a faulty configuration: %d", status)
	}
	setEnvironment(t, map[string]string{"PAWL_LOG_LEVEL": "error"})
	if status := Main(); status != 1 {
		t.Errorf("no database: %d", status)
	}
	// A worker that accepted the misspelled variable would wait for this database.
	setEnvironment(t, map[string]string{"PAWL_LOG_LEVEL": "error", "PAWL_DATABASE_URL": "postgres://pawl@127.0.0.1:1/pawl", "PAWL_DATABSE_URL": "x"})
	if status := Main(); status != 1 {
		t.Errorf("an unknown variable: %d", status)
	}
	t.Setenv("PAWL_DATABSE_URL", "")
	setEnvironment(t, map[string]string{
		"TEMPORAL_ADDRESS": w.config.Temporal.HostPort, "TEMPORAL_NAMESPACE": w.config.Temporal.Namespace,
		"PAWL_DATABASE_URL": w.config.DatabaseURL, "PAWL_WORKSPACE": w.config.Workspace, "PAWL_SWEEP_EVERY": "off",
		"PAWL_POLICY": w.file("policy.yaml", rules), "PAWL_LOG_LEVEL": "error",
	})
	status := make(chan int, 1)
	go func() { status <- Main(Tools(tool("test__own"))) }()
	if result, err := w.invoke("test__own", "own", `{"text":"a"}`); err != nil || string(result.Value) != `{"text":"own a"}` {
		t.Errorf("got %+v, %v", result, err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-status:
		if got != 0 {
			t.Errorf("told to stop: %d", got)
		}
	case <-time.After(waitTimeout):
		t.Fatal("it does not end")
	}
}
