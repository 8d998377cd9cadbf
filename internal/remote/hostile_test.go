package remote

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/remotetool"
)

// TestHostileWorkers: whatever a peer answers, a tool with an effect is unanswered unless the answer has the signature of the key for
// this request, and no text of the peer gets into an error.
func TestHostileWorkers(t *testing.T) {
	t.Parallel()
	const good = `{"outcome":"done","value":"stolen"}`
	changed := func(change func(h http.Header), body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			forgeAnswer(w.Header(), r, 200, good, keyID, secret, answerTag)
			change(w.Header())
			_, _ = io.WriteString(w, body)
		}
	}
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			c, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}
	signed := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { answer(w, r, 200, body) }
	}
	for name, handler := range map[string]http.HandlerFunc{
		"no signature": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, good) },
		"another key": func(w http.ResponseWriter, r *http.Request) {
			forgeAnswer(w.Header(), r, 200, good, keyID, strings.Repeat("x", 32), answerTag)
			_, _ = io.WriteString(w, good)
		},
		"another id of a key": func(w http.ResponseWriter, r *http.Request) {
			forgeAnswer(w.Header(), r, 200, good, "other", secret, answerTag)
			_, _ = io.WriteString(w, good)
		},
		"the signature of requests": func(w http.ResponseWriter, r *http.Request) {
			forgeAnswer(w.Header(), r, 200, good, keyID, secret, requestTag)
			_, _ = io.WriteString(w, good)
		},
		"the request sent back": func(w http.ResponseWriter, r *http.Request) {
			for _, name := range []string{"Signature", "Signature-Input", "Content-Digest", "Content-Type"} {
				w.Header().Set(name, r.Header.Get(name))
			}
			_, _ = io.Copy(w, r.Body)
		},
		"the answer to another request": func(w http.ResponseWriter, r *http.Request) {
			other := r.Clone(r.Context())
			other.Header.Set("Signature", label+"=:"+encoded("another signature of a request..")+":")
			forgeAnswer(w.Header(), other, 200, good, keyID, secret, answerTag)
			_, _ = io.WriteString(w, good)
		},
		"another status": func(w http.ResponseWriter, r *http.Request) {
			forgeAnswer(w.Header(), r, 200, good, keyID, secret, answerTag)
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, good)
		},
		"a changed body":     changed(func(http.Header) {}, strings.Replace(good, "stolen", "forged", 1)),
		"a changed digest":   changed(func(h http.Header) { h.Set("Content-Digest", "sha-256=:"+encoded(strings.Repeat("x", 32))+":") }, good),
		"no digest":          changed(func(h http.Header) { h.Del("Content-Digest") }, good),
		"another digest":     changed(func(h http.Header) { h.Set("Content-Digest", "md5=:"+encoded("x")+":") }, good),
		"two digests":        changed(func(h http.Header) { h.Add("Content-Digest", h.Get("Content-Digest")) }, good),
		"another media type": changed(func(h http.Header) { h.Set("Content-Type", "text/html") }, good),
		"fewer parts": changed(func(h http.Header) {
			h.Set("Signature-Input", strings.Replace(h.Get("Signature-Input"), `"@status" `, "", 1))
		}, good),
		"no part of the request": changed(func(h http.Header) {
			h.Set("Signature-Input", strings.Replace(h.Get("Signature-Input"), answerParts[3], "", 1))
		}, good),
		"a part twice": changed(func(h http.Header) {
			h.Set("Signature-Input", strings.Replace(h.Get("Signature-Input"), `"@status"`, `"@status" "@status"`, 1))
		}, good),
		"no parts":              changed(func(h http.Header) { h.Set("Signature-Input", `pawl=();keyid="`+keyID+`";tag="`+answerTag+`"`) }, good),
		"parts that are tokens": changed(func(h http.Header) { h.Set("Signature-Input", `pawl=(status);keyid="`+keyID+`";tag="`+answerTag+`"`) }, good),
		"a signature without the request": func(w http.ResponseWriter, r *http.Request) {
			forgeParts(w.Header(), r, 200, good, keyID, secret, answerTag, answerParts[:3]...)
			_, _ = io.WriteString(w, good)
		},
		"a signature without the body": func(w http.ResponseWriter, r *http.Request) {
			forgeParts(w.Header(), r, 200, good, keyID, secret, answerTag, answerParts[0], answerParts[1], answerParts[3])
			_, _ = io.WriteString(w, good)
		},
		"a signature of more": func(w http.ResponseWriter, r *http.Request) {
			forgeParts(w.Header(), r, 200, good, keyID, secret, answerTag, append(answerParts[:4:4], `"date"`)...)
			_, _ = io.WriteString(w, good)
		},
		"a redirect with another method": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/stolen", http.StatusSeeOther) },
		"no list":                        changed(func(h http.Header) { h.Set("Signature-Input", `pawl=1`) }, good),
		"garbage":                        changed(func(h http.Header) { h.Set("Signature-Input", `((((`) }, good),
		"an empty signature":             changed(func(h http.Header) { h.Set("Signature", `pawl=::`) }, good),
		"a text for a signature":         changed(func(h http.Header) { h.Set("Signature", `pawl="x"`) }, good),
		"another label":                  changed(func(h http.Header) { h.Set("Signature", strings.Replace(h.Get("Signature"), "pawl", "sig1", 1)) }, good),
		"another algorithm":              changed(func(h http.Header) { h.Set("Signature-Input", h.Get("Signature-Input")+`;alg="none"`) }, good),
		"not JSON":                       signed(`stolen`),
		"a member twice":                 signed(`{"outcome":"done","outcome":"busy","value":1}`),
		"a list":                         signed(`[]`),
		"no outcome":                     signed(`{"value":"stolen"}`),
		"an unknown outcome":             signed(`{"outcome":"stolen"}`),
		"an outcome of a probe":          signed(`{"outcome":"no_effect"}`),
		"a signed refusal":               func(w http.ResponseWriter, r *http.Request) { answer(w, r, 503, good) },
		"no body":                        signed(``),
		"too large":                      signed(`{"outcome":"done","value":"` + strings.Repeat("x", remotetool.MaxAnswer) + `"}`),
		"endless headers":                raw("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: stolen\r\n", 4000) + "\r\n"),
		"no HTTP":                        raw("stolen\r\n\r\n"),
		"nothing":                        raw(""),
		"a part of a body":               raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nstolen"),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/stolen", http.StatusTemporaryRedirect)
		},
		"401": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "stolen", http.StatusUnauthorized) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			address := serve(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				handler(w, r)
			})
			value, err := run(t, toolAt(t, address, toolspec.ExternalSideEffect, true))
			var unanswered *toolspec.UnansweredError
			if value != nil || !errors.As(err, &unanswered) || strings.Contains(err.Error(), "stolen") {
				t.Errorf("a tool with an effect returns %s, %v", value, err)
			}
			value, err = run(t, toolAt(t, address, toolspec.ReadOnly, false))
			var safe *toolspec.SafeError
			if value != nil || !errors.As(err, &safe) || strings.Contains(err.Error(), "stolen") {
				t.Errorf("a read returns %s, %v", value, err)
			}
			if n := requests.Load(); n != 2 {
				t.Errorf("%d requests were sent for two attempts", n)
			}
			tool := toolAt(t, address, toolspec.ExternalSideEffect, true)
			if finding, value, _ := tool.Probe(t.Context(), json.RawMessage(`{}`), toolspec.Call{}); finding != toolspec.Unclear && name != "an outcome of a probe" {
				t.Errorf("the probe returns %s, %s", finding, value)
			}
		})
	}
}

