package secrets

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// leak has a tool or a hook that leaks a canary, and the expected end of its call.
type leak struct {
	tool  func(c e2etest.Canary) e2etest.Run
	hook  func(c e2etest.Canary) hook.Option
	shape func(*toolspec.Definition)
	code  toolspec.Code // "" = ok, with the text "shown"
}

// leaks returns the ways in which a tool or a hook could leak a text.
func leaks() map[string]leak {
	hidden := func(c e2etest.Canary) e2etest.Out { return e2etest.Out{Text: "shown", Hidden: string(c)} }
	return map[string]leak{
		"output": {tool: func(c e2etest.Canary) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { return hidden(c), nil }
		}},
		"tool-error": {code: toolspec.CodeExecution, shape: e2etest.Attempts(1), tool: func(c e2etest.Canary) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
				return e2etest.Out{}, errors.New("broke at " + string(c))
			}
		}},
		"tool-panic": {code: toolspec.CodeExecution, shape: e2etest.Attempts(1), tool: func(c e2etest.Canary) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { panic("broke at " + string(c)) }
		}},
		"tool-panic-error": {code: toolspec.CodeExecution, shape: e2etest.Attempts(1), tool: func(c e2etest.Canary) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
				panic(fmt.Errorf("broke at %s", c))
			}
		}},
		"hook-panic": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { panic("broke at " + string(c)) })
		}},
		"hook-error": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillCheckConsent.Do(func(context.Context, *hook.Consent) error { return errors.New("broke at " + string(c)) })
		}},
		"logged-hook-error": {hook: func(c e2etest.Canary) hook.Option {
			return hook.OnMetrics.Do(func(context.Context, *hook.Report) error { return errors.New("broke at " + string(c)) })
		}},
		"logged-hook-panic": {hook: func(c e2etest.Canary) hook.Option {
			return hook.WillFinalizeInvoke.Do(func(context.Context, *hook.Report) error { panic("broke at " + string(c)) })
		}},
		"transient-hook-error": {hook: func(c e2etest.Canary) hook.Option {
			var failed atomic.Bool
			return hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error {
				if failed.Swap(true) {
					return nil
				}
				return errs.Transient(errors.New("broke at " + string(c)))
			})
		}},
		"execute-hook-error": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.DidExecute.Do(func(context.Context, *hook.Executed) error { return errors.New("broke at " + string(c)) })
		}},
		"around-wraps-error": {
			code: toolspec.CodeExecution, shape: e2etest.Attempts(1),
			tool: func(c e2etest.Canary) e2etest.Run {
				return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
					return e2etest.Out{}, errors.New("broke")
				}
			},
			hook: func(c e2etest.Canary) hook.Option {
				return hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
					_, err := v.Next()
					return fmt.Errorf("around %s: %w", c, err)
				})
			},
		},
		"scratchpad": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillCreateInvokeContext.Do(func(_ context.Context, v *hook.Begin) error {
				v.Put("note", "sk-"+string(c))
				return nil
			})
		}},
		"scratchpad-name": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error {
				v.Put("apiKey", map[string]string{"of": string(c)})
				return nil
			})
		}},
		"responded": {hook: func(c e2etest.Canary) hook.Option {
			return hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error { return v.Respond(hidden(c)) })
		}},
		"responded-around": {hook: func(c e2etest.Canary) hook.Option {
			return hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error { return v.Respond(hidden(c)) })
		}},
		"transformed": {hook: func(c e2etest.Canary) hook.Option {
			return hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
				v.SetOutput(hidden(c))
				return nil
			})
		}},
		"cached": {hook: func(c e2etest.Canary) hook.Option {
			return hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
				v.Found(hidden(c))
				return nil
			})
		}},
		"misused-verb": {code: toolspec.CodeInternal, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error {
				_ = v.Abort("not returned: " + string(c))
				return nil
			})
		}},
		"broken-output": {code: toolspec.CodeOutputValidation, hook: func(c e2etest.Canary) hook.Option {
			return hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
				v.SetOutput(map[string]any{"text": []string{string(c)}})
				return nil
			})
		}},
	}
}

