package hook_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/hook"
)

func listed(list []hook.Info) string {
	var b strings.Builder
	for _, info := range list {
		fmt.Fprintf(&b, "%s %s %s\n", info.Stage, info.Phase, info.Failure)
	}
	return b.String()
}

// TestLists: the lists Pre, Execute, Post and Error have the documented order. No other code orders stages (LC-41).
func TestLists(t *testing.T) {
	golden(t, "pre.golden", listed(hook.Pre()))
	golden(t, "execute.golden", listed(hook.Execute()))
	golden(t, "post.golden", listed(hook.Post()))
	golden(t, "error.golden", listed(hook.Error()))
	golden(t, "all.golden", listed(hook.All()))
}

// documented is the order of the stages in docs/lifecycle.md, repeated here on purpose.
const documented = `willCreateInvokeContext didCreateInvokeContext willBindProviders willAuthorize willCheckConsent willCheckFeatureFlags
willAcquireQuota willAcquireSemaphore willParseInput willValidateInput willNormalizeInput willRedactInput willInjectSecrets willReadCache
didCacheHit didCacheMiss onRetry aroundExecute willExecute didExecute onGiveUp willWriteCache willRedactOutput willValidateOutput
willTransformOutput onError willAudit didAudit onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke`

func TestAllStages(t *testing.T) {
	var names []string
	for _, info := range hook.All() {
		names = append(names, string(info.Stage))
		if found, ok := hook.InfoOf(info.Stage); !ok || found != info {
			t.Errorf("%s is found as %+v", info.Stage, found)
		}
	}
	if want := strings.Fields(documented); !slices.Equal(names, want) {
		t.Errorf("got %d stages\n%v\nwant\n%v", len(names), names, want)
	}
	if _, ok := hook.InfoOf(hook.Hydrate); ok {
		t.Error("hydrate is a stage for hooks")
	}
	if _, ok := hook.InfoOf("willDance"); ok {
		t.Error("willDance is a stage")
	}
}

// TestListsAreCopies: a caller that changes a returned list does not change the lists of other
// callers.
func TestListsAreCopies(t *testing.T) {
	for name, list := range map[string]func() []hook.Info{
		"Pre": hook.Pre, "Execute": hook.Execute, "Post": hook.Post, "Error": hook.Error, "All": hook.All,
	} {
		before := listed(list())
		got := list()
		slices.Reverse(got)
		_ = append(got[:1], hook.Info{Stage: "willDance"})
		if listed(list()) != before {
			t.Errorf("a write into %s changed it", name)
		}
	}
}

// TestClosedStages: an error at a stage that only observes the call does not fail the call.
func TestClosedStages(t *testing.T) {
	var logged []string
	for _, info := range hook.All() {
		if info.Failure == hook.Logged {
			logged = append(logged, string(info.Stage))
		}
	}
	want := strings.Fields(`onGiveUp willWriteCache onError willAudit didAudit onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke`)
	if !slices.Equal(logged, want) {
		t.Errorf("logged: %v", logged)
	}
}

// points has the 32 points by their expected names.
var points = map[string]interface{ Stage() hook.Stage }{
	"WillCreateInvokeContext": hook.WillCreateInvokeContext, "DidCreateInvokeContext": hook.DidCreateInvokeContext,
	"WillBindProviders": hook.WillBindProviders, "WillAuthorize": hook.WillAuthorize, "WillCheckConsent": hook.WillCheckConsent,
	"WillCheckFeatureFlags": hook.WillCheckFeatureFlags, "WillAcquireQuota": hook.WillAcquireQuota, "WillAcquireSemaphore": hook.WillAcquireSemaphore,
	"WillParseInput": hook.WillParseInput, "WillValidateInput": hook.WillValidateInput, "WillNormalizeInput": hook.WillNormalizeInput,
	"WillRedactInput": hook.WillRedactInput, "WillInjectSecrets": hook.WillInjectSecrets, "WillReadCache": hook.WillReadCache,
	"DidCacheHit": hook.DidCacheHit, "DidCacheMiss": hook.DidCacheMiss, "OnRetry": hook.OnRetry, "AroundExecute": hook.AroundExecute,
	"WillExecute": hook.WillExecute, "DidExecute": hook.DidExecute, "OnGiveUp": hook.OnGiveUp, "WillWriteCache": hook.WillWriteCache,
	"WillRedactOutput": hook.WillRedactOutput, "WillValidateOutput": hook.WillValidateOutput, "WillTransformOutput": hook.WillTransformOutput,
	"OnError": hook.OnError, "WillAudit": hook.WillAudit, "DidAudit": hook.DidAudit, "OnMetrics": hook.OnMetrics,
	"DidReleaseSemaphore": hook.DidReleaseSemaphore, "DidReleaseQuota": hook.DidReleaseQuota, "WillFinalizeInvoke": hook.WillFinalizeInvoke,
}

