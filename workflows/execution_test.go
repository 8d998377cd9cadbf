package workflows_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/activities/admit"
	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envtest"
)

// TestAttemptsOfAnotherRun: a run takes over a call whose tool may have had its effect. Even if the call is then denied or cancelled, it ends
// with an unknown outcome.
func TestAttemptsOfAnotherRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool       string
		policy     string
		repeatable bool
		cancel     bool
		code       toolspec.Code
		cause      string
	}{
		"policy denies it now":              {"core__mail", denyingPolicy, false, false, toolspec.CodeOutcomeUnknown, "policy_denied"},
		"somebody cancels it":               {"core__mail", testPolicy, false, true, toolspec.CodeOutcomeUnknown, "cancelled"},
		"it goes on":                        {"core__mail", freePolicy, false, false, toolspec.CodeOutcomeUnknown, "lost"},
		"it may be repeated, and is denied": {"core__write", denyingPolicy, true, false, toolspec.CodePolicyDenied, ""},
		"it may be repeated, and goes on":   {"core__write", freePolicy, true, false, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var codes []toolspec.Code
			reports := hook.New("reports", hook.OnError.Do(func(_ context.Context, v *hook.Report) error {
				mu.Lock()
				defer mu.Unlock()
				codes = append(codes, v.Failure().Code)
				return nil
			}))
			r := newRig(t, rigOptions{policy: tc.policy, hooks: []hook.Hook{reports}})
			r.records.onAdmit = func(n int, row *admit.Record) {
				if n == 1 { // this run takes over the call
					row.Epoch, row.Rounds.Dispatch = 2, 1
					r.records.claims[1] = claimed{id: "another run's", repeatable: tc.repeatable}
				}
			}
			if tc.cancel {
				r.env.RegisterDelayedCallback(r.env.CancelWorkflow, time.Minute)
			}
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || tc.cause != "" && (result.Details == nil || result.Details.Cause != tc.cause || result.Attempts != 1) {
				t.Errorf("got %+v with %+v", result, result.Details)
			}
			if tc.code != "" && (len(codes) == 0 || codes[len(codes)-1] != tc.code) {
				t.Errorf("the stages of the ending were told %v", codes)
			}
			if len(r.records.settled) != 1 {
				t.Errorf("settled %d times", len(r.records.settled))
			}
		})
	}
}

// TestRedelivered: the server delivered one task twice. A tool that may be repeated runs with the next dispatch number.
func TestRedelivered(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{policy: freePolicy})
	r.records.onClaim = func(n int) (contract.Outcome, error) {
		if n == 1 {
			r.records.claims[1] = claimed{id: "of the execution before", repeatable: true}
		}
		return "", nil
	}
	if result := r.run(call("core__write", args)); !result.OK || result.Attempts != 2 || r.ran() != 1 || r.records.admits != 1 {
		t.Errorf("got %+v after %d runs and %d admits", result, r.ran(), r.records.admits)
	}
	if got := r.records.rows[1].Dispatch; got != 2 {
		t.Errorf("it went on with dispatch %d", got)
	}
}

// doubting refuses the signatures with some numbers, counted in the order of verification.
type doubting struct {
	attempt.Keys
	mu       sync.Mutex
	verified int
	no       func(n int) bool
}

// refuseSignatures returns keys that refuse the signatures with these numbers.
func refuseSignatures(no ...int) *doubting {
	return &doubting{Keys: workerkeytest.New(), no: func(n int) bool { return slices.Contains(no, n) }}
}

func (d *doubting) Verify(ctx context.Context, text []byte, signature string) (bool, error) {
	d.mu.Lock()
	d.verified++
	n := d.verified
	d.mu.Unlock()
	if d.no(n) {
		return false, nil
	}
	return d.Keys.Verify(ctx, text, signature)
}