// TestAnswers: how an answer of the worker itself ends an attempt.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]struct {
		value string
		is    func(error) bool
		text  string
	}{
		`{"outcome":"done","value":{"a":1}}`:                                        {value: `{"a":1}`},
		`{"outcome":"done"}`:                                                        {is: as[*toolspec.SafeError], text: "no value"},
		`{"outcome":"failed","message":"the account\nis closed"}`:                   {is: as[*toolspec.SafeError], text: "the account is closed"},
		`{"outcome":"failed"}`:                                                      {is: as[*toolspec.UnansweredError], text: "may have had its effect"},
		`{"outcome":"failed","message":"ghp_16C7e42F292c6912E7710c838347Ae178B4a"}`: {is: isPlain, text: "the tool failed"},
		`{"outcome":"busy","retryAfterMs":2000,"message":"later"}`:                  {is: as[*toolspec.BusyError], text: "retry after 2s: later"},
		`{"outcome":"busy","retryAfterMs":99999999999999}`:                          {is: as[*toolspec.BusyError], text: "retry after 1h0m0s"},
		`{"outcome":"absent"}`:                                                      {is: as[*toolspec.BusyError], text: "this version"},
		`{"outcome":"unanswered","message":"the bank is away"}`:                     {is: as[*toolspec.UnansweredError], text: "the bank is away"},
		`{"outcome":"done","value":1,"later":true}`:                                 {value: `1`},
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			tool := toolAt(t, serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r, 200, body) }), toolspec.StateChange, false)
			value, err := run(t, tool)
			if string(value) != want.value || (err != nil) != (want.is != nil) || err != nil && (!want.is(err) || !strings.Contains(err.Error(), want.text)) {
				t.Errorf("%s, %T %v", value, err, err)
			}
		})
	}
}

