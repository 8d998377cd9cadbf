package hook_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/hook"
)

// handlers returns handlers at stages with different order rules.
func handlers() []hook.Option {
	none := func(hook.Stage) {}
	return []hook.Option{
		on(hook.WillAuthorize, none), on(hook.AroundExecute, none), on(hook.OnError, none), on(hook.OnRetry, none), on(hook.OnMetrics, none),
		on(hook.DidExecute, none), on(hook.DidCacheHit, none), on(hook.DidCreateInvokeContext, none), on(hook.DidReleaseQuota, none),
		on(hook.WillRedactOutput, none),
	}
}

func newHook(name string, options ...hook.Option) hook.Hook {
	return hook.New(name, append(handlers(), options...)...)
}

func TestOrder(t *testing.T) {
	global := []hook.Hook{
		newHook("g-default-1"), newHook("g-low", hook.Priority(-5)), newHook("g-high", hook.Priority(100)), newHook("g-default-2"),
	}
	tool := []hook.Hook{newHook("t-default"), newHook("t-high", hook.Priority(100)), newHook("t-highest", hook.Priority(101))}
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), global, map[string][]hook.Hook{"core__a": tool, "core__b": {newHook("other")}})
	if err != nil {
		t.Fatal(err)
	}
	const (
		highFirst = "t-highest g-high t-high g-default-1 g-default-2 t-default g-low"
		highLast  = "g-low g-default-1 g-default-2 t-default g-high t-high t-highest"
	)
	for stage, want := range map[hook.Stage]string{
		hook.WillAuthorize.Stage():          highFirst,
		hook.AroundExecute.Stage():          highFirst,
		hook.OnError.Stage():                highFirst,
		hook.OnRetry.Stage():                highFirst,
		hook.OnMetrics.Stage():              highFirst,
		hook.WillRedactOutput.Stage():       highFirst,
		hook.DidExecute.Stage():             highLast,
		hook.DidCacheHit.Stage():            highLast,
		hook.DidCreateInvokeContext.Stage(): highLast,
		hook.DidReleaseQuota.Stage():        highLast,
		hook.WillExecute.Stage():            "",
	} {
		if got := strings.Join(r.Names(stage, "core__a"), " "); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", stage, got, want)
		}
	}
	if got := strings.Join(r.Names(hook.OnError.Stage(), "core__b"), " "); strings.Contains(got, " t-") || !strings.Contains(got, "other") {
		t.Errorf("the other tool has %s", got)
	}
	if got := strings.Join(r.Names(hook.OnError.Stage(), "core__c"), " "); strings.Contains(got, " t-") || strings.Contains(got, "other") {
		t.Errorf("a tool without hooks of its own has %s", got)
	}
}

// TestOrderProperty: for any set of hooks, a higher priority never runs later at will* nor earlier
// at did*, and hooks of equal priority keep their order.
func TestOrderProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		priorities := rapid.SliceOfN(rapid.IntRange(-2, 2), 1, 8).Draw(t, "priorities")
		cut := rapid.IntRange(0, len(priorities)).Draw(t, "tool hooks from")
		var global, tool []hook.Hook
		rank := map[string]int{}
		for i, p := range priorities {
			h := newHook(fmt.Sprintf("h%d", i), hook.Priority(p))
			rank[h.Name()] = i
			if i < cut {
				global = append(global, h)
			} else {
				tool = append(tool, h)
			}
		}
		r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), global, map[string][]hook.Hook{"core__a": tool})
		if err != nil {
			t.Fatal(err)
		}
		for stage, sign := range map[hook.Stage]int{hook.WillAuthorize.Stage(): -1, hook.DidExecute.Stage(): 1} {
			names := r.Names(stage, "core__a")
			if len(names) != len(priorities) {
				t.Fatalf("%s has %v", stage, names)
			}
			for i := 1; i < len(names); i++ {
				a, b := rank[names[i-1]], rank[names[i]]
				pa, pb := priorities[a], priorities[b]
				if sign*(pa-pb) > 0 || pa == pb && a > b {
					t.Fatalf("%s: %s (%d) before %s (%d)", stage, names[i-1], pa, names[i], pb)
				}
			}
		}
	})
}

