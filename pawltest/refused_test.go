package pawltest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// ended is a test that keeps why it was ended, or failed.
type ended struct {
	testing.TB
	why string
}

func (e *ended) Fatal(args ...any) { e.Fatalf("%s", fmt.Sprint(args...)) }

func (e *ended) Fatalf(format string, args ...any) {
	e.why = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (e *ended) Errorf(format string, args ...any) { e.why += fmt.Sprintf(format, args...) }

// why runs f and returns why it ended or failed its test; "" if it did neither.
func why(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	e, done := &ended{TB: t}, make(chan struct{})
	go func() {
		defer close(done)
		f(e)
	}()
	<-done
	return e.why
}

// TestMistakesEndTheTest: a test that could show nothing ends, and says what to do.
func TestMistakesEndTheTest(t *testing.T) {
	t.Parallel()
	quiet := hook.New("quiet", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }))
	rules, err := policy.Parse("policy.yaml", []byte(`
version: 1
tenants:
  acme: {allowedTools: ["*"], mode: auto, rules: [{tool: test__tool, decision: allow, when: args.txt == "a"}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		f    func(t testing.TB)
		want string
	}{
		"a tool that is faulty": {func(t testing.TB) {
			pawltest.Call{Tool: tool(echo, func(d *toolspec.Definition) { d.Risk = "" })}.Run(t)
		}, "risk is missing"},
		"a capability of nobody":  {func(t testing.TB) { pawltest.Call{Tool: tool(echo, declares("queue"))}.Run(t) }, `no capability "queue"`},
		"a workspace that is not": {func(t testing.TB) { pawltest.Call{Workspace: "/none"}.Run(t) }, "Workspace"},
		"arguments of Go that are no JSON": {func(t testing.TB) {
			pawltest.Call{Args: func() {}}.Run(t)
		}, "Args cannot be written as JSON"},
		"a credential of another kind": {func(t testing.TB) {
			pawltest.Call{Connection: &pawltest.Connection{Credential: map[string]string{broker.FieldKey: "x"}}}.Run(t)
		}, "needs token"},
		"a provider that is faulty": {func(t testing.TB) {
			pawltest.Call{Connection: &pawltest.Connection{Provider: broker.Provider{ID: "x"}}}.Run(t)
		}, "Connection.Provider"},
		"a tool without a probe":    {func(t testing.TB) { pawltest.Call{}.Probe(t) }, "has no probe"},
		"a stage without a handler": {func(t testing.TB) { _, _ = pawltest.Call{}.At(t, hook.WillAudit, quiet) }, `hook "quiet" does nothing at willAudit`},
		"a hook without a name": {func(t testing.TB) {
			_, _ = pawltest.Call{}.At(t, hook.WillAuthorize, hook.New(""))
		}, "the name must be"},
		"a stage of the attempt": {func(t testing.TB) { _, _ = pawltest.Call{}.At(t, hook.AroundExecute, quiet) }, "set Call.Hooks and use Call.Run"},
		"a stage behind hydration": {func(t testing.TB) {
			_, _ = pawltest.Call{Args: `{"more":1}`}.At(t, hook.WillCheckConsent, hook.New("h", hook.WillCheckConsent.Do(func(context.Context, *hook.Consent) error { return nil })))
		}, "the call does not get to willCheckConsent: validation"},
		"an output before the tool": {func(t testing.TB) { _, _ = pawltest.Call{Output: `{}`}.At(t, hook.WillAuthorize, quiet) }, "there is no output at willAuthorize"},
		"an output that is none": {func(t testing.TB) {
			_, _ = pawltest.Call{Output: `{}`}.At(t, hook.WillAudit, hook.New("h", hook.WillAudit.Do(func(context.Context, *hook.Audit) error { return nil })))
		}, "Output breaks the output schema"},
		"arguments that no policy sees": {func(t testing.TB) { pawltest.Call{Args: `{"more":1}`}.Decide(t, policy.Development()) }, "policy never sees these arguments"},
		"a condition on no argument":    {func(t testing.TB) { pawltest.Call{Tool: tool(echo)}.Decide(t, rules) }, "no argument txt; did you mean text?"},
		"a policy that is not there":    {func(t testing.TB) { pawltest.Policy(t, "none.yaml") }, "none.yaml"},
	} {
		if got := why(t, tc.f); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	if got := why(t, func(t testing.TB) { pawltest.Call{}.Run(t) }); got != "" {
		t.Errorf("a right call: %s", got)
	}
}

// TestDecide: a policy judges a call by what the tool declares, before and after its arguments are known.
func TestDecide(t *testing.T) {
	t.Parallel()
	rules, err := policy.Parse("policy.yaml", []byte(`
version: 1
tenants:
  acme: {allowedTools: [test__*], mode: auto, rules: [{tool: test__tool, decision: deny, when: args.text == "no"}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	call := pawltest.Call{Tool: tool(echo)}
	if d := call.Decide(t, rules).Decision; !d.Undetermined {
		t.Errorf("%+v", d)
	}
	call.Args = in{Text: "no"}
	if d := call.Decide(t, rules).Decision; d.Verb != policy.Deny || d.Rule != "tenants.acme.rules[0]" {
		t.Errorf("%+v", d)
	}
	call.Args = in{Text: "yes"}
	if d := call.Decide(t, rules).Decision; d.Verb != policy.Allow {
		t.Errorf("%+v", d)
	}
	call.Tool = tool(echo, risky)
	if d := call.Decide(t, rules).Decision; d.Verb != policy.RequireApproval {
		t.Errorf("%+v", d)
	}
	call.Context.TenantID = "globex"
	if d := call.Decide(t, rules).Decision; d.Verb != policy.Deny {
		t.Errorf("%+v", d)
	}
}
