package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// recorder is a hook at all 32 stages that records the stages that really ran, in their
// order. Unlike the record of the call, it does not depend on what the workflow reports.
type recorder struct {
	mu   sync.Mutex
	seen []string
	// at returns the result of the hook at a stage. If at is nil, the call continues.
	at func(s hook.Stage, view any) error
}

func (r *recorder) note(s hook.Stage, view any) error {
	r.mu.Lock()
	r.seen = append(r.seen, string(s))
	r.mu.Unlock()
	if r.at == nil {
		return nil
	}
	return r.at(s, view)
}

// unseen removes the last entry if it is of the stage s, because the stage runs again.
func (r *recorder) unseen(s hook.Stage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.seen); n > 0 && r.seen[n-1] == string(s) {
		r.seen = r.seen[:n-1]
	}
}

func on[V any](r *recorder, p hook.Point[V]) hook.Handler {
	return p.Do(func(_ context.Context, v V) error { return r.note(p.Stage(), v) })
}

func (r *recorder) hook() hook.Hook {
	return hook.New("recorder",
		on(r, hook.WillCreateInvokeContext), on(r, hook.DidCreateInvokeContext), on(r, hook.WillBindProviders), on(r, hook.WillAuthorize),
		on(r, hook.WillCheckConsent), on(r, hook.WillCheckFeatureFlags), on(r, hook.WillAcquireQuota), on(r, hook.WillAcquireSemaphore),
		on(r, hook.WillParseInput), on(r, hook.WillValidateInput), on(r, hook.WillNormalizeInput), on(r, hook.WillRedactInput),
		on(r, hook.WillInjectSecrets), on(r, hook.WillReadCache), on(r, hook.DidCacheHit), on(r, hook.DidCacheMiss), on(r, hook.OnRetry),
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			if err := r.note(hook.AroundExecute.Stage(), v); err != nil {
				return err
			}
			_, err := v.Next()
			return err
		}),
		on(r, hook.WillExecute), on(r, hook.DidExecute), on(r, hook.OnGiveUp), on(r, hook.WillWriteCache), on(r, hook.WillRedactOutput),
		on(r, hook.WillValidateOutput), on(r, hook.WillTransformOutput), on(r, hook.OnError), on(r, hook.WillAudit), on(r, hook.DidAudit),
		on(r, hook.OnMetrics), on(r, hook.DidReleaseSemaphore), on(r, hook.DidReleaseQuota), on(r, hook.WillFinalizeInvoke))
}

// successOrder is the order of stages of a call that succeeds (LC-36).
const successOrder = `willCreateInvokeContext didCreateInvokeContext willBindProviders willAuthorize willCheckConsent willCheckFeatureFlags
willAcquireQuota willAcquireSemaphore willParseInput willValidateInput willNormalizeInput willRedactInput willInjectSecrets willReadCache
didCacheMiss aroundExecute willExecute didExecute willWriteCache willRedactOutput willValidateOutput willTransformOutput willAudit didAudit
onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke`

// errorOrder is the order of the last stages of a call that fails (C-06).
const errorOrder = `onError willAudit didAudit onMetrics didReleaseSemaphore didReleaseQuota willFinalizeInvoke`

