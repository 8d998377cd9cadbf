package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is a format, with what a model says in it and the request that a provider of it gets.
type api struct {
	codec wire.Codec
	path  string
	body  string
	// stream is a response that says Hello and calls core__ls.
	stream string
	usage  wire.Usage
}

var apis = []api{
	{
		openai.Codec{}, "/v1/chat/completions",
		`{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"tools":TOOLS,"tool_choice":"required",
		"stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":99,"temperature":0.5}`,
		`data: {"choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"content":"lo","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"core__ls","arguments":"{}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}

data: [DONE]

`,
		wire.Usage{Reported: true, Input: 10, Output: 5},
	},
	{
		responses.Codec{}, "/v1/responses",
		`{"model":"m-1","input":[{"type":"message","role":"system","content":"Be brief."},{"type":"message","role":"user","content":"Hi"}],"tools":TOOLS,"tool_choice":"required",
		"stream":true,"store":false,"max_output_tokens":99,"temperature":0.5}`,
		`data: {"type":"response.output_text.delta","output_index":0,"delta":"Hel"}

data: {"type":"response.output_text.delta","output_index":0,"delta":"lo"}

data: {"type":"response.completed","response":{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hello","annotations":[]}]},{"type":"function_call","id":"fc_1","call_id":"call_1","name":"core__ls","arguments":"{}","status":"completed"}],"usage":{"input_tokens":10,"output_tokens":5}}}

`,
		wire.Usage{Reported: true, Input: 10, Output: 5},
	},
	{
		anthropic.Codec{}, "/v1/messages",
		`{"model":"m-1","system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
		"messages":[{"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]}],"tools":TOOLS,"tool_choice":{"type":"any"},
		"stream":true,"max_tokens":99,"temperature":0.5}`,
		`data: {"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"lo"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"call_1","name":"core__ls","input":{}}}

data: {"type":"content_block_stop","index":1}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}

data: {"type":"message_stop"}

`,
		wire.Usage{Reported: true, Input: 10, Output: 5},
	},
	{
		gemini.Codec{}, "/v1beta/models/m-1:streamGenerateContent?alt=sse",
		`{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":TOOLS,
		"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"generationConfig":{"maxOutputTokens":99,"temperature":0.5}}`,
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Hel"}]},"index":0}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":"lo"},{"functionCall":{"id":"call_1","name":"core__ls","args":{}}}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5}}

`,
		wire.Usage{Reported: true, Input: 10, Output: 5},
	},
	{
		ollama.Codec{}, "/api/chat",
		`{"model":"m-1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"}],"tools":TOOLS,"stream":true,
		"options":{"num_predict":99,"temperature":0.5}}`,
		`{"message":{"role":"assistant","content":"Hel"},"done":false}
{"message":{"role":"assistant","content":"lo","tool_calls":[{"id":"call_1","function":{"index":0,"name":"core__ls","arguments":{}}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":10,"eval_count":5}
`,
		wire.Usage{Reported: true, Input: 10, Output: 5},
	},
}

// request is the request of an api.
func (a api) request(t *testing.T) Request {
	t.Helper()
	tools, err := a.codec.Tools([]wire.Tool{{Name: "core__ls", Description: "Lists files.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	said, err := conversation.Encode(conversation.Conversation{Messages: []conversation.Message{
		{Role: conversation.System, Content: []conversation.Part{{Type: conversation.Text, Text: "Be brief."}}},
		{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "Hi"}}},
	}}, a.codec, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{
		Codec: a.codec, Model: "m-1", Messages: said.Messages, System: said.System, SystemMember: said.SystemMember, Tools: tools, MaxTokens: 99,
		Members: map[string]json.RawMessage{"temperature": json.RawMessage("0.5")},
	}
	if inside := forms[a.codec.Format()].inside; inside != "" {
		r.Members = map[string]json.RawMessage{inside: json.RawMessage(`{"temperature":0.5}`)}
	}
	if a.codec.Format() != "ollama" { // which has no choice
		choice, err := a.codec.Choice(wire.Choice{Mode: wire.Required})
		if err != nil {
			t.Fatal(err)
		}
		r.Choice = map[string]json.RawMessage{}
		for _, m := range choice {
			r.Choice[m.Name] = m.Value
		}
	}
	return r
}

// provider starts a server of an api.
func (a api) provider(t *testing.T, answer http.HandlerFunc) *url.URL {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	base, err := url.Parse(server.URL + Base(a.codec.Format()))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// TestAsk: each provider gets the request of its format, and its response is read as it arrives.
func TestAsk(t *testing.T) {
	for _, a := range apis {
		t.Run(a.codec.Format(), func(t *testing.T) {
			r := a.request(t)
			arrived := make(chan struct{})
			base := a.provider(t, func(w http.ResponseWriter, got *http.Request) {
				body, err := io.ReadAll(got.Body)
				if err != nil || got.Method != http.MethodPost || got.RequestURI != a.path || got.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s %s, %v", got.Method, got.RequestURI, err)
				}
				if version := got.Header.Get("Anthropic-Version"); (version != "") != (a.codec.Format() == "anthropic") {
					t.Errorf("the version is %q", version)
				}
				if want := strings.ReplaceAll(a.body, "TOOLS", string(r.Tools)); !reflect.DeepEqual(tree(t, string(body)), tree(t, want)) {
					t.Errorf("got\n%s\nwant\n%s", body, want)
				}
				half := strings.Index(a.stream, `lo"`) - 10
				_, _ = io.WriteString(w, a.stream[:half])
				w.(http.Flusher).Flush() //nolint:forcetypeassert // the test's server is one
				select {
				case <-arrived:
				case <-got.Context().Done():
					t.Error("the first text did not arrive before the end")
				}
				_, _ = io.WriteString(w, a.stream[half:])
			})
			var said strings.Builder
			out, err := Ask(t.Context(), http.DefaultClient, base, r, func(text string) {
				if said.Len() == 0 {
					close(arrived)
				}
				said.WriteString(text)
			})
			if err != nil || said.String() != "Hello" || out.Text != "Hello" || out.Finish != wire.FinishCalls || len(out.Calls) != 1 || out.Usage != a.usage {
				t.Errorf("said %q, and got %+v, %v", said.String(), out, err)
			}
		})
	}
}