// TestUnpermitted: after a dispatch without a valid permit, the call reads the record and asks the gate again. The dispatch does not count as
// an attempt.
func TestUnpermitted(t *testing.T) {
	t.Parallel()
	var gates int
	counting := hook.New("counting", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { gates++; return nil }))
	r := newRig(t, rigOptions{policy: freePolicy, keys: refuseSignatures(1), hooks: []hook.Hook{counting}})
	result := r.run(call("core__mail", args))
	if !result.OK || result.Attempts != 1 || r.ran() != 1 || r.records.admits != 2 || gates != 2 || r.records.claimed != 1 {
		t.Errorf("got %+v after %d runs, %d admits, %d gates, %d claims", result, r.ran(), r.records.admits, gates, r.records.claimed)
	}
	// If no permit is ever valid, the call ends at its deadline, and the tool has not run.
	odd := &doubting{Keys: workerkeytest.New(), no: func(n int) bool { return n%2 == 1 }} // the even signatures are receipts
	r = newRig(t, rigOptions{policy: freePolicy, keys: odd})
	if result := r.run(call("core__mail", args)); result.ErrorCode != toolspec.CodeUnavailable || r.ran() != 0 || r.records.claimed != 0 {
		t.Errorf("got %+v after %d runs", result, r.ran())
	}
}

// TestForgedAnswers: an answer without a valid receipt of a worker counts as no answer, and is noted. So an attempt of a repeatable tool is repeated, the
// outcome of any other tool is unknown, and a durable stage ends the call as internal.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tool string
		code toolspec.Code
		runs int
	}{
		"of a tool that must not be repeated": {"core__mail", toolspec.CodeOutcomeUnknown, 1},
		"of a repeatable tool":                {"core__write", "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{policy: freePolicy, keys: refuseSignatures(2)}) // the first signature is the permit, the second the receipt
			result := r.run(call(tc.tool, args))
			if result.ErrorCode != tc.code || r.ran() != tc.runs || result.Attempts != tc.runs {
				t.Errorf("got %+v after %d runs", result, r.ran())
			}
			if n := r.records.forged; len(n) != 1 || n[0].InvocationID != result.InvocationID || n[0].TenantID != "acme" || n[0].Activity != "execute" || len(n[0].Answer) != 64 {
				t.Errorf("noted %+v", n)
			}
		})
	}
	t.Run("of a durable stage", func(t *testing.T) {
		t.Parallel()
		waiting := hook.New("waiting", hook.Durable(time.Minute), hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }))
		r := newRig(t, rigOptions{policy: freePolicy, keys: refuseSignatures(1), hooks: []hook.Hook{waiting}})
		if result := r.run(call("core__mail", args)); result.ErrorCode != toolspec.CodeInternal || r.ran() != 0 || len(r.records.forged) != 1 {
			t.Errorf("got %+v after %d runs; noted %+v", result, r.ran(), r.records.forged)
		}
	})
	t.Run("of a probe", func(t *testing.T) {
		t.Parallel()
		w := &wire{lost: 1, probe: func(int) (toolspec.Found[echoOut], error) { return toolspec.FoundNoEffect[echoOut](), nil }}
		// The signatures are the permit and the receipt of the attempt, and then of each probe.
		r := newRig(t, rigOptions{policy: freePolicy, keys: refuseSignatures(4, 6, 8, 10), tools: []toolspec.Tool{w.tool()}})
		if result := r.run(call("core__wire", args)); result.ErrorCode != toolspec.CodeOutcomeUnknown || w.runs != 1 || w.probes != 4 || len(r.records.forged) != 4 {
			t.Errorf("got %+v after %d runs and %d probes; noted %+v", result, w.runs, w.probes, r.records.forged)
		}
	})
}