// TestEveryStageInOrder compares the stages that run, with a hook at all 32 stages, with golden files.
func TestEveryStageInOrder(t *testing.T) {
	abortAt := func(stage hook.Stage) func(hook.Stage, any) error {
		return func(s hook.Stage, view any) error {
			if s != stage {
				return nil
			}
			return view.(interface {
				Abort(string, ...hook.AbortOption) error
			}).Abort("stopped")
		}
	}
	found := func(s hook.Stage, view any) error {
		switch v := view.(type) {
		case *hook.Lookup:
			v.Found(echoOut{Text: "cached"})
		case *hook.Cached:
			return v.Respond(v.Value())
		}
		return nil
	}
	for _, tc := range []struct {
		name  string
		tool  string
		at    func(hook.Stage, any) error
		rig   rigOptions
		setup func(*rig)
		code  toolspec.Code
	}{
		{name: "all_read", tool: "core__read"},
		{name: "all_read_regular_lane", tool: "core__remote"},
		{name: "all_write_approved", tool: "core__write", setup: func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob") }},
		{name: "all_failing", tool: "core__read", rig: rigOptions{fail: func(int) error { return errPlain }}, code: toolspec.CodeExecution},
		{name: "all_recovering", tool: "core__remote", rig: rigOptions{fail: func(run int) error {
			if run == 1 {
				return errPlain
			}
			return nil
		}}},
		{name: "all_abort_first", tool: "core__read", at: abortAt("willCreateInvokeContext"), code: toolspec.CodeAborted},
		{name: "all_abort_gate", tool: "core__read", at: abortAt("willAuthorize"), code: toolspec.CodeAborted},
		{name: "all_abort_execute", tool: "core__remote", at: abortAt("willExecute"), code: toolspec.CodeAborted},
		{name: "all_abort_output", tool: "core__read", at: abortAt("willValidateOutput"), code: toolspec.CodeAborted},
		{name: "all_cache_hit", tool: "core__read", at: found},
		{name: "all_cache_hit_ignored", tool: "core__read", at: func(s hook.Stage, view any) error {
			if v, ok := view.(*hook.Lookup); ok {
				v.Found(echoOut{Text: "cached"})
			}
			return nil
		}},
		{name: "all_unknown_tool", tool: "core__other", code: toolspec.CodeUnavailable},
		{name: "all_denied", tool: "core__read", rig: rigOptions{policy: denyingPolicy}, code: toolspec.CodePolicyDenied},
		{name: "all_give_up_at_once", tool: "core__read", rig: rigOptions{
			policy: strings.Replace(freePolicy, "mode: auto", "mode: auto\n    budgets: {maxAttempts: 1}", 1), fail: func(int) error { return errPlain },
		}, code: toolspec.CodeExecution},
		{name: "all_unknown_outcome", tool: "core__wire", rig: rigOptions{policy: freePolicy, tools: []toolspec.Tool{(&wire{lost: 1}).tool()}}, code: toolspec.CodeOutcomeUnknown},
		{name: "all_probed", tool: "core__wire", rig: rigOptions{policy: freePolicy, tools: []toolspec.Tool{(&wire{lost: 1, probe: func(int) (toolspec.Found[echoOut], error) {
			return toolspec.FoundNoEffect[echoOut](), nil
		}}).tool()}}},
		{name: "all_parked", tool: "core__wire", rig: rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{(&wire{lost: 1}).tool()}},
			setup: func(r *rig) { r.decideAfter(time.Minute, 1, toolspec.SettleOK, "user:bob") }},
		{name: "all_cancelled_waiting", tool: "core__write", setup: func(r *rig) { r.env.RegisterDelayedCallback(r.env.CancelWorkflow, time.Minute) }, code: toolspec.CodeCancelled},
		{name: "all_cancelled_retrying", tool: "core__remote", rig: rigOptions{policy: slowRetries, fail: func(int) error { return errPlain }},
			setup: func(r *rig) { r.env.RegisterDelayedCallback(r.env.CancelWorkflow, 30*time.Second) }, code: toolspec.CodeCancelled},
		{name: "all_tool_responds", tool: "core__mail", rig: rigOptions{policy: freePolicy, fail: func(int) error { return toolspec.Respond(echoOut{Text: "mine"}) }}},
		{name: "all_tool_aborts", tool: "core__remote", rig: rigOptions{fail: func(int) error { return toolspec.Abort("no", "own", 403) }}, code: toolspec.CodeAborted},
		{name: "all_tool_busy", tool: "core__remote", rig: rigOptions{fail: func(run int) error {
			if run == 1 {
				return toolspec.RetryAfter(1500*time.Millisecond, "busy")
			}
			return nil
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := &recorder{at: tc.at}
			tc.rig.hooks = []hook.Hook{rec.hook()}
			r := newRig(t, tc.rig)
			if tc.setup != nil {
				tc.setup(r)
			}
			if result := r.run(call(tc.tool, args)); result.ErrorCode != tc.code {
				t.Errorf("got %+v, want %q", result, tc.code)
			}
			golden(t, tc.name, strings.Join(rec.seen, "\n")+"\n")
			checkPath(t, rec.seen, tc.code != "")
			if tc.name == "all_read" && !slices.Equal(rec.seen, strings.Fields(successOrder)) {
				t.Errorf("the order is not that of LC-36: %v", rec.seen)
			}
		})
	}
}

// TestVerbsAtEveryStage: how a call ends if a hook aborts or answers it, at each stage that allows this. The golden file has the stages that run.
func TestVerbsAtEveryStage(t *testing.T) {
	type aborts interface {
		Abort(string, ...hook.AbortOption) error
	}
	type responds interface{ Respond(any) error }
	var b strings.Builder
	for _, verb := range []string{"abort", "respond"} {
		for _, stage := range stageNames() {
			legal := false
			rec := &recorder{at: func(s hook.Stage, view any) error {
				if string(s) != stage {
					return nil
				}
				if v, ok := view.(aborts); ok && verb == "abort" {
					legal = true
					return v.Abort("stopped")
				}
				if v, ok := view.(responds); ok && verb == "respond" {
					legal = true
					return v.Respond(echoOut{Text: "answered"})
				}
				return nil
			}}
			cached := hook.New("finds", hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
				if stage == "didCacheHit" {
					v.Found(echoOut{Text: "cached"})
				}
				return nil
			}))
			// The first attempt fails, so that onRetry runs too.
			r := newRig(t, rigOptions{hooks: []hook.Hook{rec.hook(), cached}, fail: func(run int) error {
				if run == 1 {
					return errPlain
				}
				return nil
			}})
			result := r.run(call("core__remote", args))
			if !legal {
				continue
			}
			fmt.Fprintf(&b, "%s at %s: %s\n", verb, stage, strings.Join(rec.seen, " "))
			if want := map[string]toolspec.Code{"abort": toolspec.CodeAborted}[verb]; result.ErrorCode != want || verb == "respond" && string(result.Value) != `{"text":"answered"}` {
				t.Errorf("%s at %s ends with %+v", verb, stage, result)
			}
			if result.OK && result.Source == toolspec.SourceExecuted {
				t.Errorf("%s at %s counts as executed", verb, stage)
			}
			checkPath(t, rec.seen, verb == "abort")
		}
	}
	golden(t, "verbs", b.String())
}

