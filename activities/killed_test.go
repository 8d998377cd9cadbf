package activities_test

import (
	"context"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestKillSwitchStopsStages: a kill switch for the effect of the tool fails both stages of the gate before any
// hook runs. Other stages are not affected.
func TestKillSwitchStopsStages(t *testing.T) {
	every := hook.Kill{ID: 1, Reason: "why"}
	ours, other := hook.Kill{ID: 2, Effect: toolspec.StateChange, Reason: "why"}, hook.Kill{ID: 3, Effect: toolspec.ReadOnly, Reason: "why"}
	for name, tc := range map[string]struct {
		stage hook.Stage
		kills []hook.Kill
		stops bool
	}{
		"none":               {hook.WillAuthorize.Stage(), nil, false},
		"every effect":       {hook.WillAuthorize.Stage(), []hook.Kill{every}, true},
		"with arguments":     {hook.WillCheckConsent.Stage(), []hook.Kill{every}, true},
		"the effect":         {hook.WillAuthorize.Stage(), []hook.Kill{other, ours}, true},
		"another effect":     {hook.WillCheckConsent.Stage(), []hook.Kill{other}, false},
		"not at the gate":    {hook.WillParseInput.Stage(), []hook.Kill{every}, false},
		"nor on the way out": {hook.WillFinalizeInvoke.Stage(), []hook.Kill{every}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ran := false
			run := func() error { ran = true; return nil }
			w := newWorld(t, setup{policy: strings.Replace(openPolicy, "mode: auto", "mode: yolo", 1), gate: true, hooks: []hook.Hook{hook.New("h",
				hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return run() }),
				hook.WillCheckConsent.Do(func(context.Context, *hook.Consent) error { return run() }),
				hook.WillParseInput.Do(func(context.Context, *hook.Input) error { return run() }),
				hook.WillFinalizeInvoke.Do(func(context.Context, *hook.Report) error { return run() }),
			)}})
			got := w.stage(t, tc.stage, func(f *hook.Facts) { f.Kills = tc.kills })
			if tc.stops {
				// The kill switch counts before a part that this worker lacks.
				unread := w.stage(t, tc.stage, func(f *hook.Facts) {
					f.Kills, f.PolicyDigest, f.Bindings = tc.kills, "unreadable", []hook.Binding{{Recipe: provide.Recipe{Factory: "gone"}}}
				})
				if unread.Outcome != hook.Failed || unread.By != got.By {
					t.Errorf("on a worker that lacks policy and factory: %+v", unread)
				}
			}
			if !tc.stops {
				if got.Outcome != hook.Continue || !ran {
					t.Errorf("got %+v, the hook ran: %v", got, ran)
				}
				return
			}
			if got.Outcome != hook.Failed || got.Failure.Code != toolspec.CodePolicyDenied || got.Failure.SafeMessage != "a kill switch stops this call: why" ||
				got.Failure.Details.Rule != "kill switch" || got.Delta.Rule != "kill switch" || ran {
				t.Errorf("got %+v, the hook ran: %v", got, ran)
			}
		})
	}
}

// TestKillSwitchOpensNoRequest: no request is opened for the approval of a call that a kill switch stops. The
// request about the unknown outcome of a parked call is opened.
func TestKillSwitchOpensNoRequest(t *testing.T) {
	w := newWorld(t, setup{})
	f := w.facts()
	f.Kills = []hook.Kill{{ID: 1, Reason: "why"}}
	got, err := w.Request(t.Context(), contract.RequestIn{Facts: f})
	if err != nil || got.Outcome != contract.Refused || got.Failure.Code != toolspec.CodePolicyDenied || len(w.records.requests) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	// This policy parks no call, so the answer is a refusal without a failure.
	if got, err = w.Request(t.Context(), contract.RequestIn{Facts: f, Parked: "timeout"}); err != nil || got.Outcome != contract.Refused || got.Failure != nil {
		t.Errorf("parked: got %+v, %v", got, err)
	}
}

// TestStagesOnAWorkerThatLacksAFactory: a stage that fails closed waits for a worker with the factory. A stage whose failures are only
// logged runs without it: the call has ended by then.
func TestStagesOnAWorkerThatLacksAFactory(t *testing.T) {
	for stage, runs := range map[hook.Stage]bool{
		hook.WillParseInput.Stage(): false, hook.WillAuthorize.Stage(): false, hook.WillFinalizeInvoke.Stage(): true, hook.OnError.Stage(): true,
	} {
		ran := false
		run := func() error { ran = true; return nil }
		w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h",
			hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return run() }),
			hook.WillParseInput.Do(func(context.Context, *hook.Input) error { return run() }),
			hook.OnError.Do(func(context.Context, *hook.Report) error { return run() }),
			hook.WillFinalizeInvoke.Do(func(context.Context, *hook.Report) error { return run() }),
		)}})
		got := w.stage(t, stage, func(f *hook.Facts) { f.Bindings = []hook.Binding{{Recipe: provide.Recipe{Factory: "gone"}}} })
		if ran != runs || (got.Outcome == hook.Missing) == runs || !runs && got.By != "factory gone" {
			t.Errorf("%s: got %+v, the hook ran: %v", stage, got, ran)
		}
	}
}
