package pawltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

func TestMain(m *testing.M) { pawltest.Main(m) }

type in struct {
	Text  string `json:"text" jsonschema:"maxLength=10"`
	Email string `json:"email,omitempty"`
}

type out struct {
	Text   string `json:"text" jsonschema:"maxLength=100000"`
	Hidden string `json:"hidden,omitempty"`
}

// tool makes a tool that shows its text, and masks the e-mail address.
func tool(run func(ctx context.Context, in in, call toolspec.Call) (out, error), change ...func(*toolspec.Definition)) toolspec.Tool {
	def := toolspec.Definition{
		ID: "test__tool", Description: "A tool of a test.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: []string{"/email"}},
	}
	for _, f := range change {
		f(&def)
	}
	return toolspec.Define(def, run)
}

func echo(_ context.Context, in in, _ toolspec.Call) (out, error) {
	return out{Text: in.Text, Hidden: "hidden"}, nil
}

func declares(names ...toolspec.CapabilityName) func(*toolspec.Definition) {
	return func(d *toolspec.Definition) { d.Capabilities = names }
}

func once(d *toolspec.Definition) { d.Effect = toolspec.ExternalSideEffect }

func within(d time.Duration) func(*toolspec.Definition) {
	return func(def *toolspec.Definition) { def.Timeout = d }
}

// TestRunRedacts: nobody sees what the allowlist does not name, and approvers see no masked argument.
func TestRunRedacts(t *testing.T) {
	t.Parallel()
	got := pawltest.Call{Tool: tool(echo), Args: in{Text: "hello", Email: "ann@example.com"}}.Run(t)
	if !got.Result.OK || string(got.Result.Value) != `{"text":"hello"}` || string(got.Value) != `{"text":"hello"}` || string(got.ModelContent) != `{"text":"hello"}` {
		t.Errorf("%+v, a model reads %s", got.Result, got.ModelContent)
	}
	if string(got.SafeArgs) != `{"email":"***","text":"hello"}` {
		t.Errorf("approvers see %s", got.SafeArgs)
	}
	if got.Result.Source != toolspec.SourceExecuted || got.Result.Attempts != 1 || got.Result.InvocationID == "" {
		t.Errorf("%+v", got.Result)
	}
}

// TestRunEnds: each way in which an attempt ends is the one that production has.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(context.Context, in, toolspec.Call) (out, error) {
		return func(context.Context, in, toolspec.Call) (out, error) { return out{}, err }
	}
	waits := func(ctx context.Context, _ in, _ toolspec.Call) (out, error) {
		<-ctx.Done()
		return out{}, ctx.Err()
	}
	text := func(n int) func(context.Context, in, toolspec.Call) (out, error) {
		return func(context.Context, in, toolspec.Call) (out, error) { return out{Text: strings.Repeat("x", n)}, nil }
	}
	for name, tc := range map[string]struct {
		tool      toolspec.Tool
		args      any
		code      toolspec.Code
		message   string
		retryable bool
	}{
		"a field too many":       {tool(echo), `{"text":"a","more":1}`, toolspec.CodeValidation, "", false},
		"a text too long":        {tool(echo), `{"text":"12345678901"}`, toolspec.CodeValidation, "", false},
		"no JSON":                {tool(echo), `{"text":`, toolspec.CodeInvalidJSON, "Invalid tool arguments JSON", false},
		"a secret":               {tool(echo), `{"text":"a","apiKey":"x"}`, toolspec.CodeValidation, "", false},
		"a safe error":           {tool(fails(toolspec.Safef("no such order"))), `{"text":"a"}`, toolspec.CodeExecution, "Error executing tool: no such order", false},
		"another error":          {tool(fails(errors.New("canary"))), `{"text":"a"}`, toolspec.CodeExecution, "Error executing tool: the tool failed", true},
		"busy":                   {tool(fails(toolspec.RetryAfter(time.Second, "later"))), `{"text":"a"}`, toolspec.CodeRateLimited, "Error executing tool: later", true},
		"aborted":                {tool(fails(toolspec.Abort("no", "own", 403))), `{"text":"a"}`, toolspec.CodeAborted, "no", false},
		"a value against schema": {tool(text(100_001)), `{"text":"a"}`, toolspec.CodeOutputValidation, "", false},
		"a value too large": {
			tool(text(100), func(d *toolspec.Definition) { d.MaxResultBytes = 50 }), `{"text":"a"}`, toolspec.CodeResultTooLarge, "The result is larger than 50 bytes", false,
		},
		"a read that is late":  {tool(waits, within(10*time.Millisecond)), `{"text":"a"}`, toolspec.CodeTimeout, "", true},
		"a write that is late": {tool(waits, within(10*time.Millisecond), once), `{"text":"a"}`, toolspec.CodeOutcomeUnknown, "", true},
		"a panic":              {tool(func(context.Context, in, toolspec.Call) (out, error) { panic("canary") }), `{"text":"a"}`, toolspec.CodeExecution, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := pawltest.Call{Tool: tc.tool, Args: tc.args}.Run(t)
			if got.Result.OK || got.Result.ErrorCode != tc.code || tc.message != "" && got.Result.SafeMessage != tc.message || got.Retryable != tc.retryable {
				t.Errorf("it ends with %+v %+v, retryable %t", got.Result, got.Result.Details, got.Retryable)
			}
			attempts := 1
			if got.SafeArgs == nil { // the arguments are refused before an attempt
				attempts = 0
			}
			if got.Result.Attempts != attempts {
				t.Errorf("%d attempts, want %d", got.Result.Attempts, attempts)
			}
			var failure struct{ ErrorCode toolspec.Code }
			if err := json.Unmarshal(got.ModelContent, &failure); err != nil || failure.ErrorCode != tc.code {
				t.Errorf("a model reads %s", got.ModelContent)
			}
			if all := fmt.Sprintf("%+v", got); strings.Contains(all, "canary") {
				t.Errorf("the text of an error got out: %s", all)
			}
		})
	}
}

