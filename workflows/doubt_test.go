package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// wire is a tool that must not be repeated. The first attempts, whose number is lost, give no
// answer. The function probe, if it is set, reports whether they took effect.
type wire struct {
	mu           sync.Mutex
	lost         int
	fences, fast bool
	runs, probes int
	epochs       []int
	// at, if it is set, is called at the start of each attempt.
	at    func()
	probe func(n int) (toolspec.Found[echoOut], error)
}

func (w *wire) tool() toolspec.Tool {
	def := toolspec.Definition{
		ID: "core__wire", Description: "test tool", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Timeout: time.Second, Fences: w.fences, Fast: w.fast,
	}
	run := func(ctx context.Context, in echoIn, call toolspec.Call) (echoOut, error) {
		w.mu.Lock()
		w.epochs = append(w.epochs, call.Epoch)
		w.runs++
		hangs := w.runs <= w.lost
		w.mu.Unlock()
		if w.at != nil {
			w.at()
		}
		if hangs {
			<-ctx.Done()
			return echoOut{}, ctx.Err()
		}
		return echoOut{Text: in.Text}, nil
	}
	if w.probe == nil {
		return toolspec.Define(def, run)
	}
	return toolspec.DefineWithProbe(def, run, func(_ context.Context, in echoIn, call toolspec.Call) (toolspec.Found[echoOut], error) {
		w.mu.Lock()
		w.probes++
		n := w.probes
		w.epochs = append(w.epochs, call.Epoch)
		w.mu.Unlock()
		if in.Text != "hello" || call.IdempotencyKey != call.InvocationID {
			return toolspec.Found[echoOut]{}, errors.New("not the call that was lost")
		}
		return w.probe(n)
	})
}

// TestProbe: how a call ends after each finding of the probe about an attempt that gave no answer.
func TestProbe(t *testing.T) {
	t.Parallel()
	happened := toolspec.FoundEffect(echoOut{Text: "found", Hidden: "hidden"})
	for _, tc := range []struct {
		name         string
		lost         int
		probe        func(n int) (toolspec.Found[echoOut], error)
		runs, probes int
		code         toolspec.Code // "" = ok
		text         string
		attempts     int
		gaveUp       int
	}{
		{"it took effect", 1, func(int) (toolspec.Found[echoOut], error) { return happened, nil }, 1, 1, "", "found", 1, 0},
		{"it took effect, says the third probe", 1, func(n int) (toolspec.Found[echoOut], error) {
			switch n {
			case 1:
				return toolspec.Found[echoOut]{}, errPlain
			case 2:
				panic("canary-9f3")
			}
			return happened, nil
		}, 1, 3, "", "found", 1, 0},
		{"it had no effect", 1, func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil }, 2, 2, "", "hello", 2, 0},
		{"it had none, again and again", 9, func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil }, 3, 6, toolspec.CodeTimeout, "", 3, 1},
		{"nobody knows", 1, func(int) (toolspec.Found[echoOut], error) { return toolspec.Found[echoOut]{}, nil }, 1, 4, toolspec.CodeOutcomeUnknown, "", 1, 0},
		{"the probe fails", 1, func(int) (toolspec.Found[echoOut], error) { return happened, errPlain }, 1, 4, toolspec.CodeOutcomeUnknown, "", 1, 0},
		{"the value breaks the contract", 1, func(int) (toolspec.Found[echoOut], error) {
			return toolspec.FoundEffect(echoOut{Text: strings.Repeat("x", 2<<20)}), nil
		}, 1, 1, toolspec.CodeResultTooLarge, "", 1, 0},
		{"nothing was lost", 0, func(int) (toolspec.Found[echoOut], error) { return happened, nil }, 1, 0, "", "hello", 1, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := &wire{lost: tc.lost, probe: tc.probe}
			counter := &retryCounter{}
			r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{w.tool()}, hooks: []hook.Hook{counter.hook()}})
			result := r.run(call("core__wire", args))
			w.mu.Lock() // a tool that timed out may still be at it
			defer w.mu.Unlock()
			if result.OK != (tc.code == "") || result.ErrorCode != tc.code || result.Attempts != tc.attempts || w.runs != tc.runs || w.probes != tc.probes || counter.gaveUp != tc.gaveUp {
				t.Errorf("got %+v after %d runs and %d probes, gave up %d times\n%s", result, w.runs, w.probes, counter.gaveUp, r.stages())
			}
			if tc.text != "" && string(result.Value) != `{"text":"`+tc.text+`"}` {
				t.Errorf("the value is %s", result.Value)
			}
			if !slices.IsSorted(w.epochs) || tc.probes > 0 && w.epochs[0] == w.epochs[1] {
				t.Errorf("the epochs are %v; a probe has a higher one than the attempts before it", w.epochs)
			}
		})
	}
}

