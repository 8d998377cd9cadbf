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
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// token is a secret whose type says that it must not be printed. The tests print it in ways that ignore this.
type token struct{ text string }

func (*token) Redacted() {}

// spill has a tool or a hook that leaks the secret with which it works, and the expected answer of its call.
type spill struct {
	run   func(s string) e2etest.Run
	shape func(*toolspec.Definition)
	hook  func(s string) hook.Option
	code  toolspec.Code
	value string // of a call that is ok
}

// encoded returns the function that encodes a text in the encoding of this name.
func encoded(name string) func(string) string {
	all := fingerprinttest.Encodings()
	return all[slices.IndexFunc(all, func(e fingerprinttest.Encoding) bool { return e.Name == name })].Encode
}

// spills returns tools as a careless author writes them (faults 49 and 50). The server returns the headers of a request in its answer.
func spills(server string) map[string]spill {
	asText := func(write func(s string) string) func(string) e2etest.Run {
		return func(s string) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
				return e2etest.Out{Text: write(s)}, nil
			}
		}
	}
	fails := func(broken func(s string) error) func(string) e2etest.Run {
		return func(s string) e2etest.Run {
			return func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) { return e2etest.Out{}, broken(s) }
		}
	}
	get := func(ctx context.Context, query, s string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server+query, http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Authorization", "Bearer "+s)
		return http.DefaultTransport.RoundTrip(r)
	}
	const clean = `{"text":"[redacted]"}`
	return map[string]spill{
		"output": {run: asText(func(s string) string { return "the key is " + s + "." }), value: `{"text":"the key is [redacted]."}`},
		"output-base64": {run: asText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte("u:" + s)) }),
			value: `{"text":"dT[redacted]"}`},
		"output-hex": {run: asText(func(s string) string { return hex.EncodeToString([]byte(s)) }), value: clean},
		"output-reversed": {run: asText(func(s string) string {
			r := []rune(s)
			slices.Reverse(r)
			return string(r)
		}), value: clean},
		"output-pieces": {run: asText(func(s string) string { return s[:10] + " " + s[10:20] + "\n" + s[20:] }), value: clean},
		"output-json": {run: asText(func(s string) string { return fmt.Sprintf(`{"a":[%q,%q]}`, s[:10], s[10:]) }),
			value: `{"text":"{\"a\":[\"[redacted]\"]}"}`},
		"output-bytes": {run: asText(func(s string) string { return fmt.Sprintf("%v %v", &token{s}, []byte(s)) }), value: ""},
		"large-output": {
			run:   asText(func(s string) string { return strings.Repeat("a", 80<<10) + s }),
			shape: func(d *toolspec.Definition) { d.MaxResultBytes = 200 << 10 }, value: "stored",
		},
		"header-echo": {value: clean, run: func(s string) e2etest.Run {
			return func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
				answer, err := get(ctx, "/echo", s)
				if err != nil {
					return e2etest.Out{}, err
				}
				defer answer.Body.Close()
				return e2etest.Out{Text: strings.TrimPrefix(answer.Header.Get("X-Echo"), "Bearer ")}, nil
			}
		}},
		"error-page": {value: `{"text":"\u003cp\u003eBad header: Bearer [redacted].\u003c/p\u003e"}`, run: func(s string) e2etest.Run {
			return func(ctx context.Context, _ e2etest.In, _ toolspec.Call) (e2etest.Out, error) {
				answer, err := get(ctx, "/page", s)
				if err != nil {
					return e2etest.Out{}, err
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				return e2etest.Out{Text: string(text)}, err
			}
		}},
		"output-html":       {run: asText(encoded("hexadecimal entities")), value: ""},
		"output-url":        {run: asText(encoded("percent twice")), value: ""},
		"output-list":       {run: asText(encoded("hex list")), value: ""},
		"output-octal":      {run: asText(encoded("octal escapes")), value: ""},
		"output-printable":  {run: asText(encoded("quoted-printable, all")), value: ""},
		"output-json-text":  {run: asText(encoded("JSON, signs as units")), value: ""},
		"output-gzip":       {run: asText(encoded("gzip as base64")), value: ""},
		"output-two-halves": {run: asText(encoded("halves in members")), value: ""},
		"http-error": {code: toolspec.CodeExecution, run: func(s string) e2etest.Run {
			return func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
				answer, err := (&http.Client{}).Get("http://127.0.0.1:1/?key=" + s)
				if err == nil {
					_ = answer.Body.Close()
				}
				call.Logger.WarnContext(ctx, "request failed", "err", err)
				return e2etest.Out{}, fmt.Errorf("fetch: %w", err)
			}
		}},
		"refusal": {code: toolspec.CodeExecution, run: fails(func(s string) error {
			return toolspec.Safef("the server says: bad key %s",
				s)
		})},
		"later": {code: toolspec.CodeRateLimited, run: fails(func(s string) error {
			return toolspec.RetryAfter(time.Millisecond,
				"quota of "+s)
		})},
		"panic":       {code: toolspec.CodeExecution, run: fails(func(s string) error { panic(&token{s}) })},
		"panic-error": {code: toolspec.CodeExecution, run: fails(func(s string) error { panic(fmt.Errorf("with %s: %w", s, errors.New(s))) })},
		"log": {value: `{"text":"shown"}`, run: func(s string) e2etest.Run {
			return func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
				log := call.Logger.With("bound", "Bearer "+s).WithGroup("g")
				log.InfoContext(ctx, "using "+s, //nolint:sloglint // as a careless author writes it
					"token", &token{s}, "any", struct{ T token }{token{s}}, "bytes", []byte(s), "err", errors.New(s))
				log.InfoContext(ctx, fmt.Sprintf("%v %+v %q %x", &token{s}, token{s}, s, s)) //nolint:sloglint // as a careless author writes it
				return e2etest.Out{Text: "shown"}, nil
			}
		}},
		"progress": {value: `{"text":"shown"}`, run: func(s string) e2etest.Run {
			return func(ctx context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
				capability.ProgressKey.From(call).Report(ctx, toolspec.Progress{Text: "sending " + s})
				time.Sleep(3 * time.Second) //nolint:forbidigo // until the next heartbeat
				return e2etest.Out{Text: "shown"}, nil
			}
		}, shape: func(d *toolspec.Definition) {
			d.Capabilities = []toolspec.CapabilityName{capability.ProgressKey.Name()}
		}},
		"abort": {run: func(string) e2etest.Run { return e2etest.Shown }, code: toolspec.CodeAborted, hook: func(s string) hook.Option {
			return hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error { return v.Abort("not with " + s) })
		}},
		"respond": {run: func(string) e2etest.Run { return e2etest.Shown }, value: clean, hook: func(s string) hook.Option {
			return hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error { return v.Respond(e2etest.Out{Text: s}) })
		}},
		"audit": {run: func(string) e2etest.Run { return e2etest.Shown }, value: `{"text":"shown"}`, hook: func(s string) hook.Option {
			return hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
				v.Record("note", "used "+s)
				return nil
			})
		}},
	}
}