// TestRunProvides: the tool gets the capabilities that the call names, and its own abilities win.
func TestRunProvides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := pawltest.Call{Tool: tools.ReadFile(), Args: `{"path":"notes.txt"}`, Workspace: dir}.Run(t)
	if !got.Result.OK || !strings.Contains(string(got.Value), "buy milk") {
		t.Errorf("%+v", got.Result)
	}
	got = pawltest.Call{Now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}.Run(t)
	if !strings.Contains(string(got.Value), "2026-01-02T03:04:05") {
		t.Errorf("the time is %s", got.Value)
	}
	word := toolspec.NewCapability[string]("word")
	spoken := provide.NewToken[string]("word")
	says := tool(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		capability.ProgressKey.From(call).Report(ctx, toolspec.Progress{Done: 1, Total: 2, Text: "half"})
		call.Logger.InfoContext(ctx, "said")
		return out{Text: fmt.Sprintf("%s %d %d %s", word.From(call), call.Attempt, call.Epoch, call.Context.ActorID)}, nil
	}, declares(word.Name(), capability.ProgressKey.Name()))
	got = pawltest.Call{
		Tool: says, Args: `{"text":"a"}`, Capabilities: []toolspec.Provided{word.Provide("hi")}, Attempt: 2, Epoch: 3, Context: toolspec.Context{ActorID: "user:ann"},
	}.Run(t)
	if string(got.Value) != `{"text":"hi 2 3 user:ann"}` || len(got.Progress) != 1 || got.Progress[0].Text != "half" || !strings.Contains(got.Log, "said") {
		t.Errorf("%s, %+v, %s", got.Value, got.Progress, got.Log)
	}
	got = pawltest.Call{
		Tool: says, Args: `{"text":"a"}`, Capabilities: []toolspec.Provided{word.Provide("hi")},
		Providers: []provide.Option{provide.Singleton(spoken, "ho"), provide.Backs(spoken, word)},
	}.Run(t)
	if string(got.Value) != `{"text":"ho 1 1 agent:test"}` {
		t.Errorf("%s", got.Value)
	}
}

// TestRunLarge: a value that a payload does not hold is there whole, and a model reads a preview.
func TestRunLarge(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", toolspec.MaxInline)
	got := pawltest.Call{Tool: tool(func(context.Context, in, toolspec.Call) (out, error) { return out{Text: large}, nil }), Args: `{"text":"a"}`}.Run(t)
	if !got.Result.OK || !got.Result.Truncated || got.Result.OutputRef == "" || string(got.Value) != `{"text":"`+large+`"}` || !strings.Contains(string(got.ModelContent), `"truncated":true`) {
		t.Errorf("%+v, %d bytes, a model reads %.100s", got.Result, len(got.Value), got.ModelContent)
	}
}