// TestProbeWhileAnAttemptMayRun: while an attempt may still run, the finding "no effect" counts only if the service refuses requests of
// earlier attempts. The finding of an effect counts at any time. This is the same in the claimed lane.
func TestProbeWhileAnAttemptMayRun(t *testing.T) {
	t.Parallel()
	none := toolspec.FoundNoEffect[echoOut]()
	happened := toolspec.FoundEffect(echoOut{Text: "hello"})
	var unclear toolspec.Found[echoOut]
	cases := []lostAttempt{
		{"no effect", true, false, []toolspec.Found[echoOut]{none}, 1, 1, true, false, ""},
		{"no effect, of a function that has returned", false, false, []toolspec.Found[echoOut]{none}, 1, 1, true, false, ""},
		{"no effect, and then an effect", false, false, []toolspec.Found[echoOut]{none, happened}, 1, 1, false, false, ""},
		{"an effect", true, false, []toolspec.Found[echoOut]{happened}, 1, 0, false, false, ""},
		{"an effect, of a function that has returned", false, false, []toolspec.Found[echoOut]{happened}, 1, 0, false, false, ""},
		{"unclear, and then an effect", true, false, []toolspec.Found[echoOut]{unclear, happened}, 1, 1, false, false, ""},
		{"unclear", true, false, []toolspec.Found[echoOut]{unclear}, 1, 3, false, false, toolspec.CodeOutcomeUnknown},
		{"no effect behind a fence", true, true, []toolspec.Found[echoOut]{none}, 1, 0, true, true, ""},
		{"no effect behind a fence, of a function that has returned", false, true, []toolspec.Found[echoOut]{none}, 1, 0, true, true, ""},
		{"an effect behind a fence", true, true, []toolspec.Found[echoOut]{happened}, 1, 0, false, false, ""},
		{"unclear behind a fence, and then none", true, true, []toolspec.Found[echoOut]{unclear, none}, 1, 1, true, false, ""},
	}
	const over = time.Second + overMargin
	for _, in := range []struct {
		name     string
		fast     bool
		lostTask bool
		over     time.Duration // the time after which the first attempt is over
	}{
		{"regular lane", false, false, over},
		{"claimed lane", true, false, over},
		// The attempt that finds the claim of the lost task has waited until endMargin before the claim is over.
		{"claimed lane, of a lost workflow task", true, true, endMargin},
	} {
		for _, tc := range cases {
			if in.lostTask && !tc.gone {
				continue
			}
			t.Run(in.name+"/"+tc.name, func(t *testing.T) {
				t.Parallel()
				tc.check(t, &wire{fences: tc.fences, fast: in.fast}, in.lostTask, in.over)
			})
		}
	}
}

// lostAttempt is a case of TestProbeWhileAnAttemptMayRun.
type lostAttempt struct {
	name string
	// gone says that the worker dies during the first attempt. Otherwise the function of the tool returns at its timeout.
	gone, fences bool
	finds        []toolspec.Found[echoOut] // of the probes; the last finding counts for all further probes
	// early and late are the numbers of probes before and after the time of the first attempt is over.
	early, late int
	// again says that there is another attempt. soon says that it begins before the time of the first attempt is over.
	again, soon bool
	code        toolspec.Code // "" = ok
}

// check runs a call of the tool w. lostTask says that the call begins with the claim of a workflow task that was lost. The first attempt
// is over after the time over.
func (tc lostAttempt) check(t *testing.T, w *wire, lostTask bool, over time.Duration) {
	var r *rig
	var asked, began []time.Duration
	since := func() time.Duration { return r.env.Now().Sub(time.UnixMilli(r.records.startedAt)) }
	w.at = func() { began = append(began, since()) }
	w.probe = func(n int) (toolspec.Found[echoOut], error) {
		asked = append(asked, since())
		return tc.finds[min(n, len(tc.finds))-1], nil
	}
	if !tc.gone {
		w.lost = 1
	}
	r = newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{w.tool()}})
	if lostTask {
		r.records.onAdmit = func(n int, row *admit.Record) {
			if n == 1 {
				row.Epoch, row.Rounds.Dispatch = 2, 1
				r.records.claims[1] = claimed{id: "before", over: r.records.now().Add(over)}
			}
		}
	} else if tc.gone {
		r.records.onClaim = func(n int) (contract.Outcome, error) {
			if n == 1 {
				r.records.written(false)
				return dies, nil
			}
			return "", nil
		}
	}
	result := r.run(call("core__wire", args))
	if result.ErrorCode != tc.code || len(asked) != tc.early+tc.late {
		t.Fatalf("got %+v; the probe was asked after %v", result, asked)
	}
	for i, d := range asked {
		if early := d < over; early != (i < tc.early) {
			t.Errorf("the probe was asked after %v, want %d times before %s", asked, tc.early, over)
		}
	}
	if !tc.gone { // the first attempt
		began = began[1:]
	}
	if len(began) > 1 || (len(began) == 1) != tc.again || tc.again && (began[0] < over) != tc.soon {
		t.Errorf("further attempts began after %v; the first is over after %s", began, over)
	}
	if took := time.Duration(result.EndedAtMs-result.StartedAtMs) * time.Millisecond; tc.late == 0 && took >= over {
		t.Errorf("the call took %s", took)
	}
	for _, a := range r.records.settled[0].Attempts {
		if (a.Lane == hook.ClaimedLane) != w.fast {
			t.Errorf("an attempt ran in the lane %q", a.Lane)
		}
	}
}