// TestCanaries: a text that a tool or a hook leaks is not stored anywhere, in any form.
func TestCanaries(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicyWith(t, "    mode: auto\n", `    mode: auto
    mask: [{tool: "test__policy-*", path: /text, with: email}]
`))
	planted, masked := e2etest.NewCanary(), e2etest.NewCanary()
	canaries := map[string]e2etest.Canary{}
	var options []worker.Option
	var calls []toolspec.Invocation
	for name, l := range leaks() {
		for lane, shape := range map[string]func(*toolspec.Definition){"local": e2etest.Fast, "regular": e2etest.Idempotent} {
			c, id := e2etest.NewCanary(), "test__"+lane+"-"+name
			f := e2etest.Shown
			if l.tool != nil {
				f = l.tool(c)
			}
			if l.shape == nil {
				l.shape = func(*toolspec.Definition) {}
			}
			options = append(options, worker.Tools(e2etest.Tool(id, f, shape, l.shape)))
			if l.hook != nil {
				options = append(options, worker.ToolHooks(id, hook.New(lane+"-"+name, l.hook(c))))
			}
			canaries[id] = c
			w.Secrets.Never(id, []byte(c))
			calls = append(calls, e2etest.Invocation(lane+"-"+name, id, `{}`))
		}
	}
	options = append(options, worker.Tools(
		e2etest.Tool("test__planted", func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			call.Logger.InfoContext(ctx, "planted", "text", base64.StdEncoding.EncodeToString([]byte("x"+planted)))
			return e2etest.Out{Text: hex.EncodeToString([]byte(planted))}, nil
		}, e2etest.Fast),
		e2etest.Tool("test__masked", e2etest.Shown, e2etest.Idempotent, e2etest.Risky,
			func(d *toolspec.Definition) { d.Redaction.MaskInput = []string{"/note"} }),
		e2etest.Tool("test__invalid", e2etest.Shown, e2etest.Fast),
	))
	// The masked part of a value does not leave the attempt or the stage of a hook. This holds in both lanes, for a value that is stored as an output, and for a
	// mask of the tool or of policy.
	contacts := map[string]toolspec.Invocation{}
	for lane, shape := range map[string]func(*toolspec.Definition){"local": e2etest.Fast, "regular": e2etest.Idempotent, "stored": e2etest.Idempotent, "hook": e2etest.Fast} {
		for _, by := range []string{"tool", "policy"} {
			c, id := e2etest.NewCanary(), "test__"+by+"-"+lane
			text := "ask " + string(c) + "@example.org" + strings.Repeat(" now", map[string]int{"stored": 50_000}[lane])
			shown := e2etest.Out{Text: text}
			if lane == "hook" {
				shown.Text = ""
				options = append(options, worker.ToolHooks(id, hook.New(by+"-hook", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
					v.SetOutput(map[string]any{"text": text})
					return nil
				}))))
			}
			options = append(options, worker.Tools(e2etest.Tool(id, func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
				return shown, nil
			}, shape, func(d *toolspec.Definition) {
				if by == "tool" {
					d.Redaction.MaskOutput = []toolspec.Masking{{Path: "/text", With: toolspec.MaskEmail}}
				}
			})))
			canaries[id] = c
			w.Secrets.Never(id, []byte(c))
			contacts[by+"-"+lane] = e2etest.Invocation("contact-"+by+"-"+lane, id, `{}`)
		}
	}
	// This receiver of notices breaks the connection at the first delivery of each notice. Its address and its secret must not be logged or stored.
	hooked, address, key := make(chan e2etest.Trace, 100), e2etest.NewCanary(), e2etest.NewCanary()
	var broken sync.Map
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		hooked <- e2etest.Trace{Where: "webhook " + r.Header.Get("webhook-id"), Text: fmt.Appendf(text, "%v", r.Header)}
		if _, before := broken.LoadOrStore(r.Header.Get("webhook-id"), true); !before {
			panic(http.ErrAbortHandler)
		}
	}))
	defer receiver.Close()
	c := w.Config()
	c.Notify = worker.Notify{URL: receiver.URL + "/" + string(address), Secret: base64.StdEncoding.EncodeToString([]byte(key)), Log: true}
	w.WorkWith(c, options...)

	started := map[string]*pawl.Call{}
	for _, inv := range calls {
		started[inv.ToolCallID] = w.Start(inv)
	}
	for id, call := range started {
		l := leaks()[strings.TrimPrefix(strings.TrimPrefix(id, "local-"), "regular-")]
		if r := w.Result(call); l.code != "" && r.ErrorCode != l.code || l.code == "" && string(r.Value) != `{"text":"shown"}` {
			t.Errorf("%s ended with %+v, want %q", id, r, l.code)
		}
	}
	for lane, inv := range contacts {
		r := w.Invoke(inv)
		value := r.Value
		if strings.HasSuffix(lane, "stored") {
			var err error
			if value, err = w.Pawl.Output(t.Context(), "acme", r.OutputRef); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
		if !strings.HasPrefix(string(value), `{"text":"ask ***`) {
			t.Errorf("%s: %.60s, want the address masked", lane, value)
		}
		calls = append(calls, inv)
	}
	plantedCall := e2etest.Invocation("planted", "test__planted", `{}`)
	w.Invoke(plantedCall)

	// The masked text is in the input that the caller has sent and in the payloads that carry the arguments to the tool. An approver does not see it.
	maskedCall := e2etest.Invocation("masked", "test__masked", fmt.Sprintf(`{"note":%q}`, masked))
	waiting := w.Start(maskedCall)
	w.Waiting(waiting.WorkflowID)
	before := w.Traces(maskedCall)
	w.Approve(waiting.WorkflowID)
	e2etest.WantText(t, w.Result(waiting), "shown")

	// The message of a refusal does not quote the arguments.
	invalid := e2etest.NewCanary()
	invalidCall := e2etest.Invocation("invalid", "test__invalid", fmt.Sprintf(`{"text":{"a":%q},"note":[%q]}`, invalid, invalid))
	e2etest.WantCode(t, w.Invoke(invalidCall), toolspec.CodeValidation)

	traces := append(w.Traces(append(calls, plantedCall, maskedCall, invalidCall)...), before...)

	w.Until(func() bool {
		return e2etest.Scalar[int](w, `SELECT count(*)::int FROM notice_deliveries WHERE sent_at IS NOT NULL`) == 4
	}, "the webhook and the log are told")
	traces = append(traces, w.Traces(maskedCall)...)
	shows := false
	for range len(hooked) {
		notice := <-hooked
		shows = shows || strings.Contains(string(notice.Text), `"note":"***"`)
		traces = append(traces, notice)
	}
	if !shows {
		t.Error("no notice shows the mask")
	}

	// First check that the search finds a text where it is stored.
	found := planted.Find(traces)
	for _, place := range []string{
		"history tool:acme:run:planted MarkerRecorded execute", "history tool:acme:run:planted WorkflowExecutionCompleted",
		"table invocations", "pawl show planted", "pawl show --json planted", "log",
	} {
		if !slices.Contains(found, place) {
			t.Fatalf("the search does not find what was planted in %q, but in %q", place, found)
		}
	}
	for id, c := range canaries {
		if where := c.Find(traces); len(where) > 0 {
			t.Errorf("%s: what must not get out stands in %q", id, where)
		}
	}
	carriers := func(id string) []string {
		return []string{
			"history tool:acme:run:" + id + " WorkflowExecutionStarted", "history tool:acme:run:" + id + " MarkerRecorded hydrate",
			"history tool:acme:run:" + id + " ActivityTaskScheduled",
		}
	}
	for id, c := range map[string]e2etest.Canary{"masked": masked, "invalid": invalid, "webhook's address": address, "webhook's secret": key} {
		where := slices.DeleteFunc(c.Find(traces), func(place string) bool { return slices.Contains(carriers(id), place) })
		if len(where) > 0 {
			t.Errorf("%s: what was sent stands in %q", id, where)
		}
	}
	if !slices.ContainsFunc(traces, func(tr e2etest.Trace) bool {
		return tr.Where == "table approvals" && strings.Contains(string(tr.Text), `"note":"***"`)
	}) {
		t.Error("the request shows no mask")
	}
}
