package attempt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/activities/answer"
	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// wayOut sends a text out of the worker on one way, and returns the text that arrives. ok is false if the way
// cannot carry the text.
type wayOut func(t *testing.T, secrets *fingerprint.Set, text string) (arrived string, ok bool)

// leavingAnswer returns the answer that leaves the worker if a tool answers with a value or a failure.
func leavingAnswer(t *testing.T, secrets *fingerprint.Set, out contract.ExecuteOut) string {
	t.Helper()
	step := func(context.Context, contract.ExecuteIn) (contract.ExecuteOut, error) { return out, nil }
	got, err := answer.Scrubbed(secrets, slog.New(slog.DiscardHandler), "execute", step, answer.LostExecute)(t.Context(), contract.ExecuteIn{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func value(text string) contract.ExecuteOut {
	return contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(fingerprinttest.JSON(map[string]any{"n": 1.5, "text": text, "z": "text"}))}
}

// waysOut returns the ways out of a worker, with a server that echoes its requests.
func waysOut(t *testing.T) map[string]wayOut {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body) // a request that was cut is not echoed
		switch r.URL.Path {
		case "/header":
			w.Header().Set("X-Echo", string(text))
		case "/redirect":
			w.Header().Set("Location", "http://127.0.0.1:1/?to="+string(text))
			w.WriteHeader(http.StatusFound)
		}
	}))
	t.Cleanup(server.Close)
	send := func(t *testing.T, path, text string) (*http.Response, error) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		return server.Client().Do(r)
	}
	logged := func(secrets *fingerprint.Set, log func(*slog.Logger)) string {
		var b bytes.Buffer
		log(slog.New(redact.Handler(slog.NewTextHandler(&b, nil), secrets)))
		log(slog.New(redact.Handler(slog.NewJSONHandler(&b, nil), secrets)))
		return b.String()
	}
	return map[string]wayOut{
		"result": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			return leavingAnswer(t, secrets, value(text)), true
		},
		"error": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			err := redact.Error(fmt.Errorf("fetch: %w", errors.New(text)), secrets)
			return fmt.Sprintf("%v %+v ", err, err) + leavingAnswer(t, secrets, contract.ExecuteOut{
				Outcome: contract.Refused, Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: "the server says: " + text},
			}), true
		},
		"header": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			resp, err := send(t, "/header", text)
			if err != nil {
				return "", false
			}
			defer resp.Body.Close()
			echo := resp.Header.Get("X-Echo")
			return leavingAnswer(t, secrets, value(echo)), echo == text
		},
		"redirect": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			resp, err := send(t, "/redirect", text)
			if err == nil {
				_ = resp.Body.Close()
				t.Fatal("the redirect was not followed")
			}
			if !strings.Contains(err.Error(), "?to="+text) {
				return "", false // the text is not a URL, or the client has changed it
			}
			return redact.Error(err, secrets).Error() + leavingAnswer(t, secrets, contract.ExecuteOut{
				Outcome: contract.Refused, Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: err.Error()},
			}), true
		},
		"progress": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			ctx, latest, _ := heartbeat.Reporting(t.Context(), secrets)
			heartbeat.Progress{}.Report(ctx, toolspec.Progress{Done: 1, Text: "sending " + text})
			if latest.Load().Text == "" {
				return fingerprint.Redacted, true // the text has the shape of a secret, so the report has no text
			}
			return latest.Load().Text, true
		},
		"log": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			return logged(secrets, func(l *slog.Logger) {
				l.InfoContext(t.Context(), "calling with "+text, "k", text, slog.Group("g", "bytes", []byte(text), "err", errors.New(text)), "any", struct{ T string }{text}) //nolint:sloglint // a careless author's
			}), true
		},
		"panic": func(t *testing.T, secrets *fingerprint.Set, text string) (string, bool) {
			var err error
			log := logged(secrets, func(l *slog.Logger) {
				err = logPanic(t.Context(), toolspec.Call{Logger: l}, fmt.Errorf("with %s", text))
			})
			return log + err.Error(), true
		},
	}
}

// TestNoEncodingLeaves sends every secret, in every encoding, out on every way. No secret arrives, in any
// encoding, and JSON is still valid JSON.
func TestNoEncodingLeaves(t *testing.T) {
	t.Parallel()
	secrets := fingerprinttest.Secrets()
	live := &fingerprint.Set{}
	for label, secret := range secrets {
		if err := live.Add(label, []byte(secret)); err != nil {
			t.Fatal(err)
		}
	}
	for way, leaves := range waysOut(t) {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			sent := 0
			for _, e := range fingerprinttest.Encodings() {
				for label, secret := range secrets {
					if !e.Takes(secret) {
						continue
					}
					text := e.Encode(secret)
					if !utf8.ValidString(text) {
						continue // an answer of a tool is always UTF-8
					}
					arrived, ok := leaves(t, live, text)
					if !ok {
						continue
					}
					sent++
					if found := live.FindString(arrived); len(found) > 0 {
						t.Errorf("%s as %s: %v arrives", label, e.Name, found)
					}
					if way == "result" && !json.Valid([]byte(arrived)) {
						t.Errorf("%s as %s: %s arrives", label, e.Name, arrived)
					}
					if way != "panic" && !strings.Contains(arrived, fingerprint.Redacted) && !strings.Contains(arrived, string(toolspec.CodeRedactionFailed)) {
						t.Errorf("%s as %s: nothing was taken out of %q", label, e.Name, arrived)
					}
				}
			}
			if sent < 800 {
				t.Errorf("%d texts were sent", sent)
			}
		})
	}
}

// TestPanicOfAToolWithoutItsCapability: the log names the capability that the tool lacks. For another panic the
// log has only the type.
func TestPanicOfAToolWithoutItsCapability(t *testing.T) {
	t.Parallel()
	said := func(run func()) string {
		var log bytes.Buffer
		func() {
			defer func() {
				_ = logPanic(t.Context(), toolspec.Call{Logger: slog.New(slog.NewTextHandler(&log, nil))}, recover())
			}()
			run()
		}()
		return log.String()
	}
	if log := said(func() { capability.ClockKey.From(toolspec.Call{ToolID: "test__now"}) }); !strings.Contains(log, "the tool test__now uses the capability clock, which is not in its Capabilities") {
		t.Errorf("the log says %s", log)
	}
	if log := said(func() { panic(errors.New("a canary")) }); strings.Contains(log, "canary") || !strings.Contains(log, "*errors.errorString") {
		t.Errorf("the log says %s", log)
	}
	if log := said(func() { panic((*url.Error)(nil)) }); !strings.Contains(log, "*url.Error") { // each of its methods panics
		t.Errorf("the log says %s", log)
	}
}
