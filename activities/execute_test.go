package activities_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// execute runs the activity. The answer must have the id of the last claim, if there is a claim.
func (w *world) execute(ctx context.Context, t *testing.T, in contract.ExecuteIn) contract.ExecuteOut {
	t.Helper()
	got, err := w.Execute(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	w.checkCanary(t, got)
	claimID := ""
	if n := len(w.records.claims); n > 0 {
		claimID = w.records.claims[n-1].ClaimID
	}
	if got.ClaimID != claimID || claimID != "" && claimID == w.claimID {
		t.Errorf("the answer has the claim %q, the claim %q, and the one before it %q", got.ClaimID, claimID, w.claimID)
	}
	w.claimID = claimID
	got.DurationUs, got.Trace, got.ClaimID = 0, nil, ""
	return got
}

func nilOut() *out { return nil }

func TestExecuteDoesNotStart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*contract.ExecuteIn)
		want   contract.ExecuteOut
	}{
		{"missing tool", func(in *contract.ExecuteIn) { in.Facts.ToolID = "core__gone" }, contract.ExecuteOut{Outcome: contract.NotHere, By: "tool core__gone"}},
		{"changed tool", func(in *contract.ExecuteIn) { in.Facts.ToolDigest = "old" }, contract.ExecuteOut{Outcome: contract.Changed}},
		// A claim for an attempt that cannot run would make its outcome unknown.
		{"missing hook", func(in *contract.ExecuteIn) { in.DidExecute = []string{"gone"} }, contract.ExecuteOut{Outcome: contract.NotHere, By: "hook gone"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			in := w.executeIn()
			tc.change(&in)
			if got := w.execute(t.Context(), t, in); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if w.runs != 0 || len(w.records.claims) != 0 {
				t.Errorf("it ran %d times with %d claims", w.runs, len(w.records.claims))
			}
		})
	}
}

// TestExecuteErrors: each error of a tool has its failure. The text of an error leaves the worker only if the
// tool has declared it safe.
func TestExecuteErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		run  func() (any, error)
		want contract.ExecuteOut
	}{
		{"plain error", func() (any, error) { return nil, errors.New(canary) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
		{"value beside an error", func() (any, error) { return out{Text: canary}, errors.New(canary) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
		{"panic", func() (any, error) { panic(canary) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
		{"panic with an error", func() (any, error) { panic(errors.New(canary)) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
		{"nil pointer", func() (any, error) { return *nilOut(), nil },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
		{"safe error", func() (any, error) { return nil, toolspec.Safef("no file %s", "a.txt") },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution", SafeMessage: "Error executing tool: no file a.txt"}}},
		{"safe error, wrapped", func() (any, error) { return nil, fmt.Errorf("%s: %w", canary, toolspec.Safef("no file")) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution", SafeMessage: "Error executing tool: no file"}}},
		{"retry after", func() (any, error) { return nil, toolspec.RetryAfter(1500*time.Millisecond, "busy") },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "rate_limited", SafeMessage: "Error executing tool: busy", RetryAfterMs: 1500}, Retryable: true, NothingHappened: true}},
		{"retry after less than nothing", func() (any, error) { return nil, toolspec.RetryAfter(-1, "busy") },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "rate_limited", SafeMessage: "Error executing tool: busy"}, Retryable: true, NothingHappened: true}},
		{"unanswered", func() (any, error) { return nil, fmt.Errorf("%s: %w", canary, toolspec.Unanswered("no answer")) },
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: "unanswered", SafeMessage: "Error executing tool: no answer"}}},
		{"its own deadline", func() (any, error) { return nil, fmt.Errorf("%s: %w", canary, context.DeadlineExceeded) },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "timeout"}, Retryable: true}},
		{"its own cancel", func() (any, error) { return nil, context.Canceled },
			contract.ExecuteOut{Failure: &hook.Failure{Code: "execution"}, Retryable: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) { return tc.run() }})
			tc.want.Outcome = cmp.Or(tc.want.Outcome, contract.Refused)
			if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			for _, id := range []string{`"toolId":"core__tool"`, `"toolCallId":"call-1"`, `"invocationId":"inv"`} {
				if !strings.Contains(w.log.String(), id) {
					t.Errorf("the log lacks %s: %s", id, w.log)
				}
			}
		})
	}
}