// fetch answers with what the service of its connection says to a request for the URL in its text.
func fetch(url string) func(context.Context, in, toolspec.Call) (out, error) {
	return func(ctx context.Context, _ in, call toolspec.Call) (out, error) {
		client, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
		if err != nil {
			return out{}, toolspec.Safef("%w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return out{}, err
		}
		resp, err := client.Do(req)
		if err != nil {
			return out{}, toolspec.Safef("%w", errors.Unwrap(err))
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return out{Text: string(body)}, err
	}
}

// TestRunOverAConnection: the credential goes to the hosts of the provider alone, and does not get out.
func TestRunOverAConnection(t *testing.T) {
	t.Parallel()
	const key = "f3a9c1d7-secret-key"
	connected := func(d *toolspec.Definition) {
		d.RequiresConnection, d.Capabilities, d.Scopes = true, []toolspec.CapabilityName{capability.ClientsKey.Name()}, []string{"read"}
	}
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s", r.Host, r.Header.Get("X-Key"))
	})
	over := func(scopes ...string) *pawltest.Connection {
		return &pawltest.Connection{
			Provider: broker.Provider{
				ID: "shop", Kind: broker.APIKey, Hosts: []string{"shop.example"}, Place: &broker.Place{Header: "X-Key"},
			},
			Credential: map[string]string{broker.FieldKey: key}, Service: service, Scopes: scopes,
		}
	}
	got := pawltest.Call{Tool: tool(fetch("https://shop.example/x"), connected), Args: `{"text":"a"}`, Connection: over()}.Run(t)
	if string(got.Value) != `{"text":"shop.example [redacted]"}` || strings.Contains(got.Log, key) {
		t.Errorf("%s, logged %s", got.Value, got.Log)
	}
	got = pawltest.Call{Tool: tool(fetch("https://other.example/x"), connected), Args: `{"text":"a"}`, Connection: over()}.Run(t)
	if got.Result.OK || !strings.Contains(got.Result.SafeMessage, capability.ErrForeignHost.Error()) {
		t.Errorf("another host: %+v", got.Result)
	}
	local := over()
	local.Provider.Hosts, local.Provider.Insecure = []string{"127.0.0.1:8080"}, true
	got = pawltest.Call{Tool: tool(fetch("http://127.0.0.1:8080/x"), connected), Args: `{"text":"a"}`, Connection: local}.Run(t)
	if string(got.Value) != `{"text":"127.0.0.1:8080 [redacted]"}` {
		t.Errorf("without TLS: %+v", got.Result)
	}
	got = pawltest.Call{Tool: tool(fetch("http://shop.example/x"), connected), Args: `{"text":"a"}`, Connection: over()}.Run(t)
	if got.Result.OK || !strings.Contains(got.Result.SafeMessage, "use https://") {
		t.Errorf("without TLS, to a provider that does not allow it: %+v", got.Result)
	}
	got = pawltest.Call{Tool: tool(fetch("https://shop.example/x"), connected), Args: `{"text":"a"}`, Connection: over("write")}.Run(t)
	if got.Result.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("without the scope: %+v", got.Result)
	}
	got = pawltest.Call{Tool: tool(fetch("https://shop.example/x"), connected), Args: `{"text":"a"}`}.Run(t)
	if got.Result.ErrorCode != toolspec.CodeValidation || got.Result.Details.Kind != "missing_connection" {
		t.Errorf("without a connection: %+v", got.Result)
	}
	// A tool that does not say that it needs a connection runs, and its author learns what to do, also if the tool returns the plain error.
	undeclared := tool(func(_ context.Context, _ in, call toolspec.Call) (out, error) {
		_, err := capability.ClientsKey.From(call).For(call.Context.ConnectionID)
		return out{}, fmt.Errorf("the client: %w", err)
	}, declares(capability.ClientsKey.Name()))
	got = pawltest.Call{Tool: undeclared, Args: `{"text":"a"}`}.Run(t)
	if got.Result.ErrorCode != toolspec.CodeExecution || !strings.Contains(got.Result.SafeMessage, "sets RequiresConnection") {
		t.Errorf("without a connection, and a tool that does not require one: %+v", got.Result)
	}
}

// TestRunHooks: hooks around the tool run as they do in an attempt.
func TestRunHooks(t *testing.T) {
	t.Parallel()
	var order []string
	note := func(what string) { order = append(order, what) }
	h := hook.New("around",
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			note("around")
			_, err := v.Next()
			return err
		}),
		hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { note("will"); return nil }),
		hook.DidExecute.Do(func(_ context.Context, v *hook.Executed) error { note("did " + string(v.RawOutput())); return nil }))
	got := pawltest.Call{Tool: tool(echo), Args: `{"text":"a"}`, Hooks: []hook.Hook{h}}.Run(t)
	if want := `around will did {"text":"a","hidden":"hidden"}`; !got.Result.OK || strings.Join(order, " ") != want {
		t.Errorf("%+v, in the order %q", got.Result, order)
	}
	cached := hook.New("cached", hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return v.Respond(out{Text: "b", Hidden: "h"}) }))
	got = pawltest.Call{Tool: tool(echo), Args: `{"text":"a"}`, Hooks: []hook.Hook{cached}}.Run(t)
	if string(got.Result.Value) != `{"text":"b"}` || got.Result.Source != toolspec.SourceResponded {
		t.Errorf("%+v", got.Result)
	}
}