// checkPath checks the rules for the stages of every call, however the call ends.
func checkPath(t interface{ Errorf(string, ...any) }, seen []string, failed bool) {
	if n := strings.Count(" "+strings.Join(seen, " ")+" ", " willFinalizeInvoke "); n != 1 || seen[len(seen)-1] != "willFinalizeInvoke" {
		t.Errorf("willFinalizeInvoke ran %d times in %v", n, seen)
	}
	ending := strings.Fields(errorOrder)
	if !failed {
		ending = ending[1:]
	}
	if len(seen) < len(ending) || !slices.Equal(seen[len(seen)-len(ending):], ending) {
		t.Errorf("it ends with %v, want %v", seen, ending)
	}
	if i := slices.Index(seen, "onError"); (i >= 0) != failed {
		t.Errorf("onError at %d: %v", i, seen)
	}
	// The input stages run once, and in order.
	last := -1
	for _, s := range strings.Fields("willParseInput willValidateInput willNormalizeInput willRedactInput") {
		for i, name := range seen {
			if name == s {
				if i < last {
					t.Errorf("%s stands at %d, after %d: %v", s, i, last, seen)
				}
				last = i
			}
		}
		if strings.Count(" "+strings.Join(seen, " ")+" ", " "+s+" ") > 1 {
			t.Errorf("%s ran twice: %v", s, seen)
		}
	}
}

// TestInputStagesRunOnce: if the gate requires an approval only because an input stage has
// changed the arguments, the input stages do not run again.
func TestInputStagesRunOnce(t *testing.T) {
	rec := &recorder{at: func(s hook.Stage, view any) error {
		if v, ok := view.(*hook.Input); ok && s == hook.WillNormalizeInput.Stage() {
			v.SetArgs(echoIn{Text: "normal"})
		}
		if v, ok := view.(*hook.Consent); ok && string(v.Args()) == `{"text":"normal"}` && !v.Approved() {
			return v.RequireApproval(hook.Ask{Message: "normal"})
		}
		return nil
	}}
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{rec.hook()}})
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	result := r.run(call("core__write", args))
	if !result.OK || string(result.Value) != `{"text":"normal"}` {
		t.Errorf("got %+v", result)
	}
	checkPath(t, rec.seen, false)
}

