package workflows_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// deployed is a source of tools. From the lookup with the number from on, it returns the tool of a later deploy.
type deployed struct {
	judge.Source
	later       *catalog.Bound
	looks, from atomic.Int64
}

func (d *deployed) Get(toolID string) (*catalog.Bound, bool) {
	if d.looks.Add(1) >= d.from.Load() {
		return d.later, true
	}
	return d.Source.Get(toolID)
}

func (d *deployed) Find(toolID, _ string) (*catalog.Bound, bool) { return d.Get(toolID) }

// TestToolThatBecomesAWrite: a deploy turns a fast read into a tool with an external
// side effect, just before a call runs the tool. The arguments are validated and the call
// is judged again, and the call leaves the local lane, which writes no claim.
func TestToolThatBecomesAWrite(t *testing.T) {
	runs := 0
	later, err := catalog.Bind(toolspec.Define(toolspec.Definition{
		ID: "core__read", Description: "test tool", Version: "2", Effect: toolspec.ExternalSideEffect, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		runs++
		return echoOut{Text: in.Text}, errPlain
	}), toolspec.Capabilities{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, rigOptions{source: func(s judge.Source) judge.Source {
		d := &deployed{Source: s, later: later}
		d.from.Store(3) // admit and hydrate still have the old tool
		return d
	}})
	result := r.run(call("core__read", args))
	if result.ErrorCode != toolspec.CodeExecution || runs != 1 || r.records.claimed != 1 {
		t.Errorf("got %+v after %d runs with %d claims, want one claimed attempt", result, runs, r.records.claimed)
	}
	if got := r.records.settled[0].Attempts; len(got) != 1 || got[0].Lane != hook.RegularLane {
		t.Errorf("attempts %+v", got)
	}
}

// deploy returns a source with a later tool from the lookup with the number from on. The
// lookups are, in order, of admit, hydrate and execute.
func deploy(t *testing.T, from int64, later toolspec.Tool) func(judge.Source) judge.Source {
	t.Helper()
	bound, err := catalog.Bind(later, toolspec.Capabilities{})
	if err != nil {
		t.Fatal(err)
	}
	return func(s judge.Source) judge.Source {
		d := &deployed{Source: s, later: bound}
		d.from.Store(from)
		return d
	}
}

// TestToolThatLosesItsIdempotence: after a deploy that makes a tool not repeatable, the call
// runs the new tool at most once, and only if no attempt of the old tool may have had an effect.
func TestToolThatLosesItsIdempotence(t *testing.T) {
	for _, tc := range []struct {
		name   string
		from   int64
		fail   error
		code   toolspec.Code
		old    int
		later  int
		claims int
	}{
		{"before hydrate", 2, nil, toolspec.CodeExecution, 0, 1, 1},
		{"before the first attempt", 3, nil, toolspec.CodeExecution, 0, 1, 1},
		{"after one that failed", 4, errPlain, toolspec.CodeExecution, 1, 0, 1},
		{"after one that did nothing", 4, toolspec.RetryAfter(0, "busy"), toolspec.CodeExecution, 1, 1, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			later := 0
			r := newRig(t, rigOptions{
				policy: freePolicy, fail: func(int) error { return tc.fail },
				source: deploy(t, tc.from, toolspec.Define(toolspec.Definition{
					ID: "core__write", Description: "test tool", Version: "2", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
					Redaction: toolspec.Redaction{Allow: []string{"/text"}},
				}, func(context.Context, echoIn, toolspec.Call) (echoOut, error) { later++; return echoOut{}, errPlain })),
			})
			result := r.run(call("core__write", args))
			if result.ErrorCode != tc.code || r.ran() != tc.old || later != tc.later || r.records.claimed != tc.claims {
				t.Errorf("got %+v after %d runs of the old tool and %d of the new one, with %d claims", result, r.ran(), later, r.records.claimed)
			}
		})
	}
}