// TestNoWaitForWhatIsKnown: a later probe does not wait for an attempt that had no effect according to an earlier probe.
func TestNoWaitForWhatIsKnown(t *testing.T) {
	t.Parallel()
	w := &wire{lost: 2, probe: func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil }}
	r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{w.tool()}})
	if result := r.run(call("core__wire", args)); !result.OK || w.runs != 3 {
		t.Errorf("got %+v after %d runs", result, w.runs)
	}
	first := contract.Claim{Dispatch: 1, ID: r.records.rows[0].ClaimID}
	if over := r.records.over; len(over) != 2 || len(over[0]) != 0 || !slices.Equal(over[1], []contract.Claim{first}) {
		t.Errorf("over are %v, want nothing at first, then the first claim", over)
	}
}

// TestProbeAfterCancel: the probe also runs after a cancel. The call succeeds if the tool had its effect, and
// ends as cancelled if it had none.
func TestProbeAfterCancel(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		found toolspec.Found[echoOut]
		code  toolspec.Code
	}{
		"effect":    {toolspec.FoundEffect(echoOut{Text: "found"}), ""},
		"no effect": {toolspec.FoundNoEffect[echoOut](), toolspec.CodeCancelled},
		"unclear":   {toolspec.Found[echoOut]{}, toolspec.CodeOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wire{lost: 1}
			var r *rig
			w.probe = func(n int) (toolspec.Found[echoOut], error) {
				if n == 1 {
					r.env.CancelWorkflow()
					return toolspec.Found[echoOut]{}, nil
				}
				return tc.found, nil
			}
			r = newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
			result := r.run(call("core__wire", args))
			w.mu.Lock() // a tool that timed out may still be at it
			defer w.mu.Unlock()
			if result.ErrorCode != tc.code || w.runs != 1 || len(r.records.requests) != 0 {
				t.Errorf("got %+v after %d runs and %d requests", result, w.runs, len(r.records.requests))
			}
		})
	}
}

// TestPolicyBoundsAttempts: policy can lower the number of attempts of a tool, not raise it, and can set the pauses between attempts.
func TestPolicyBoundsAttempts(t *testing.T) {
	t.Parallel()
	for budgets, want := range map[string]struct {
		runs int
		took time.Duration
	}{
		"{}":                    {3, 3 * time.Second},
		"{maxAttempts: 2}":      {2, time.Second},
		"{maxAttempts: 99}":     {3, 3 * time.Second},
		"{retryDelayMs: 100}":   {3, 300 * time.Millisecond},
		"{retryDelayMs: 60000}": {3, 2 * time.Minute},
		"{retryDelayMs: 60000, retryDelayMaxMs: 90000}": {3, 150 * time.Second},
	} {
		t.Run(budgets, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{
				policy: strings.Replace(freePolicy, "mode: auto", "mode: auto\n    budgets: "+budgets, 1),
				fail:   func(int) error { return errPlain },
			})
			began := r.env.Now()
			result := r.run(call("core__remote", args))
			took := r.env.Now().Sub(began)
			if result.ErrorCode != toolspec.CodeExecution || r.ran() != want.runs || took < want.took || took > want.took+want.took/4 {
				t.Errorf("got %q after %d runs in %s, want %d in %s", result.ErrorCode, r.ran(), took, want.runs, want.took)
			}
		})
	}
}

// TestNoAttemptAfterARevocation: the gate denies a call while its tool runs. The probe finds no effect, and the call ends as denied instead
// of making another attempt.
func TestNoAttemptAfterARevocation(t *testing.T) {
	t.Parallel()
	w := &wire{lost: 1, probe: func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil }}
	var r *rig
	r = newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{w.tool()}, hooks: []hook.Hook{
		hook.New("meanwhile", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error {
			r.activate("version: 1\ntenants: {acme: {allowedTools: []}}\n")
			r.env.SignalWorkflow(toolspec.RecheckName, nil)
			return nil
		})),
	}})
	inv := call("core__wire", args)
	inv.Context.ConnectionID, inv.AllowedConnectionIDs = "conn-1", []string{"conn-1"}
	if result := r.run(inv); result.ErrorCode != toolspec.CodePolicyDenied || w.runs != 1 || w.probes != 2 {
		t.Errorf("got %+v after %d runs and %d probes\n%s", result, w.runs, w.probes, r.stages())
	}
}