// TestDoubtWaits: a call asks a person about a lost attempt only after the tool of the attempt can no longer run. A call that asks nobody does
// not wait.
func TestDoubtWaits(t *testing.T) {
	t.Parallel()
	const over = toolspec.DefaultTimeout + overMargin // after this time, core__mail can no longer run
	lost := func(r *rig) {
		r.records.onClaim = func(n int) (contract.Outcome, error) {
			if n == 1 {
				r.records.written(false)
				return dies, nil
			}
			return "", nil
		}
	}
	t.Run("person", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{policy: parkingPolicy})
		lost(r)
		r.env.RegisterDelayedCallback(func() {
			if n := len(r.records.requests); n != 0 {
				t.Errorf("%d people are asked before the attempt can be over", n)
			}
		}, over-5*time.Second)
		r.decideAfter(over+time.Hour, 1, toolspec.Retry, "user:bob")
		if result := r.run(call("core__mail", args)); !result.OK || r.ran() != 1 || len(r.records.requests) != 1 {
			t.Errorf("got %+v after %d runs and %d requests", result, r.ran(), len(r.records.requests))
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{policy: parkingPolicy})
		lost(r)
		r.env.RegisterDelayedCallback(r.env.CancelWorkflow, over/2)
		result := r.run(call("core__mail", args))
		if result.ErrorCode != toolspec.CodeOutcomeUnknown || result.Details.Cause != "cancelled" || len(r.records.requests) != 0 {
			t.Errorf("got %+v with %+v", result, result.Details)
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, rigOptions{policy: freePolicy})
		lost(r)
		result := r.run(call("core__mail", args))
		if took := result.EndedAtMs - result.StartedAtMs; result.ErrorCode != toolspec.CodeOutcomeUnknown || took > over.Milliseconds()/2 {
			t.Errorf("got %+v after %d ms", result, took)
		}
	})
	t.Run("the tool has stopped", func(t *testing.T) {
		t.Parallel()
		w := &wire{lost: 1}
		r := newRig(t, rigOptions{policy: parkingPolicy, tools: []toolspec.Tool{w.tool()}})
		r.decideAfter(5*time.Second, 1, toolspec.Retry, "user:bob")
		if result := r.run(call("core__wire", args)); !result.OK || w.runs != 2 {
			t.Errorf("got %+v after %d runs", result, w.runs)
		}
		if first := r.records.rows[0]; len(r.records.over) != 1 || !slices.Equal(r.records.over[0], []contract.Claim{{Dispatch: 1, ID: first.ClaimID}}) {
			t.Errorf("over are %v, want the claim %+v", r.records.over, first)
		}
	})
}

type register func(any, activity.RegisterOptions)

func (r register) RegisterActivityWithOptions(a any, o activity.RegisterOptions) { r(a, o) }

// TestStepsRefuseTasks: everybody with access to the namespace can schedule a task for any activity, with any input. An activity that Pawl
// runs only as a local activity refuses a task from the server.
func TestStepsRefuseTasks(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigOptions{})
	env := envtest.NewForActivity()
	names := map[string]bool{}
	r.activities.Register(register(func(a any, o activity.RegisterOptions) {
		names[o.Name] = true
		env.RegisterActivityWithOptions(a, o)
	}))
	for _, name := range []string{
		contract.Admit.Name(), contract.Hydrate.Name(), contract.Request.Name(), contract.Review.Name(), contract.Accept.Name(),
		contract.Check.Name(), contract.Settle.Name(),
	} {
		if !names[name] {
			t.Errorf("%s is not registered", name)
		}
		_, err := env.ExecuteActivity(name, struct{}{})
		var failure *temporal.ApplicationError
		if !errors.As(err, &failure) || failure.Type() != string(toolspec.CodeInternal) || !failure.NonRetryable() {
			t.Errorf("%s answers a task with %v", name, err)
		}
	}
	if r.records.admits+r.records.settles+r.records.checks+len(r.records.requests) != 0 {
		t.Error("a refused task came to the record")
	}
	if !strings.Contains(strings.Join(contract.ActivityNames(), " "), contract.Accept.Name()) {
		t.Error("acceptAnswer is not among the names")
	}
}