// TestLiveSecretsLeaveNowhere: whatever a tool or a hook does with a secret that is registered at the worker, the secret is in no answer, no history, no row
// and no log line. The world searches for it at its end.
func TestLiveSecretsLeaveNowhere(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		w.Header().Set("X-Echo", header)
		if r.URL.Path == "/page" {
			// The server of the standard library of Python answers like this.
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, "<p>Bad header: %s.</p>", strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(header))
		}
	}))
	t.Cleanup(server.Close)
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var options []worker.Option
	calls := map[string]*pawl.Call{}
	for name, s := range spills(server.URL) {
		// The secret has characters that most encoders escape.
		secret, id := "tk<&=+/%>"+string(e2etest.NewCanary()), "test__"+name
		w.Secrets.Never(name, []byte(secret))
		shape := []func(*toolspec.Definition){e2etest.Idempotent, e2etest.Attempts(1)}
		if s.shape != nil {
			shape = append(shape, s.shape)
		}
		options = append(options, worker.Secret(name, []byte(secret)), worker.Tools(e2etest.Tool(id, s.run(secret), shape...)))
		if s.hook != nil {
			options = append(options, worker.ToolHooks(id, hook.New("spills-"+name, s.hook(secret))))
		}
	}
	w.Work(options...)
	for name := range spills(server.URL) {
		calls[name] = w.Start(e2etest.Invocation(name, "test__"+name, `{}`))
	}
	for name, s := range spills(server.URL) {
		r := w.Result(calls[name])
		if text := e2etest.AsJSON(r); len(w.Secrets.FindString(text)) > 0 {
			t.Errorf("%s: the result holds the secret", name)
		}
		switch {
		case r.ErrorCode != s.code:
			t.Errorf("%s ended with %+v, want %q", name, r, s.code)
		case s.value == "stored":
			value, err := w.Pawl.Output(t.Context(), "acme", r.OutputRef)
			if err != nil || !strings.HasSuffix(string(value), `a[redacted]"}`) {
				t.Errorf("%s: the stored value is %.20s… of %d bytes, %v", name, value, len(value), err)
			}
		case s.code == "" && s.value != "" && string(r.Value) != s.value:
			t.Errorf("%s: the value is %s, want %s", name, r.Value, s.value)
		case len(w.Secrets.FindString(r.SafeMessage)) > 0:
			t.Errorf("%s says %q", name, r.SafeMessage)
		}
	}
	if log := w.Log.String(); !strings.Contains(log, "using [redacted]") ||
		!strings.Contains(log, "a secret stood in what a step was to answer") {
		t.Error("the log does not say what was taken out")
	}
}
