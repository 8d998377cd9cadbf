package hook_test

import (
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
	"github.com/pawl-run/pawl/toolspec/provide"
)

// canary is a text that must never leave a hook.
const canary = "canary-4711"

// secret has the shape of a secret.
var secret = "Bearer " + strings.Repeat("a1B2", 10)

func facts() hook.Facts {
	return hook.Facts{
		InvocationID: "inv", ToolID: "core__a", ToolCallID: "call-1",
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann", ToolIDs: []string{"core__a"}},
		Effect:  toolspec.StateChange, Risk: toolspec.MediumRisk, ToolDigest: "td", PolicyDigest: "pd", InputDigest: "id",
		Round: 2, Attempt: 3, Args: raw(`{"a":1}`), SafeArgs: raw(`{"a":"***"}`), ArgsHistory: []json.RawMessage{raw(`{"a":0}`), raw(`{"a":1}`)},
		Output: raw(`{"o":1}`), OutputHistory: []json.RawMessage{raw(`{"o":0}`), raw(`{"o":1}`)}, Cached: raw(`{"c":1}`),
		Data:    []hook.Entry{{Key: "k", Value: raw(`"v"`)}},
		Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: "m", Details: &toolspec.Details{Rule: "r", Problems: []toolspec.Problem{{Path: "/p"}}}},
		Source:  toolspec.SourceExecuted, Challenge: true, Attempts: 4, AuditIDs: []string{"audit-1"},
		Approval: &hook.GrantedApproval{ApprovalID: "inv.1", Approver: "user:bob"}, StartedAtMs: 1000, NowMs: 2000,
		Submitter: &hook.Submitter{KeyID: "key"}, Discovered: &toolspec.Discovered{Digest: "dd", Annotations: raw(`{"n":1}`)},
		Bindings:   []provide.Binding{{Recipe: provide.Recipe{Args: raw(`{"b":1}`)}}},
		Connection: &hook.Connection{Status: "active", Scopes: []string{"s"}, Grants: []hook.ConnectionGrant{{Grantee: "user:ann", Scopes: []string{"s"}}}},
	}
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// run runs the hooks at one stage, in the order of the arguments.
func run(t *testing.T, s hook.Stage, f hook.Facts, hooks ...hook.Hook) hook.Verdict {
	t.Helper()
	r, log := registry(t, hooks...)
	names := make([]string, len(hooks))
	for i, h := range hooks {
		names[i] = h.Name()
	}
	v, err := r.Run(t.Context(), hook.StageInput{Stage: s, Hooks: names, Facts: f}, hook.Delta{})
	if err != nil {
		t.Fatalf("the runner returned %v", err)
	}
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log holds the canary: %s", log)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), canary) {
		t.Errorf("the verdict holds the canary: %s", text)
	}
	v.DurationUs = 0
	return v
}

func at[V any](name string, p hook.Point[V], f func(V) error, options ...hook.Option) hook.Hook {
	return hook.New(name, append([]hook.Option{p.Do(func(_ context.Context, v V) error { return f(v) })}, options...)...)
}

func TestVerdicts(t *testing.T) {
	long := strings.Repeat("é", 300)
	for _, tc := range []struct {
		name string
		f    func(*hook.Consent) error
		want hook.Verdict
	}{
		{"go on", func(*hook.Consent) error { return nil }, hook.Verdict{}},
		{"abort", func(v *hook.Consent) error { return v.Abort("why", hook.Code("own"), hook.HTTPStatus(451)) },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{
				Code: "aborted", SafeMessage: "why", HTTPStatus: 451, Details: &toolspec.Details{Code: "own"},
			}}},
		{"abort with less", func(v *hook.Consent) error { return v.Abort("", hook.HTTPStatus(200), hook.HTTPStatus(600)) },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{Code: "aborted", Details: &toolspec.Details{}}}},
		{"abort with too much", func(v *hook.Consent) error { return v.Abort(long, hook.Code(long)) },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{
				Code: "aborted", SafeMessage: long[:500], Details: &toolspec.Details{Code: long[:64]},
			}}},
		{"respond", func(v *hook.Consent) error { return v.Respond(map[string]int{"x": 1}) },
			hook.Verdict{Outcome: hook.Responded, By: "h", Value: raw(`{"x":1}`)}},
		{"respond with a challenge", func(v *hook.Consent) error { return v.RespondChallenge(raw(`{"ask":true}`)) },
			hook.Verdict{Outcome: hook.Responded, By: "h", Value: raw(`{"ask":true}`), Challenge: true}},
		{"retry after", func(v *hook.Consent) error { return v.RetryAfter(1500*time.Millisecond, "limit") },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{Code: "rate_limited", SafeMessage: "limit", RetryAfterMs: 1500}}},
		{"retry after less than nothing", func(v *hook.Consent) error { return v.RetryAfter(-time.Second, "") },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{Code: "rate_limited"}}},
		{"ask", func(v *hook.Consent) error { return v.RequireApproval(hook.Ask{Message: long, Rule: "rule"}) },
			hook.Verdict{Outcome: hook.Asked, By: "h", Ask: &hook.Ask{Message: long[:500], Rule: "rule", Hook: "h"}}},
		{"wrapped", func(v *hook.Consent) error { return fmt.Errorf("%s: %w", canary, v.Abort("why")) },
			hook.Verdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{Code: "aborted", SafeMessage: "why", Details: &toolspec.Details{}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			later := false
			got := run(t, hook.WillCheckConsent.Stage(), facts(), at("h", hook.WillCheckConsent, tc.f),
				at("later", hook.WillCheckConsent, func(*hook.Consent) error { later = true; return nil }))
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if later != (tc.want.Outcome == hook.Continue) {
				t.Errorf("the next hook ran: %v", later)
			}
		})
	}
}