// isPlain reports whether an error says neither a text for people nor that the outcome is unknown.
func isPlain(err error) bool {
	return err != nil && !as[*toolspec.SafeError](err) && !as[*toolspec.UnansweredError](err)
}

// TestFailedRead: a tool that may be repeated knows that it failed, for no effect can be lost.
func TestFailedRead(t *testing.T) {
	t.Parallel()
	address := serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r, 200, `{"outcome":"failed"}`) })
	if _, err := run(t, toolAt(t, address, toolspec.ReadOnly, false)); !isPlain(err) {
		t.Errorf("%T %v", err, err)
	}
}

func as[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// TestProbes: what a probe may say.
func TestProbes(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]toolspec.Finding{
		`{"outcome":"took_effect","value":7}`: toolspec.TookEffect,
		`{"outcome":"took_effect"}`:           toolspec.Unclear,
		`{"outcome":"no_effect"}`:             toolspec.NoEffect,
		`{"outcome":"unclear"}`:               toolspec.Unclear,
		`{"outcome":"done","value":7}`:        toolspec.Unclear,
	} {
		tool := toolAt(t, serve(t, func(w http.ResponseWriter, r *http.Request) { answer(w, r, 200, body) }), toolspec.StateChange, true)
		finding, value, _ := tool.Probe(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
		if finding != want || (finding == toolspec.TookEffect) != (string(value) == "7") {
			t.Errorf("%s: %s, %s", body, finding, value)
		}
	}
}

// TestNobodyThere: an attempt whose worker cannot be reached did nothing.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	_ = l.Close()
	if _, err := run(t, toolAt(t, address, toolspec.StateChange, false)); !as[*toolspec.BusyError](err) {
		t.Errorf("a tool with an effect: %v", err)
	}
	if _, err := run(t, toolAt(t, address, toolspec.ReadOnly, false)); !as[*toolspec.SafeError](err) {
		t.Errorf("a read: %v", err)
	}
}

// TestHanging: the end of the attempt closes the connection.
func TestHanging(t *testing.T) {
	t.Parallel()
	began, closed := make(chan struct{}), make(chan struct{})
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // net/http notices the end of a connection only after the body
		close(began)
		<-r.Context().Done()
		close(closed)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := toolAt(t, address, toolspec.StateChange, false).Run(ctx, json.RawMessage(`{}`), toolspec.Call{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	select {
	case <-closed:
	case <-time.After(30 * time.Second):
		t.Error("the connection is open")
	}
}