// TestErrorsAreMasked: the masks of the tool and of policy also apply to the text of an error, because a server
// may put the same value into an output or into an error.
func TestErrorsAreMasked(t *testing.T) {
	for name, s := range map[string]setup{
		"of the tool": {def: func(d *toolspec.Definition) {
			d.Redaction.MaskOutput = []toolspec.Masking{{Path: "/text", With: toolspec.MaskEmail}}
		}},
		"of the policy": {policy: openPolicy + "    mask: [{tool: core__tool, path: /text, with: email}]\n"},
	} {
		s.run = func(context.Context, in, toolspec.Call) (any, error) {
			return nil, toolspec.Safef("no account ann@example.com")
		}
		w := newWorld(t, s)
		got := w.execute(t.Context(), t, w.executeIn())
		if text := got.Failure.SafeMessage; strings.Contains(text, "ann@example.com") || !strings.Contains(text, "no account") {
			t.Errorf("%s: the caller reads %q", name, text)
		}
	}
}

// TestUnansweredRead: if a tool may be repeated, nobody has to find out whether it had an effect.
func TestUnansweredRead(t *testing.T) {
	w := newWorld(t, setup{
		def: func(d *toolspec.Definition) { d.Idempotent = true },
		run: func(context.Context, in, toolspec.Call) (any, error) { return nil, toolspec.Unanswered("no answer") },
	})
	want := contract.ExecuteOut{
		Outcome: contract.Refused, Failure: &hook.Failure{Code: "execution", SafeMessage: "Error executing tool: no answer"}, Retryable: true,
	}
	if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestLongSafeText: a long safe text of a tool does not fill the history.
func TestLongSafeText(t *testing.T) {
	for name, err := range map[string]error{
		"safe error": toolspec.Safef("%s", strings.Repeat("é", 1<<20)), "retry after": toolspec.RetryAfter(0, strings.Repeat("é", 1<<20)),
	} {
		w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) { return nil, err }})
		got := w.execute(t.Context(), t, w.executeIn())
		if m := got.Failure.SafeMessage; len(m) > 2100 || len(m) < 1000 || strings.Contains(m, "\uFFFD") {
			t.Errorf("%s: the message has %d bytes", name, len(m))
		}
	}
}

func TestArgsThatDoNotFit(t *testing.T) {
	w := newWorld(t, setup{})
	in := w.executeIn()
	in.Facts.Args = json.RawMessage(`{"n":9223372036854775808}`)
	if got := w.execute(t.Context(), t, in); got.Failure.Code != toolspec.CodeValidation || got.Retryable || w.runs != 0 {
		t.Errorf("got %+v", got)
	}
}

func around(f func(*hook.Around) error) hook.Hook {
	return hook.New("around", hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return f(v) }))
}

// TestExecuteHooks: hooks around an attempt can answer, fail and change its result.
func TestExecuteHooks(t *testing.T) {
	for _, tc := range []struct {
		name string
		f    func(*hook.Around) error
		runs int
		want contract.ExecuteOut
	}{
		{"respond", func(v *hook.Around) error { return v.Respond(out{Text: "mine", Hidden: canary}) }, 0,
			contract.ExecuteOut{Outcome: contract.Done, Responded: true, Value: json.RawMessage(`{"text":"mine"}`), OutputInfo: toolspec.OutputInfo{Bytes: 15}, By: "around"}},
		{"challenge", func(v *hook.Around) error { return v.RespondChallenge(map[string]string{"url": "x"}) }, 0,
			contract.ExecuteOut{Outcome: contract.Done, Responded: true, Challenge: true, Value: json.RawMessage(`{"url":"x"}`), By: "around"}},
		{"abort", func(v *hook.Around) error { return v.Abort("no", hook.Code("own")) }, 0,
			contract.ExecuteOut{Outcome: contract.Refused, By: "around", Failure: &hook.Failure{
				Code: "aborted", SafeMessage: "no", Details: &toolspec.Details{Code: "own"},
			}}},
		{"an error that passes", func(*hook.Around) error { return errs.Transient(errors.New(canary)) }, 0,
			contract.ExecuteOut{Outcome: contract.Undispatched, By: "around"}},
		{"an error that passes, after the tool", func(v *hook.Around) error { _, _ = v.Next(); return errs.Transient(errors.New(canary)) }, 1,
			contract.ExecuteOut{Outcome: contract.Refused, Retryable: true, By: "around", Failure: &hook.Failure{
				Code: "internal", SafeMessage: "hook around failed at aroundExecute", Details: &toolspec.Details{Stage: "aroundExecute"},
			}}},
		{"panic after the tool", func(v *hook.Around) error { _, _ = v.Next(); panic(canary) }, 1,
			contract.ExecuteOut{Outcome: contract.Refused, By: "around", Failure: &hook.Failure{
				Code: "internal", SafeMessage: "hook around failed at aroundExecute", Details: &toolspec.Details{Stage: "aroundExecute"},
			}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{hooks: []hook.Hook{around(tc.f)}})
			in := w.executeIn()
			in.Around = []string{"around"}
			if got := w.execute(t.Context(), t, in); !reflect.DeepEqual(got, tc.want) || w.runs != tc.runs {
				t.Errorf("got %+v after %d runs, want %+v", got, w.runs, tc.want)
			}
		})
	}
}