// TestEveryPathFinalises: for random actions of hooks at random stages, a call runs its closing stages
// once and in order, settles once, and never has both a value and an error.
func TestEveryPathFinalises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		acts := rapid.MapOfN(rapid.SampledFrom(stageNames()), rapid.SampledFrom([]string{"abort", "respond", "challenge", "retry", "ask", "error", "passing", "panic", "set", "put", "drop"}), 0, 4).Draw(rt, "acts")
		tool := rapid.SampledFrom([]string{"core__read", "core__remote", "core__write", "core__mail", "core__none"}).Draw(rt, "tool")
		failures := rapid.IntRange(0, 3).Draw(rt, "failures")
		verb := rapid.SampledFrom([]toolspec.Verb{"", toolspec.Approve, toolspec.Deny, toolspec.Withdraw}).Draw(rt, "decision")
		cancel := rapid.SampledFrom([]time.Duration{0, 30 * time.Second, 90 * time.Second}).Draw(rt, "cancel")
		failure := rapid.SampledFrom([]error{
			errPlain, toolspec.Safef("safe"), toolspec.RetryAfter(time.Second, "busy"), toolspec.Abort("no", "own", 403),
			toolspec.Respond(echoOut{Text: "responded"}), toolspec.RespondChallenge("sign here"),
		}).Draw(rt, "failure")
		passed := map[hook.Stage]bool{}
		rec := &recorder{}
		rec.at = func(s hook.Stage, view any) error {
			if acts[string(s)] == "passing" && !passed[s] { // a transient error, only in the first run
				passed[s] = true
				rec.unseen(s)
				return errs.Transient(errPlain)
			}
			return act(acts[string(s)], view)
		}
		r := newRig(t, rigOptions{policy: slowRetries, hooks: []hook.Hook{rec.hook()}, fail: func(run int) error {
			if run <= failures {
				return failure
			}
			return nil
		}})
		if verb != "" {
			r.decideAfter(time.Minute, 1, verb, "user:bob")
		}
		if cancel > 0 {
			r.env.RegisterDelayedCallback(r.env.CancelWorkflow, cancel)
		}
		result := r.run(call(tool, args))
		checkPath(rt, rec.seen, !result.OK)
		if len(r.records.settled) != 1 || r.records.settles != 1 {
			rt.Fatalf("settled %d times", r.records.settles)
		}
		last := r.records.settled[0].Stages
		finals := slices.DeleteFunc(slices.Clone(last), func(e contract.StageEvent) bool { return e.Stage != "willFinalizeInvoke" })
		if len(finals) != 1 || last[len(last)-1].Stage != "willFinalizeInvoke" {
			rt.Errorf("willFinalizeInvoke is recorded %d times in %+v", len(finals), last)
		}
		if result.OK == (result.ErrorCode != "") || !result.OK && len(result.Value) > 0 || result.OK && !result.ErrorCode.Known() && result.ErrorCode != "" {
			rt.Errorf("result %+v", result)
		}
		if strings.Contains(fmt.Sprintf("%+v", result), "canary") {
			rt.Errorf("the canary is in %+v", result)
		}
	})
}

func stageNames() []string {
	var names []string
	for _, info := range hook.All() {
		names = append(names, string(info.Stage))
	}
	return names
}

// act does the action what, if the view of the stage allows it. Otherwise it does nothing.
func act(what string, view any) error {
	value := echoOut{Text: "of a hook", Hidden: "canary"}
	switch what {
	case "abort":
		if v, ok := view.(interface {
			Abort(string, ...hook.AbortOption) error
		}); ok {
			return v.Abort("stopped")
		}
	case "respond":
		if v, ok := view.(interface{ Respond(any) error }); ok {
			return v.Respond(value)
		}
	case "challenge":
		if v, ok := view.(interface{ RespondChallenge(any) error }); ok {
			return v.RespondChallenge("sign here")
		}
	case "retry":
		if v, ok := view.(interface {
			RetryAfter(time.Duration, string) error
		}); ok {
			return v.RetryAfter(time.Second, "later")
		}
	case "ask":
		if v, ok := view.(*hook.Consent); ok && !v.Approved() {
			return v.RequireApproval(hook.Ask{Message: "why"})
		}
	case "drop":
		if v, ok := view.(interface{ Respond(any) error }); ok {
			_ = v.Respond(value)
		}
	case "error":
		return errors.New("canary")
	case "panic":
		panic("canary")
	case "set":
		if v, ok := view.(interface{ SetOutput(any) }); ok {
			v.SetOutput(value)
		}
		if v, ok := view.(interface{ SetArgs(any) }); ok {
			v.SetArgs(echoIn{Text: "set"})
		}
	case "put":
		if v, ok := view.(interface{ Put(string, any) }); ok {
			v.Put("k", 1)
		}
	}
	return nil
}