// TestLostAttemptOfWhatMayNoLongerBeRepeated: after a lost attempt, a deploy makes the tool not
// repeatable. The claim of that attempt keeps the new tool from running, although the plan
// allows another attempt.
func TestLostAttemptOfWhatMayNoLongerBeRepeated(t *testing.T) {
	later := 0
	r := newRig(t, rigOptions{policy: freePolicy, source: deploy(t, 4, toolspec.Define(toolspec.Definition{
		ID: "core__write", Description: "test tool", Version: "2", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(context.Context, echoIn, toolspec.Call) (echoOut, error) { later++; return echoOut{}, nil }))})
	r.records.onClaim = func(n int) (contract.Outcome, error) {
		if n == 1 {
			r.records.written(true)
			return dies, nil
		}
		return "", nil
	}
	result := r.run(call("core__write", args))
	if result.ErrorCode != toolspec.CodeOutcomeUnknown || result.Details.Cause != string(contract.CauseLost) || later != 0 {
		t.Errorf("got %+v %+v after %d runs of the new tool", result, result.Details, later)
	}
}

// TestToolThatGainsIdempotence: if a deploy makes a tool repeatable, a running call still makes
// only the one attempt of its plan.
func TestToolThatGainsIdempotence(t *testing.T) {
	later := 0
	r := newRig(t, rigOptions{policy: freePolicy, source: deploy(t, 3, toolspec.Define(toolspec.Definition{
		ID: "core__mail", Description: "test tool", Version: "2", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(context.Context, echoIn, toolspec.Call) (echoOut, error) { later++; return echoOut{}, errPlain }))})
	result := r.run(call("core__mail", args))
	if result.ErrorCode != toolspec.CodeExecution || later != 1 || len(r.records.rows) != 1 || r.records.rows[0].Repeatable {
		t.Errorf("got %+v after %d runs, claims %+v", result, later, r.records.rows)
	}
}

// TestToolThatBecomesAWriteBeforeHydrate: a deploy before hydrate gives a read an external side
// effect. The gate judges the new tool, and the call leaves the local lane.
func TestToolThatBecomesAWriteBeforeHydrate(t *testing.T) {
	var judged []toolspec.Effect
	look := hook.New("look", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { judged = append(judged, v.Effect()); return nil }))
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{look}, source: deploy(t, 2, toolspec.Define(toolspec.Definition{
		ID: "core__read", Description: "test tool", Version: "2", Effect: toolspec.ExternalSideEffect, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: in.Text}, nil
	}))})
	result := r.run(call("core__read", args))
	if got := r.records.settled[0].Attempts; !result.OK || len(got) != 1 || got[0].Lane != hook.RegularLane || r.records.claimed != 1 {
		t.Errorf("got %+v with the attempts %+v", result, got)
	}
	if want := []toolspec.Effect{toolspec.ReadOnly, toolspec.ExternalSideEffect}; !slices.Equal(judged, want) {
		t.Errorf("the gate judged %v, want %v", judged, want)
	}
}

// TestToolThatMasksMore: the recorded arguments are masked as the old tool and the new tool
// demand together.
func TestToolThatMasksMore(t *testing.T) {
	define := func(version string, mask ...string) toolspec.Tool {
		return toolspec.Define(toolspec.Definition{
			ID: "core__masked", Description: "test tool", Version: version, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: mask},
		}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
			return echoOut{Text: in.Text}, nil
		})
	}
	for name, tc := range map[string]struct {
		before, after []string
		want          string
	}{
		"more":    {[]string{"/text"}, []string{"/text", "/mode"}, `{"mode":"***","text":"***"}`},
		"another": {[]string{"/text"}, []string{"/mode"}, `{"mode":"***","text":"***"}`},
		"less":    {[]string{"/text"}, nil, `{"mode":"fast","text":"***"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{define("1", tc.before...)}, source: deploy(t, 3, define("2", tc.after...))})
			result := r.run(call("core__masked", `{"text":"hello","mode":"fast"}`))
			got := r.records.settled[0]
			if !result.OK || string(got.SafeArgs) != tc.want {
				t.Errorf("got %+v with %s, want %s", result, got.SafeArgs, tc.want)
			}
		})
	}
}

// TestToolThatMasksMoreOfTheHistory: the masks of a new tool also apply to the earlier arguments.
func TestToolThatMasksMoreOfTheHistory(t *testing.T) {
	define := func(version string, mask ...string) toolspec.Tool {
		return toolspec.Define(toolspec.Definition{
			ID: "core__masked", Description: "test tool", Version: version, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: mask},
		}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
			return echoOut{Text: in.Text}, nil
		})
	}
	change := hook.New("h", hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error {
		v.SetArgs(echoIn{Text: "changed", Mode: "canary"})
		return nil
	}))
	// The third lookup is of willParseInput. The hydrate after it finds the new tool.
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{change}, tools: []toolspec.Tool{define("1")}, source: deploy(t, 4, define("2", "/mode"))})
	result := r.run(call("core__masked", `{"text":"hello","mode":"canary"}`))
	const want = `[{"mode":"***","text":"hello"} {"mode":"***","text":"changed"}]`
	if got := fmt.Sprintf("%s", r.records.settled[0].InputHistory); !result.OK || got != want {
		t.Errorf("got %+v with %s, want %s", result, got, want)
	}
}

// TestNewerPlan: a call with a newer plan waits for a worker that supports the plan, and ends
// with unavailable if there is none until the deadline.
func TestNewerPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		until  int
		cancel time.Duration
		code   toolspec.Code
		took   time.Duration
	}{
		"for a while": {4, 0, "", 7 * time.Second},
		"for good":    {1 << 20, 0, toolspec.CodeUnavailable, 15*time.Minute + 30*time.Second},
		"cancelled":   {1 << 20, time.Minute, toolspec.CodeCancelled, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy})
			r.records.onAdmit = func(n int, row *admit.Record) {
				if row.Plan.V = hook.PlanVersion; n < tc.until {
					row.Plan.V++
				}
			}
			if tc.cancel > 0 {
				r.env.RegisterDelayedCallback(r.env.CancelWorkflow, tc.cancel)
			}
			result := r.run(call("core__remote", args))
			took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond
			if result.ErrorCode != tc.code || took < tc.took || took > tc.took+2*time.Minute || len(r.records.settled) != 1 || (r.ran() == 1) != (tc.code == "") {
				t.Errorf("got %+v after %s and %d runs, settled %d times", result, took, r.ran(), len(r.records.settled))
			}
			if tc.code == toolspec.CodeUnavailable && result.SafeMessage != "no worker has what the call needs: "+judge.PlanName(hook.PlanVersion+1) {
				t.Errorf("the message is %q", result.SafeMessage)
			}
		})
	}
}