func TestPointsAreNamedForTheirStages(t *testing.T) {
	if len(points) != len(hook.All()) {
		t.Fatalf("%d points, %d stages", len(points), len(hook.All()))
	}
	for name, p := range points {
		if want := strings.ToLower(name[:1]) + name[1:]; string(p.Stage()) != want {
			t.Errorf("hook.%s is %s", name, p.Stage())
		}
	}
}

// TestRights records the methods of each view that not every view has. A new right needs a change
// of the golden file, so it cannot appear by accident.
func TestRights(t *testing.T) {
	everywhere := methods(reflect.TypeFor[*hook.Begin]())
	everywhere = slices.DeleteFunc(everywhere, func(m string) bool { return m == "Abort" || m == "Put" })
	var b strings.Builder
	fmt.Fprintf(&b, "everywhere: %s\n", strings.Join(everywhere, " "))
	for _, info := range hook.All() {
		name := string(info.Stage)
		do := reflect.ValueOf(points[strings.ToUpper(name[:1])+name[1:]]).MethodByName("Do").Type()
		view := do.In(0).In(1)
		own := methods(view)
		for _, m := range everywhere {
			i := slices.Index(own, m)
			if i < 0 {
				t.Fatalf("%v lacks %s", view, m)
			}
			own = slices.Delete(own, i, i+1)
		}
		fmt.Fprintf(&b, "%s %v: %s\n", info.Stage, view, strings.Join(own, " "))
	}
	golden(t, "rights.golden", b.String())
}

func methods(view reflect.Type) []string {
	var names []string
	for m := range view.Methods() {
		names = append(names, m.Name)
	}
	return names
}

// everywhere returns a hook that calls note at every stage.
func everywhere(note func(stage hook.Stage)) hook.Hook {
	var handlers []hook.Option
	at := func(s hook.Stage) { note(s) }
	handlers = append(handlers, on(hook.WillCreateInvokeContext, at), on(hook.DidCreateInvokeContext, at), on(hook.WillBindProviders, at),
		on(hook.WillAuthorize, at), on(hook.WillCheckConsent, at), on(hook.WillCheckFeatureFlags, at), on(hook.WillAcquireQuota, at),
		on(hook.WillAcquireSemaphore, at), on(hook.WillParseInput, at), on(hook.WillValidateInput, at), on(hook.WillNormalizeInput, at),
		on(hook.WillRedactInput, at), on(hook.WillInjectSecrets, at), on(hook.WillReadCache, at), on(hook.DidCacheHit, at),
		on(hook.DidCacheMiss, at), on(hook.OnRetry, at), on(hook.WillExecute, at), on(hook.DidExecute, at), on(hook.OnGiveUp, at),
		on(hook.WillWriteCache, at), on(hook.WillRedactOutput, at), on(hook.WillValidateOutput, at), on(hook.WillTransformOutput, at),
		on(hook.OnError, at), on(hook.WillAudit, at), on(hook.DidAudit, at), on(hook.OnMetrics, at), on(hook.DidReleaseSemaphore, at),
		on(hook.DidReleaseQuota, at), on(hook.WillFinalizeInvoke, at),
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			at(hook.AroundExecute.Stage())
			_, err := v.Next()
			return err
		}))
	return hook.New("everywhere", handlers...)
}

func on[V any](p hook.Point[V], at func(hook.Stage)) hook.Handler {
	return p.Do(func(context.Context, V) error { at(p.Stage()); return nil })
}

// TestEveryStageRuns: Run or Attempt runs each of the 32 stages.
func TestEveryStageRuns(t *testing.T) {
	var seen []string
	r, _ := registry(t, everywhere(func(s hook.Stage) { seen = append(seen, string(s)) }))
	inside := []hook.Stage{hook.AroundExecute.Stage(), hook.WillExecute.Stage(), hook.DidExecute.Stage()}
	for _, info := range hook.All() {
		if slices.Contains(inside, info.Stage) {
			continue
		}
		v, err := r.Run(t.Context(), hook.StageInput{Stage: info.Stage, Hooks: []string{"everywhere"}}, hook.Delta{})
		if err != nil || v.Outcome != hook.Continue || len(v.Notes) > 0 {
			t.Errorf("%s: %+v, %v", info.Stage, v, err)
		}
	}
	all := []string{"everywhere"}
	v := r.Attempt(t.Context(), hook.AttemptInput{Around: all, WillExecute: all, DidExecute: all}, value(`{}`))
	if v.Outcome != hook.Continue || v.Err != nil {
		t.Errorf("attempt: %+v", v)
	}
	slices.Sort(seen)
	want := strings.Fields(documented)
	slices.Sort(want)
	if !slices.Equal(seen, want) {
		t.Errorf("ran %v", seen)
	}
}
