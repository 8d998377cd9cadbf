package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// drip is a provider whose body comes in pieces, with a pause before each.
type drip struct {
	status int
	pause  time.Duration
	pieces []string

	ctx context.Context //nolint:containedctx // that of the request, as the body of a real response has
}

func (d *drip) RoundTrip(r *http.Request) (*http.Response, error) {
	own := *d
	own.ctx = r.Context()
	return &http.Response{StatusCode: d.status, Header: http.Header{}, Body: &own, Request: r}, nil
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(d.pause):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	if len(d.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, d.pieces[0])
	d.pieces = d.pieces[1:]
	return n, nil
}

func (d *drip) Close() error { return nil }

// inPieces cuts a text into pieces of n bytes.
func inPieces(text string, n int) (pieces []string) {
	for len(text) > n {
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return append(pieces, text)
}

// TestSlow: a slow provider is waited for as long as it sends something, no longer than the caller waits, and the text
// of an error for no longer than a silence.
func TestSlow(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "api.test"}
	chat := apis[0]
	for _, tc := range []struct {
		name string
		drip drip
		// limit is the deadline of the caller.
		limit, took time.Duration
		check       func(out wire.Response, err error) bool
	}{
		{
			"a slow response", drip{status: 200, pause: 4 * time.Minute, pieces: inPieces(chat.stream, 100)}, 24 * time.Hour, 20 * time.Minute,
			func(out wire.Response, err error) bool { return err == nil && out.Text == "Hello" },
		},
		{
			"a silence", drip{status: 200, pause: 6 * time.Minute, pieces: inPieces(chat.stream, 100)}, 24 * time.Hour, 5 * time.Minute,
			func(_ wire.Response, err error) bool {
				var e *Error
				return errors.As(err, &e) && e.Kind == "idle" && e.Retry
			},
		},
		{
			"the caller's deadline", drip{status: 200, pause: 4 * time.Minute, pieces: inPieces(chat.stream, 100)}, 10 * time.Minute, 10 * time.Minute,
			func(_ wire.Response, err error) bool {
				return errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*Error))
			},
		},
		{
			"a slow error", drip{status: 503, pause: time.Minute, pieces: inPieces(strings.Repeat("no ", 1000), 1)}, 24 * time.Hour, 5 * time.Minute,
			func(_ wire.Response, err error) bool {
				var e *Error
				return errors.As(err, &e) && e.Status == 503 && e.Retry
			},
		},
		{
			"the caller's deadline within an error", drip{status: 503, pause: time.Minute, pieces: inPieces(strings.Repeat("no ", 1000), 1)}, 150 * time.Second, 150 * time.Second,
			func(_ wire.Response, err error) bool {
				return errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*Error))
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := chat.request(t)
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), tc.limit)
				defer cancel()
				started := time.Now()
				out, err := Ask(ctx, &http.Client{Transport: &tc.drip}, base, r, nil)
				if took := time.Since(started); !tc.check(out, err) || took < tc.took || took > tc.took+5*time.Minute {
					t.Errorf("got %+v, %v after %s", out, err, took)
				}
			})
		})
	}
}