// TestToolShapesItsCall: a response is redacted and checked like a value. A challenge is neither redacted nor
// checked, and fits into a payload.
func TestToolShapesItsCall(t *testing.T) {
	refused := func(f hook.Failure) contract.ExecuteOut {
		return contract.ExecuteOut{Outcome: contract.Refused, By: "(tool)", Failure: &f}
	}
	for _, tc := range []struct {
		name string
		err  error
		want contract.ExecuteOut
	}{
		{"respond", toolspec.Respond(out{Text: "mine", Hidden: canary}),
			contract.ExecuteOut{Outcome: contract.Done, Responded: true, Value: json.RawMessage(`{"text":"mine"}`), OutputInfo: toolspec.OutputInfo{Bytes: 15}, By: "(tool)"}},
		{"respond with something else", toolspec.Respond(map[string]int{canary: 1}),
			func() contract.ExecuteOut {
				o := refused(hook.Failure{Code: "output_validation", Details: &toolspec.Details{Kind: "missing_required"}})
				o.Responded = true
				return o
			}()},
		{"challenge", toolspec.RespondChallenge(map[string]string{"url": "x"}),
			contract.ExecuteOut{Outcome: contract.Done, Responded: true, Challenge: true, Value: json.RawMessage(`{"url":"x"}`), By: "(tool)"}},
		{"a challenge that is too large", toolspec.RespondChallenge(strings.Repeat("x", toolspec.MaxInline)),
			func() contract.ExecuteOut {
				o := refused(hook.Failure{Code: "result_too_large", SafeMessage: "The challenge is larger than 65536 bytes"})
				o.Responded, o.Challenge = true, true
				return o
			}()},
		{"abort", toolspec.Abort("no", "consent_required", 403),
			refused(hook.Failure{Code: "aborted", SafeMessage: "no", HTTPStatus: 403, Details: &toolspec.Details{Code: "consent_required"}})},
		{"respond with what is no JSON", toolspec.Respond(func() {}),
			contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{Code: "output_validation", SafeMessage: "the tool's value cannot be written as JSON"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) { return out{Text: canary}, tc.err }})
			if got := w.execute(t.Context(), t, w.executeIn()); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestToolSeesItsCall: a tool gets the ids of its call, the number of the attempt, and an idempotency key that
// is the same in each attempt.
func TestToolSeesItsCall(t *testing.T) {
	var seen toolspec.Call
	w := newWorld(t, setup{run: func(_ context.Context, i in, call toolspec.Call) (any, error) {
		seen = call
		call.Logger.Info("working")
		return out{Text: i.Text}, nil
	}})
	in := w.executeIn()
	in.Facts.Attempt = 4
	w.execute(t.Context(), t, in)
	if seen.ToolID != "core__tool" || seen.ToolCallID != "call-1" || seen.InvocationID != "inv" || seen.IdempotencyKey != "inv" || seen.Attempt != 4 || seen.Context.ActorID != "user:ann" {
		t.Errorf("got %+v", seen)
	}
	if !strings.Contains(w.log.String(), `"msg":"working","toolId":"core__tool","toolCallId":"call-1","invocationId":"inv","runId":"run-1"`) {
		t.Errorf("the log lacks ids: %s", w.log)
	}
}