// TestAt: each kind of verdict is the one that production has.
func TestAt(t *testing.T) {
	t.Parallel()
	call := pawltest.Call{Tool: tool(echo), Args: in{Text: "a", Email: "ann@example.com"}, Now: time.UnixMilli(1_700_000_000_000)}
	check := func(f func(context.Context, *hook.Check) error) hook.Hook {
		return hook.New("h", hook.WillAcquireQuota.Do(f))
	}
	v, err := call.At(t, hook.WillAcquireQuota, check(func(_ context.Context, v *hook.Check) error {
		if string(v.Args()) != `{"email":"ann@example.com","text":"a"}` || string(v.SafeArgs()) != `{"email":"***","text":"a"}` || !v.Now().Equal(call.Now) {
			t.Errorf("it sees %s and %s at %s", v.Args(), v.SafeArgs(), v.Now())
		}
		return v.RetryAfter(time.Second, "later")
	}))
	if err != nil || v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodeRateLimited || v.Failure.RetryAfterMs != 1000 || v.By != "h" {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = call.At(t, hook.WillAcquireQuota, check(func(_ context.Context, v *hook.Check) error { return v.Respond(out{Text: "b", Hidden: "h"}) }))
	if err != nil || v.Outcome != hook.Responded || string(v.Value) != `{"text":"b"}` {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = call.At(t, hook.WillAcquireQuota, check(func(context.Context, *hook.Check) error { return errs.Transient(errors.New("away")) }))
	if !errs.IsTransient(err) {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = call.At(t, hook.WillAcquireQuota, check(func(_ context.Context, v *hook.Check) error { _ = v.Abort("no"); return nil }))
	if err != nil || v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodeInternal {
		t.Errorf("a verb whose error is dropped: %+v, %v", v, err)
	}
	v, err = call.At(t, hook.WillCheckConsent, hook.New("h", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		if v.Approved() {
			return nil
		}
		return v.RequireApproval(hook.Ask{Message: "why"})
	})))
	if err != nil || v.Outcome != hook.Asked || v.Ask.Message != "why" {
		t.Errorf("%+v, %v", v, err)
	}
	v, err = call.At(t, hook.WillNormalizeInput, hook.New("h", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
		v.SetArgs(in{Text: "b", Email: "ben@example.com"})
		v.Put("seen", true)
		return nil
	})))
	if err != nil || v.Outcome != hook.Continue || string(v.Delta.Args) != `{"text":"b","email":"ben@example.com"}` ||
		string(v.Delta.SafeArgs) != `{"email":"***","text":"b"}` || len(v.Delta.Data) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	call.Output = out{Text: "value", Hidden: "h"}
	v, err = call.At(t, hook.WillTransformOutput, hook.New("h", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
		v.SetOutput(out{Text: string(v.Output()), Hidden: "h"})
		return nil
	})))
	if err != nil || string(v.Delta.Output) != `{"text":"{\"text\":\"value\"}"}` {
		t.Errorf("%+v, %v", v, err)
	}
	call.Output = nil
	call.Facts = func(f *hook.Facts) { f.Failure = &hook.Failure{Code: toolspec.CodeExecution} }
	v, err = call.At(t, hook.WillAudit, hook.New("h", hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
		v.Record("ended", map[string]any{"ok": v.OK(), "code": v.ErrorCode()})
		return nil
	})))
	if err != nil || len(v.Delta.Audit) != 1 || string(v.Delta.Audit[0].Detail) != `{"code":"execution","ok":false}` {
		t.Errorf("%+v, %v", v, err)
	}
	durable := hook.New("h", hook.Durable(20*time.Millisecond), hook.WillAcquireQuota.Do(func(ctx context.Context, _ *hook.Check) error {
		<-ctx.Done()
		return ctx.Err()
	}))
	v, err = call.At(t, hook.WillAcquireQuota, durable)
	if err != nil || v.Failure == nil || v.Failure.Code != toolspec.CodeTimeout {
		t.Errorf("a durable hook that is late: %+v, %v", v, err)
	}
}