func tree(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// TestCut: a stream that ends anywhere before its end is an error that passes, with what arrived, and no call of it may run.
func TestCut(t *testing.T) {
	for _, a := range apis {
		t.Run(a.codec.Format(), func(t *testing.T) {
			cut := strings.LastIndex(a.stream, "core__ls")
			base := a.provider(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, a.stream[:cut])
				w.(http.Flusher).Flush() //nolint:forcetypeassert // the test's server is one
				panic(http.ErrAbortHandler)
			})
			out, err := Ask(t.Context(), http.DefaultClient, base, a.request(t), nil)
			var e *Error
			if !errors.As(err, &e) || e.Kind != "cut" || !e.Retry || out.Finish != wire.FinishCut {
				t.Errorf("got %+v, %v", out, err)
			}
			for _, call := range out.Calls {
				if call.Fault == "" {
					t.Errorf("the call %+v could run", call)
				}
			}
		})
	}
}

// TestErrors: the errors of providers have a kind and say whether to try again, and show nothing else of the provider's text.
func TestErrors(t *testing.T) {
	const secret = "sk-canary-of-the-request"
	chat, claude, google := apis[0], apis[2], apis[3]
	for _, tc := range []struct {
		name   string
		api    api
		status int
		header map[string]string
		body   string
		want   Error
	}{
		{"rate limit", chat, 429, map[string]string{"Retry-After": "7"}, `{"error":{"message":"SECRET","type":"requests","code":"rate_limit_exceeded"}}`, Error{Status: 429, Kind: "rate_limit_exceeded", Retry: true, After: 7 * time.Second}},
		{"no money", chat, 429, nil, `{"error":{"message":"SECRET","type":"insufficient_quota","code":"insufficient_quota"}}`, Error{Status: 429, Kind: "insufficient_quota"}},
		{"milliseconds", chat, 429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, `{}`, Error{Status: 429, Retry: true, After: 1500 * time.Millisecond}},
		{"a date", claude, 529, map[string]string{"Date": "Tue, 24 Nov 2026 10:00:00 GMT", "Retry-After": "Tue, 24 Nov 2026 10:00:30 GMT"}, `{"type":"error","error":{"type":"overloaded_error","message":"SECRET"}}`, Error{Status: 529, Kind: "overloaded_error", Retry: true, After: 30 * time.Second}},
		{"a date of the past", claude, 503, map[string]string{"Date": "Tue, 24 Nov 2026 10:00:00 GMT", "Retry-After": "Tue, 24 Nov 2026 09:00:30 GMT"}, ``, Error{Status: 503, Retry: true}},
		{"a week", claude, 503, map[string]string{"Retry-After": "604800"}, ``, Error{Status: 503, Retry: true, After: time.Hour}},
		{"not a number", claude, 503, map[string]string{"Retry-After": "NaN"}, ``, Error{Status: 503, Retry: true}},
		{"a page", chat, 502, map[string]string{"Content-Type": "text/html"}, `<html>SECRET</html>`, Error{Status: 502, Retry: true}},
		{"wrong key", chat, 401, nil, `{"error":{"message":"Incorrect API key: SECRET","code":"invalid_api_key"}}`, Error{Status: 401, Kind: "invalid_api_key"}},
		{"told to try again", claude, 400, map[string]string{"X-Should-Retry": "true"}, ``, Error{Status: 400, Retry: true}},
		{"told not to", claude, 500, map[string]string{"X-Should-Retry": "false"}, ``, Error{Status: 500}},
		{"an array", google, 503, nil, `[{"error":{"code":503,"message":"SECRET","status":"UNAVAILABLE"}}]`, Error{Status: 503, Kind: "UNAVAILABLE", Retry: true}},
		{"a redirect", chat, 307, map[string]string{"Location": "/elsewhere"}, ``, Error{Status: 307, Kind: "redirect"}},
		{"a kind with a text in it", chat, 400, nil, `{"error":{"message":"m","type":"bad SECRET\u001b[31m"}}`, Error{Status: 400, Kind: "bad" + strings.ReplaceAll(secret, " ", "") + "31m"}},
		{"overloaded in the stream", claude, 200, nil, "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"SECRET\"}}\n\n", Error{Kind: "overloaded_error", Retry: true}},
		{"refused in the stream", claude, 200, nil, "data: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"SECRET\"}}\n\n", Error{Kind: "invalid_request_error"}},
		{"another format", chat, 200, nil, "data: SECRET\n\n", Error{Kind: "foreign_response"}},
		{"no stream", chat, 200, map[string]string{"Content-Type": "application/json; charset=utf-8"}, `{"choices":[{"message":{"content":"SECRET"}}]}`, Error{Kind: "foreign_response"}},
		{"a page of a proxy", chat, 200, map[string]string{"Content-Type": "text/html"}, `<html>SECRET</html>`, Error{Kind: "foreign_response", Retry: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := tc.api.provider(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/elsewhere" {
					t.Error("the redirect was followed")
				}
				for name, value := range tc.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tc.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(tc.body, "SECRET", secret))
			})
			_, err := Ask(t.Context(), http.DefaultClient, base, tc.api.request(t), nil)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			got := *e
			got.cause = nil
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if tc.want.Kind != got.Kind || !strings.Contains(tc.want.Kind, secret) && strings.Contains(err.Error()+fmt.Sprint(e.LogReason()), secret) {
				t.Errorf("the text of the provider is in %q", err)
			}
		})
	}
}