func internal(name string) hook.Verdict {
	return hook.Verdict{Outcome: hook.Failed, By: name, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: "hook " + name + " failed at willCheckConsent",
		Details: &toolspec.Details{Stage: "willCheckConsent"},
	}}
}

type marked struct{}

func (marked) MarshalJSON() ([]byte, error) { return nil, errors.New(canary) }

// TestMisuse: every misuse at a closed stage ends the call with `internal` and a
// message that names the hook and the stage. The changes of the hook are dropped.
func TestMisuse(t *testing.T) {
	large := strings.Repeat("x", toolspec.MaxInline)
	var kept *hook.Consent
	var foreign error
	run(t, hook.WillCheckConsent.Stage(), facts(), at("other", hook.WillCheckConsent, func(v *hook.Consent) error {
		kept, foreign = v, v.Abort("of another run")
		return foreign
	}))
	for _, tc := range []struct {
		name string
		f    func(*hook.Consent) error
		log  string
	}{
		{"plain error", func(*hook.Consent) error { return errors.New(canary) }, `"errorType":"*errors.errorString"`},
		{"panic", func(*hook.Consent) error { panic(canary) }, "run_test.go:"},
		{"runtime panic", func(*hook.Consent) error { clear(make([]int, 1)[len(canary):]); return nil }, "run_test.go:"},
		{"a verb that is not returned", func(v *hook.Consent) error { _ = v.Abort(canary); return nil }, "its error was not returned"},
		{"a question that is not returned", func(v *hook.Consent) error { _ = v.RequireApproval(hook.Ask{}); return nil }, "its error was not returned"},
		{"another error than the verb", func(v *hook.Consent) error { _ = v.Abort("x"); return errors.New(canary) }, "errorString"},
		{"two verbs", func(v *hook.Consent) error { _ = v.Abort(canary); return v.Respond(canary) }, "two verbs were called"},
		{"the verb of another view", func(*hook.Consent) error { return foreign }, `"errorType":"*hook.control"`},
		{"a view of another run", func(*hook.Consent) error { return kept.Abort("late") }, `"errorType":"*hook.control"`},
		{"a response that is not JSON", func(v *hook.Consent) error { return v.Respond(raw("{" + canary)) }, "the response is not JSON"},
		{"a response that cannot be written", func(v *hook.Consent) error { return v.Respond(marked{}) }, "the response cannot be written as JSON"},
		{"a large response", func(v *hook.Consent) error { return v.Respond(strings.Repeat("x", toolspec.MaxRawResult)) }, "the response is larger than 33554432 bytes"},
		{"a large challenge", func(v *hook.Consent) error { return v.RespondChallenge(large) }, "the challenge is larger than"},
		{"an empty key", func(v *hook.Consent) error { v.Put("", 1); return nil }, "a scratchpad key has"},
		{"a long key", func(v *hook.Consent) error { v.Put(strings.Repeat("k", 201), 1); return nil }, "a scratchpad key has"},
		{"a large value", func(v *hook.Consent) error { v.Put("k2", large); return nil }, "a scratchpad value is larger than"},
		{"no JSON", func(v *hook.Consent) error { v.Put("k2", func() {}); return nil }, "a scratchpad value cannot be written"},
		{"a secret by its key", func(v *hook.Consent) error { v.Put("api_key", canary); return nil }, "the shape of a secret"},
		{"a secret by its value", func(v *hook.Consent) error { v.Put("k2", "sk-"+canary+strings.Repeat("a", 20)); return nil }, "the shape of a secret"},
		{"a secret by a name inside", func(v *hook.Consent) error { v.Put("k2", []any{map[string]string{"password": canary}}); return nil }, "the shape of a secret"},
		{"a secret behind an escape", func(v *hook.Consent) error {
			v.Put("k2", raw(`"\u0073k-`+canary+strings.Repeat("a", 20)+`"`))
			return nil
		}, "the shape of a secret"},
		{"too many changes", func(v *hook.Consent) error {
			for i := range 20 {
				v.Put(fmt.Sprint(i), strings.Repeat("x", toolspec.MaxInline-2))
			}
			return nil
		}, `"errorType":"*errors.errorString"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, log := registry(t, at("h", hook.WillCheckConsent, func(v *hook.Consent) error {
				v.Put("dropped", canary)
				v.Tighten(hook.Budgets{MaxRuntimeMs: 1})
				v.Explain("dropped")
				return tc.f(v)
			}))
			got, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillCheckConsent.Stage(), Hooks: []string{"h"}, Facts: facts()}, hook.Delta{})
			got.DurationUs = 0
			if err != nil || !reflect.DeepEqual(got, internal("h")) {
				t.Errorf("got %+v, %v, want %+v", got, err, internal("h"))
			}
			if !strings.Contains(log.String(), tc.log) || strings.Count(log.String(), "\n") != 1 {
				t.Errorf("want one line with %q, got %s", tc.log, log)
			}
			for _, id := range []string{`"hook":"h"`, `"stage":"willCheckConsent"`, `"invocationId":"inv"`, `"toolId":"core__a"`} {
				if !strings.Contains(log.String(), id) {
					t.Errorf("the log lacks %s: %s", id, log)
				}
			}
			if strings.Contains(log.String(), canary) {
				t.Errorf("the log holds the canary: %s", log)
			}
		})
	}
}

// TestLoggedStage: a hook that fails at a logged stage leaves a note. Its changes are
// dropped, and the other hooks run.
func TestLoggedStage(t *testing.T) {
	for name, f := range map[string]func(*hook.Audit) error{
		"error":  func(*hook.Audit) error { return errors.New(canary) },
		"panic":  func(*hook.Audit) error { panic(canary) },
		"misuse": func(v *hook.Audit) error { v.Record("bad", func() {}); return nil },
		"forge":  func(v *hook.Audit) error { v.Record(toolspec.EventResult, 1); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, hook.WillAudit.Stage(), facts(),
				at("first", hook.WillAudit, func(v *hook.Audit) error { v.Record("kept", 1); return nil }),
				at("bad", hook.WillAudit, func(v *hook.Audit) error { v.Record("dropped", canary); return f(v) }),
				at("after", hook.WillAudit, func(v *hook.Audit) error { v.Record("kept", 2); return nil }))
			want := hook.Verdict{
				Notes: []hook.Note{{Hook: "bad", Reason: "failed"}},
				Delta: hook.Delta{Audit: []hook.AuditEntry{{Kind: "kept", Detail: raw("1")}, {Kind: "kept", Detail: raw("2")}}},
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestTransient(t *testing.T) {
	for _, stage := range []hook.Stage{hook.WillAuthorize.Stage(), hook.OnError.Stage()} {
		fails := hook.New("h",
			hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
				return fmt.Errorf("x: %w", errs.Transient(errors.New(canary)))
			}),
			hook.OnError.Do(func(context.Context, *hook.Report) error { return errs.Transient(errors.New(canary)) }))
		r, log := registry(t, fails)
		v, err := r.Run(t.Context(), hook.StageInput{Stage: stage, Hooks: []string{"h"}}, hook.Delta{})
		if !errs.IsTransient(err) || !reflect.DeepEqual(v, hook.Verdict{}) {
			t.Errorf("%s: got %+v, %v", stage, v, err)
		}
		if strings.Contains(log.String(), canary) || strings.Contains(errs.Reason(err), canary) {
			t.Errorf("%s: the text is logged: %s, %s", stage, log, errs.Reason(err))
		}
	}
	if errs.IsTransient(errors.New("x")) || errs.IsTransient(nil) {
		t.Error("every error is transient")
	}
}

type reasoned struct{ error }

func (reasoned) LogReason() string { return "code 42" }

func TestReason(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{errors.New(canary), "*errors.errorString"},
		{errs.Transient(errors.New(canary)), "*errors.errorString"},
		{errs.Transient(reasoned{errors.New(canary)}), "code 42"},
		{fmt.Errorf("%s: %w", canary, reasoned{nil}), "code 42"},
	} {
		if got := errs.Reason(tc.err); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestMissingHook(t *testing.T) {
	r, _ := registry(t, at("here", hook.WillAuthorize, func(v *hook.Gate) error { v.Put("dropped", 1); return nil }),
		at("metrics", hook.OnMetrics, func(*hook.Report) error { return nil }))
	v, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillAuthorize.Stage(), Hooks: []string{"here", "gone"}}, hook.Delta{})
	v.DurationUs = 0
	if want := (hook.Verdict{Outcome: hook.Missing, By: "gone"}); err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, %v, want %+v", v, err, want)
	}
	v, err = r.Run(t.Context(), hook.StageInput{Stage: hook.OnMetrics.Stage(), Hooks: []string{"gone", "metrics"}}, hook.Delta{})
	v.DurationUs = 0
	want := hook.Verdict{Notes: []hook.Note{{Hook: "gone", Reason: "this worker does not have the hook"}}}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Errorf("got %+v, %v, want %+v", v, err, want)
	}
}

func TestFilter(t *testing.T) {
	ran := 0
	h := func(f func(context.Context, hook.Facts) (bool, error)) hook.Hook {
		return at("h", hook.WillAuthorize, func(*hook.Gate) error { ran++; return nil }, hook.Filter(f))
	}
	stage := hook.WillAuthorize.Stage()
	if v := run(t, stage, facts(), h(func(_ context.Context, f hook.Facts) (bool, error) { return f.ToolID != "core__a", nil })); v.Outcome != "" || ran != 0 {
		t.Errorf("skipped: %+v, ran %d times", v, ran)
	}
	if v := run(t, stage, facts(), h(func(_ context.Context, f hook.Facts) (bool, error) { return f.ToolID == "core__a", nil })); v.Outcome != "" || ran != 1 {
		t.Errorf("wanted: %+v, ran %d times", v, ran)
	}
	for name, f := range map[string]func(context.Context, hook.Facts) (bool, error){
		"error": func(context.Context, hook.Facts) (bool, error) { return true, errors.New(canary) },
		"panic": func(context.Context, hook.Facts) (bool, error) { panic(canary) },
	} {
		if v := run(t, stage, facts(), h(f)); v.Failure == nil || v.Failure.Code != toolspec.CodeInternal || ran != 1 {
			t.Errorf("%s: %+v, ran %d times", name, v, ran)
		}
	}
	r, _ := registry(t, h(func(context.Context, hook.Facts) (bool, error) { return false, errs.Transient(errors.New("away")) }))
	if _, err := r.Run(t.Context(), hook.StageInput{Stage: stage, Hooks: []string{"h"}}, hook.Delta{}); !errs.IsTransient(err) {
		t.Errorf("got %v", err)
	}
}

// TestFrames: errs.Frames returns the first places of a stack trace, and not the text of the panic.
func TestFrames(t *testing.T) {
	got := errs.Frames([]byte("goroutine 1 [running]:\npanic({0x1, \"" + canary + "\"})\n\t/src/panic.go:1 +0x1\nmain.f(\"" + canary + "\")\n\t/src/f.go:2\n" +
		strings.Repeat("main.g()\n\t/src/g.go:3\n", 20)))
	if !strings.HasPrefix(got, "/src/panic.go:1 +0x1 < /src/f.go:2 < ") || strings.Contains(got, canary) || strings.Count(got, "<") != 11 {
		t.Errorf("got %s", got)
	}
}

// TestTextsHoldNoSecrets: texts of hooks reach callers and records. A text with the shape of a
// credential is an error of the hook, and the text is dropped.
func TestTextsHoldNoSecrets(t *testing.T) {
	secret := "key AKIA" + strings.Repeat("A1", 8)
	for name, v := range map[string]hook.Verdict{
		"abort": run(t, hook.WillAuthorize.Stage(), facts(), at("h", hook.WillAuthorize, func(v *hook.Gate) error { return v.Abort(secret) })),
		"retry": run(t, hook.WillAuthorize.Stage(), facts(), at("h", hook.WillAuthorize, func(v *hook.Gate) error { return v.RetryAfter(1, secret) })),
		"ask": run(t, hook.WillCheckConsent.Stage(), facts(), at("h", hook.WillCheckConsent, func(v *hook.Consent) error {
			return v.RequireApproval(hook.Ask{Message: secret})
		})),
	} {
		if v.Failure == nil || v.Failure.Code != toolspec.CodeInternal || v.Ask != nil {
			t.Errorf("%s: %+v, want internal", name, v)
		}
	}
	v := run(t, hook.WillAudit.Stage(), facts(), at("h", hook.WillAudit, func(v *hook.Audit) error {
		v.Record("note", map[string]string{"text": secret})
		return nil
	}))
	if len(v.Delta.Audit) != 0 || len(v.Notes) != 1 {
		t.Errorf("audit: %+v, want a note and no entry", v)
	}
}
