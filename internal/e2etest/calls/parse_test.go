package calls

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/worker"
)

// parsePolicy requires an approval for the value 0 and denies the text x, so that the verdict shows which arguments policy has read.
const parsePolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h, allowUnsigned: true}
    rules:
      - {tool: test__odd, when: has(args.note) && args.note == "x", decision: deny}
      - {tool: test__odd, when: has(args.n) && args.n == 0, decision: require_approval}
      - {tool: test__odd, decision: allow}
`

// oddIn keeps the JSON of its fields unchanged.
type oddIn struct {
	N    json.RawMessage `json:"n,omitempty"`
	Note json.RawMessage `json:"note,omitempty"`
}

// TestOneReadingOfTheArguments: arguments whose JSON can be read in two ways are refused before anything judges them, or are read once for all. Hooks, the
// approver, policy and the tool get the same bytes, and policy denies arguments in every spelling of them. A name that only looks like the name of a tool is
// not that tool (fault 47).
func TestOneReadingOfTheArguments(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, parsePolicy)
	var mu sync.Mutex
	seen := map[string]map[string]string{} // the arguments that each reader of a call has got
	read := func(call, who string, args json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		if seen[call] == nil {
			seen[call] = map[string]string{}
		}
		seen[call][who] = string(args)
	}
	odd := toolspec.Define(toolspec.Definition{
		ID: "test__odd", Description: "a tool of a test", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.MediumRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, in oddIn, call toolspec.Call) (e2etest.Out, error) {
		text, err := json.Marshal(in)
		read(call.ToolCallID, "tool", text)
		return e2etest.Out{}, err
	})
	w.Work(worker.Tools(odd), worker.ToolHooks("test__odd",
		hook.New("reads", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
			read(v.ToolCallID(), "hook", v.Args())
			return nil
		}))))
	const invalid, bad, denied = toolspec.CodeInvalidJSON, toolspec.CodeValidation, toolspec.CodePolicyDenied
	for _, tc := range []struct {
		name, args string
		code       toolspec.Code
		want       string // the arguments that every reader gets
		asks       bool
	}{
		{"plain", `{"n":1}`, "", `{"n":1}`, false},
		{"zero", `{"n":0}`, "", `{"n":0}`, true},
		{"minus zero", `{"n":-0}`, "", `{"n":0}`, true},
		{"minus zero with a fraction", `{"n":-0.0}`, "", `{"n":0}`, true},
		{"zero with an exponent", `{"n":0e5}`, "", `{"n":0}`, true},
		{"an exponent", `{"n":1e3}`, "", `{"n":1000}`, false},
		{"denied", `{"note":"x"}`, denied, "", false},
		{"denied, escaped", `{"note":"\u0078"}`, denied, "", false},
		{"denied, its name escaped", `{"n\u006fte":"x"}`, denied, "", false},
		{"denied, in a string", `"{\"note\":\"x\"}"`, denied, "", false},
		{"a key twice", `"{\"note\":\"y\",\"note\":\"x\"}"`, invalid, "", false},
		{"a key twice, escaped once", `"{\"note\":\"y\",\"n\\u006fte\":\"x\"}"`, invalid, "", false},
		{"a key in another case", `{"Note":"x"}`, bad, "", false},
		{"2^53+1", `{"n":9007199254740993}`, bad, "", false},
		{"2^53", `{"n":9007199254740992}`, "", `{"n":9007199254740992}`, false},
		{"1e400", `{"n":1e400}`, bad, "", false},
		{"1e-400, which is no zero", `{"n":1e-400}`, bad, "", false},
		{"10 000 deep", `{"n":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`, bad, "", false},
		{"a lone surrogate", `"{\"note\":\"\\ud800\"}"`, invalid, "", false},
		{"NaN", `"{\"n\":NaN}"`, invalid, "", false},
		{"a comment", `"{\"n\":1/**/}"`, invalid, "", false},
		{"two documents", `"{\"n\":1}{\"n\":0}"`, invalid, "", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := *w
			w.T = t
			name := strings.NewReplacer(" ", "-", ",", "", "^", "", "+", "").Replace(tc.name)
			// The call is started without a client of Pawl, which would refuse many of these arguments.
			run, err := rawRun(&w, e2etest.Invocation(name, "test__odd", ""), json.RawMessage(tc.args))
			if err != nil {
				t.Fatal(err)
			}
			if tc.asks {
				view := w.Approve(run.GetID())
				read(name, "approver", view.Args)
			}
			r := w.Ended(run)
			if r.ErrorCode != tc.code {
				t.Fatalf("ended with %q (%s), want %q", r.ErrorCode, r.SafeMessage, tc.code)
			}
			mu.Lock()
			defer mu.Unlock()
			for who, got := range seen[name] {
				if canonical, err := strictjson.Canonical(json.RawMessage(got)); tc.want != "" && (err != nil || string(canonical) != tc.want) {
					t.Errorf("the %s reads %s, want %s", who, got, tc.want)
				}
			}
			if n := len(seen[name]); tc.want != "" && n < 2 || tc.asks && n != 3 || seen[name]["tool"] != "" && tc.code != "" {
				t.Errorf("read by %v", seen[name])
			}
		})
	}
	for _, id := range []string{"Test__odd", "test__Odd", "test__odd ", "test__оdd", "test__ｏdd", "test__odd\u200b", "test__*", "*",
		"test__od", "test__odd2"} {
		call, err := w.Pawl.Start(t.Context(), e2etest.Invocation("name-"+id, id, `{"n":1}`))
		if err != nil {
			continue // the client has refused to send the call
		}
		if r := w.Result(call); r.OK {
			t.Errorf("%q is a tool", id)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for name := range seen {
		if strings.HasPrefix(name, "name-") {
			t.Errorf("the call %s reached the tool or its hook", name)
		}
	}
}

// TestHugeArguments: a call with an array of a million members, or with one that is too large for a call, ends with an error code, and the worker survives.
func TestHugeArguments(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__read", e2etest.Echo)))
	run, err := rawRun(w, e2etest.Invocation("million", "test__read", ""), json.RawMessage(`{"text":[`+strings.Repeat("1,", 999_999)+`1]}`))
	if err == nil {
		if r := w.Ended(run); r.OK || r.ErrorCode == toolspec.CodeInternal {
			t.Errorf("a million members: %+v", r)
		}
	}
	e2etest.WantText(t, w.Invoke(e2etest.Invocation("after", "test__read", `{"text":"hello"}`)), "hello")
}