// TestNoResponse: a provider that is not there, one that falls silent, and a caller that gives up.
func TestNoResponse(t *testing.T) {
	chat := apis[0]
	silent := chat.provider(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, chat.stream[:40])
		w.(http.Flusher).Flush() //nolint:forcetypeassert // the test's server is one
		<-r.Context().Done()
	})
	var e *Error
	if _, err := ask(t.Context(), http.DefaultClient, silent, chat.request(t), nil, 50*time.Millisecond); !errors.As(err, &e) || e.Kind != "idle" || !e.Retry {
		t.Errorf("silence: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Ask(ctx, http.DefaultClient, silent, chat.request(t), nil); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("cancelled: %v", err)
	}
	tls := httptest.NewTLSServer(nil)
	t.Cleanup(tls.Close)
	unknown, err := url.Parse(tls.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Ask(t.Context(), http.DefaultClient, unknown, chat.request(t), nil); !errors.As(err, &e) || e.Kind != "connection" || e.Retry {
		t.Errorf("an unknown certificate: %v", err)
	}
	gone := chat.provider(t, nil)
	gone.Host = "127.0.0.1:1"
	if _, err := Ask(t.Context(), http.DefaultClient, gone, chat.request(t), nil); !errors.As(err, &e) || e.Kind != "connection" || !e.Retry {
		t.Errorf("nobody there: %v", err)
	}
}

// TestNew: what cannot be sent is refused before it is.
func TestNew(t *testing.T) {
	base := &url.URL{Scheme: "https", Host: "api.test", Path: "/v1/"}
	for _, tc := range []struct {
		name   string
		change func(*Request)
		format int
		want   string
	}{
		{"as it is", func(*Request) {}, 0, ""},
		{"options of the stream replaced", func(r *Request) {
			r.Members = map[string]json.RawMessage{"stream_options": json.RawMessage("null")}
		}, 0, ""},
		{"no model", func(r *Request) { r.Model = "" }, 0, "name of a model"},
		{"a path", func(r *Request) { r.Model = "../../other" }, 3, "name of a model"},
		{"a query", func(r *Request) { r.Model = "m?key=1" }, 3, "name of a model"},
		{"no message", func(r *Request) { r.Messages = nil }, 0, "needs a message"},
		{"not JSON", func(r *Request) { r.Messages = []json.RawMessage{json.RawMessage("{")} }, 0, "not JSON"},
		{"a member twice", func(r *Request) { r.Members = map[string]json.RawMessage{"model": json.RawMessage("1")} }, 0, `"model" is written already`},
		{"another stream", func(r *Request) { r.Members = map[string]json.RawMessage{"stream": json.RawMessage("false")} }, 0, `"stream" is written already`},
		{"a bound twice", func(r *Request) {
			r.Members = map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"maxOutputTokens":1}`)}
		}, 3, `"maxOutputTokens" of "generationConfig" is written already`},
		{"no bound", func(r *Request) { r.MaxTokens = 0 }, 2, "needs MaxTokens"},
		{"a member that is not JSON", func(r *Request) { r.Members = map[string]json.RawMessage{"x": json.RawMessage("{")} }, 0, `"x" is not JSON`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := apis[tc.format].request(t)
			tc.change(&r)
			got, err := r.New(t.Context(), base)
			if tc.want == "" {
				if err != nil || got.URL.String() != "https://api.test/v1/chat/completions" {
					t.Errorf("got %v, %v", got, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