func TestRegistryRefuses(t *testing.T) {
	ok := newHook("fine")
	for _, tc := range []struct {
		name   string
		global []hook.Hook
		tool   []hook.Hook
		want   string
	}{
		{"no name", []hook.Hook{newHook("")}, nil, `hook "": the name must be`},
		{"capitals", []hook.Hook{newHook("Fine")}, nil, "the name must be"},
		{"a digit first", []hook.Hook{newHook("1st")}, nil, "the name must be"},
		{"a dot", []hook.Hook{newHook("a.b")}, nil, "the name must be"},
		{"too long", []hook.Hook{newHook("a" + strings.Repeat("b", 63))}, nil, "the name must be"},
		{"the longest", []hook.Hook{newHook("a" + strings.Repeat("b", 62))}, nil, ""},
		{"no handler", []hook.Hook{hook.New("idle", hook.Priority(1))}, nil, `hook "idle" has no handler`},
		{"two handlers", []hook.Hook{newHook("twice", on(hook.OnError, func(hook.Stage) {}))}, nil, `hook "twice" has two handlers at onError`},
		{"a name twice", []hook.Hook{ok, ok}, nil, `hook "fine" is registered twice`},
		{"a name twice, once for a tool", []hook.Hook{ok}, []hook.Hook{ok}, `tool core__a: hook "fine" is registered twice`},
		{"a bad hook of a tool", nil, []hook.Hook{newHook("")}, `tool core__a: hook ""`},
		{"nothing", nil, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := hook.NewRegistry(slog.New(slog.DiscardHandler), tc.global, map[string][]hook.Hook{"core__a": tc.tool})
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// noOwn reports that no stage has a step of Pawl's own.
func noOwn(hook.Stage) bool { return false }

// TestSteps: the plan has no idle stages, and always has hydrate.
func TestSteps(t *testing.T) {
	r, _ := registry(t, hook.New("h", on(hook.WillAuthorize, func(hook.Stage) {}), on(hook.WillAudit, func(hook.Stage) {})))
	p := hook.Plan{Pre: r.Steps(hook.Pre(), "core__a", noOwn), Post: r.Steps(hook.Post(), "core__a", noOwn), Error: r.Steps(hook.Error(), "core__a", noOwn)}
	if got := strings.Join(p.Stages(), " "); got != "willAuthorize hydrate willAudit" {
		t.Errorf("stages: %s", got)
	}
	if step, ok := p.Step(hook.WillAudit.Stage()); !ok || step.Phase != hook.PhaseAudit || len(step.Hooks) != 1 || step.Hooks[0] != "h" {
		t.Errorf("step: %+v, %v", step, ok)
	}
	if _, ok := p.Step(hook.OnError.Stage()); ok {
		t.Error("an idle stage is in the plan")
	}
	if len(r.Steps(hook.Execute(), "core__a", noOwn)) != 0 {
		t.Error("execute has steps")
	}
}

// TestNotOn: a hook runs only at stages for which it has a function, even if the plan names it at
// another stage.
func TestNotOn(t *testing.T) {
	r, _ := registry(t, hook.New("h", hook.WillAudit.Do(func(context.Context, *hook.Audit) error { return nil })))
	v, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillAuthorize.Stage(), Hooks: []string{"h"}}, hook.Delta{})
	if err != nil || v.Outcome != hook.Missing || v.By != "h" {
		t.Errorf("got %+v, %v", v, err)
	}
}

// TestOwnSteps is the golden table of Pawl's own steps. If it changes, raise hook.PlanVersion:
// a worker of an older release would skip the step.
func TestOwnSteps(t *testing.T) {
	const version, golden = 5, `willBindProviders sessions
willAuthorize policy
willCheckConsent policy
willCheckFeatureFlags features on demand
willAcquireQuota quota on demand
willAcquireSemaphore semaphore on demand
willValidateInput validation
willNormalizeInput validation
willInjectSecrets connections on demand
willReadCache cache on demand
didCacheHit cache on demand
willWriteCache cache on demand
willAudit audit
`
	r, _ := registry(t)
	all := func(hook.Stage) bool { return true }
	var got strings.Builder
	for _, step := range r.Steps(hook.All(), "core__a", all) {
		if step.Own == "" {
			t.Errorf("%s is in the plan without hooks and without a step of Pawl", step.Stage)
		}
		fmt.Fprint(&got, step.Stage, " ", step.Own)
		if step.OnDemand {
			got.WriteString(" on demand")
		}
		got.WriteString("\n")
	}
	if got.String() != golden || hook.PlanVersion != version {
		t.Errorf("plan version %d has\n%swant %d with\n%s", hook.PlanVersion, got.String(), version, golden)
	}
}

// TestOnDemand: Pawl's own step stays on demand if the stage also has hooks of users.
func TestOnDemand(t *testing.T) {
	r, _ := registry(t, hook.New("user", hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return nil })))
	for _, own := range []bool{true, false} {
		p := hook.Plan{Pre: r.Steps(hook.Pre(), "core__a", func(hook.Stage) bool { return own })}
		step, ok := p.Step("willAcquireQuota")
		if !ok || step.OnDemand != own || (step.Own == "quota") != own || len(step.Hooks) != 1 {
			t.Errorf("own %t: %+v", own, step)
		}
	}
}

// TestReservedNames: a hook cannot have the name of a step of Pawl.
func TestReservedNames(t *testing.T) {
	for _, name := range []string{"policy", "validation", "cache", "audit", "shadow", "redaction"} {
		h := hook.New(name, hook.WillAudit.Do(func(context.Context, *hook.Audit) error { return nil }))
		if _, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{h}, nil); err == nil || !strings.Contains(err.Error(), "Pawl has a step of this name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