// TestHuge: a body without an end is read up to a bound.
func TestHuge(t *testing.T) {
	for _, tc := range []struct {
		status int
		piece  string
		most   int64
		kind   string
		retry  bool
	}{
		{500, strings.Repeat("x", 1<<16), 8 << 20, "", true}, // the buffers of the way hold some of it
		{200, `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 1<<16) + `"},"finish_reason":null}]}` + "\n\n", 32 << 20, "foreign_response", false},
	} {
		var sent atomic.Int64
		base := apis[0].provider(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tc.status)
			for {
				n, err := io.WriteString(w, tc.piece)
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		})
		_, err := Ask(t.Context(), http.DefaultClient, base, apis[0].request(t), nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != tc.kind || e.Retry != tc.retry || sent.Load() > tc.most {
			t.Errorf("%d: got %v after %d bytes", tc.status, err, sent.Load())
		}
	}
}

// TestRetryInfo: Gemini says in the body how long to wait.
func TestRetryInfo(t *testing.T) {
	const body = `{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[
		{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaValue":"10"}]},
		{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"DELAY"}]}}`
	for _, tc := range []struct {
		delay, header string
		want          time.Duration
	}{
		{"34.074824224s", "", 34074824224 * time.Nanosecond}, {"34s", "7", 7 * time.Second}, {"100h", "", time.Hour}, {"-3s", "", 0}, {"soon", "", 0},
	} {
		for _, status := range []int{429, 200} {
			base := apis[3].provider(t, func(w http.ResponseWriter, _ *http.Request) {
				if tc.header != "" && status != 200 {
					w.Header().Set("Retry-After", tc.header)
				}
				w.WriteHeader(status)
				text := strings.Join(strings.Fields(strings.ReplaceAll(body, "DELAY", tc.delay)), " ")
				if status == 200 {
					text = "data: " + text + "\n\n"
				}
				_, _ = io.WriteString(w, text)
			})
			want := tc.want
			if status == 200 && tc.header != "" {
				want = 34 * time.Second
			}
			_, err := Ask(t.Context(), http.DefaultClient, base, apis[3].request(t), nil)
			var e *Error
			if !errors.As(err, &e) || e.Kind != "RESOURCE_EXHAUSTED" || !e.Retry || e.After != want {
				t.Errorf("%s with status %d: got %+v", tc.delay, status, e)
			}
		}
	}
}

// TestErrorsInStreams: which errors inside of a response pass.
func TestErrorsInStreams(t *testing.T) {
	for _, tc := range []struct {
		api  api
		body string
		want Error
	}{
		{apis[0], `data: {"error":{"message":"m","type":"server_error","param":null,"code":null}}`, Error{Kind: "server_error", Retry: true}},
		{apis[0], `data: {"error":{"message":"m","code":504}}`, Error{Kind: "504", Retry: true}},
		{apis[0], `data: {"error":{"message":"m","code":408}}`, Error{Kind: "408", Retry: true}},
		{apis[0], `data: {"error":{"message":"m","code":402}}`, Error{Kind: "402"}},
		{apis[0], `data: {"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`, Error{Kind: "insufficient_quota"}},
		{apis[1], `data: {"type":"error","sequence_number":7,"code":"rate_limit_exceeded","message":"m","param":null}`, Error{Kind: "rate_limit_exceeded", Retry: true}},
		{apis[1], `data: {"type":"error","sequence_number":7,"code":"invalid_prompt","message":"m","param":null}`, Error{Kind: "invalid_prompt"}},
		{apis[2], `data: {"type":"error","error":{"type":"api_error","message":"m"}}`, Error{Kind: "api_error", Retry: true}},
		{apis[2], `data: {"type":"error","error":{"type":"authentication_error","message":"m"}}`, Error{Kind: "authentication_error"}},
		{apis[3], `data: {"error":{"code":500,"message":"m","status":"INTERNAL"}}`, Error{Kind: "INTERNAL", Retry: true}},
		{apis[4], `{"error":"an error was encountered while running the model: unexpected EOF"}`, Error{Kind: "stream_error", Retry: true}},
	} {
		base := tc.api.provider(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tc.body+"\n\n") })
		_, err := Ask(t.Context(), http.DefaultClient, base, tc.api.request(t), nil)
		var e *Error
		if !errors.As(err, &e) || e.Status != 0 || e.Kind != tc.want.Kind || e.Retry != tc.want.Retry {
			t.Errorf("%s: got %+v, want %+v", tc.body, e, tc.want)
		}
	}
}

// TestQuery: the query of a base stays.
func TestQuery(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "a.test", Path: "/openai/deployments/d", RawQuery: "api-version=2024-10-21"}
	for i, want := range map[int]string{
		0: "https://a.test/openai/deployments/d/chat/completions?api-version=2024-10-21",
		3: "https://a.test/openai/deployments/d/models/m-1:streamGenerateContent?api-version=2024-10-21&alt=sse",
	} {
		if got, err := apis[i].request(t).New(t.Context(), base); err != nil || got.URL.String() != want {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

// TestNothingIsLogged (OB-05): neither a request nor a response, nor the text of an error, gets into a log or into what
// a caller would log of an error.
func TestNothingIsLogged(t *testing.T) { //nolint:paralleltest // the default logs belong to the process
	const canary = "canary-7f3a-of-a-tool-result"
	var logged bytes.Buffer
	before, writer, flags := slog.Default(), log.Writer(), log.Flags()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(writer)
		log.SetFlags(flags)
	})
	for _, a := range apis {
		r := a.request(t)
		answers, err := a.codec.Answers([]wire.Answer{{CallID: "call_1", Name: "core__ls", Content: json.RawMessage(`"` + canary + `"`)}})
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, answers...)
		for _, status := range []int{200, 201, 307, 400, 429, 500} {
			for _, body := range []string{"response", "error", "text"} {
				var got []byte
				base := a.provider(t, func(w http.ResponseWriter, request *http.Request) {
					got, _ = io.ReadAll(request.Body)
					w.Header().Set("X-Request", canary)
					w.WriteHeader(status)
					switch {
					case body == "response":
						_, _ = io.WriteString(w, strings.ReplaceAll(a.stream, "Hel", canary+"Hel"))
					case body == "error" && a.codec.Format() == "ollama":
						_, _ = io.WriteString(w, `{"error":"`+canary+`"}`)
					case body == "error":
						if status == 200 {
							_, _ = io.WriteString(w, "data: ")
						}
						_, _ = io.WriteString(w, `{"type":"error","error":{"type":"bad","message":"`+canary+`","status":"BAD","code":"bad"}}`+"\n\n")
					default:
						_, _ = io.WriteString(w, canary)
					}
				})
				_, err := Ask(t.Context(), http.DefaultClient, base, r, nil)
				if !bytes.Contains(got, []byte(canary)) {
					t.Fatal("the request does not have the canary")
				}
				if cause := errors.Unwrap(err); body == "error" && status != 307 && (cause == nil || !strings.Contains(cause.Error(), canary)) {
					t.Errorf("%s, %d: the cause does not have the provider's text: %v", a.codec.Format(), status, cause)
				}
				if err != nil {
					slog.Error("the model was not asked", "error", err)
				}
			}
		}
	}
	if !strings.Contains(logged.String(), "the model provider answered 500") || strings.Contains(logged.String(), canary) {
		t.Errorf("the log is\n%s", logged.String())
	}
}
