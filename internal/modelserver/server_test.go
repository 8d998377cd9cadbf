package modelserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/provider"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var codecs = []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, gemini.Codec{}, ollama.Codec{}}

// first is the first request of a conversation.
func first(t *testing.T, codec wire.Codec) provider.Request {
	t.Helper()
	tools, err := codec.Tools([]wire.Tool{
		{Name: "core__ls", Description: "Lists files.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
		{Name: "core__grep", Description: "Searches.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	said, err := conversation.Encode(conversation.Conversation{Messages: []conversation.Message{
		{Role: conversation.System, Content: []conversation.Part{{Type: conversation.Text, Text: "Be brief."}}},
		{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "What is here?"}}},
	}}, codec, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := provider.Request{
		Codec: codec, Model: "m-1", Messages: said.Messages, System: said.System, SystemMember: said.SystemMember, Tools: tools, MaxTokens: 99,
	}
	if codec.Format() == "responses" {
		r.Members = map[string]json.RawMessage{"reasoning": json.RawMessage(`{"effort":"low"}`)}
	}
	return r
}

// next is the request behind a response and the answers to its calls.
func next(t *testing.T, r provider.Request, out wire.Response) provider.Request {
	t.Helper()
	var answers []wire.Answer
	for _, c := range out.Calls {
		answers = append(answers, wire.Answer{Index: c.Index, CallID: c.ID, Name: c.Name, Content: json.RawMessage(`"result of ` + c.Name + `"`)})
	}
	messages, err := r.Codec.Answers(answers)
	if err != nil {
		t.Fatal(err)
	}
	own := []json.RawMessage{out.Message}
	if out.Message[0] == '[' {
		own = nil // Unmarshal would write into the message
		if err := json.Unmarshal(out.Message, &own); err != nil {
			t.Fatal(err)
		}
	}
	r.Messages = append(append(r.Messages[:len(r.Messages):len(r.Messages)], own...), messages...)
	return r
}

// client returns a client without connections of other tests.
func client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func each(t *testing.T, do func(t *testing.T, codec wire.Codec)) {
	t.Helper()
	for _, codec := range codecs {
		t.Run(codec.Format(), func(t *testing.T) { do(t, codec) })
	}
}

// TestRounds: each format carries a whole conversation, and the server reads the same from its requests.
func TestRounds(t *testing.T) {
	each(t, func(t *testing.T, codec wire.Codec) {
		calls := []Call{{Name: "core__ls", Args: `{"path":"ä"}`}, {Name: "core__grep", Args: `{"pattern":"x"}`}, {ID: "mine", Name: "core__ls", Args: `{}`}}
		usage := wire.Usage{Reported: true, Input: 40, Output: 30, CacheRead: 60, Reasoning: 20}
		if codec.Format() == "anthropic" {
			usage = wire.Usage{Reported: true, Input: 40, Output: 30, CacheRead: 60, CacheWrite: 7}
		}
		if codec.Format() == "ollama" {
			usage = wire.Usage{Reported: true, Input: 40, Output: 30}
		}
		s := Serve(t, codec.Format(), Script(
			Reply{Reasoning: "Let me think.", Text: "I look. 👋", Calls: calls, Usage: usage},
			Reply{Text: "Two files.", NoUsage: true},
		))
		r, c := first(t, codec), client(t)
		var said strings.Builder
		out, err := provider.Ask(t.Context(), c, s.URL, r, func(text string) { said.WriteString(text) })
		if err != nil || out.Text != "I look. 👋" || said.String() != out.Text || out.Finish != wire.FinishCalls || out.Usage != usage || len(out.Calls) != 3 {
			t.Fatalf("said %q, got %+v, %v", said.String(), out, err)
		}
		ids := []string{"call_1_1", "call_1_2", "mine"}
		for i, call := range out.Calls {
			if call.ID != ids[i] || call.Name != calls[i].Name || string(call.Args) != calls[i].Args || call.Fault != "" {
				t.Errorf("call %d is %+v", i, call)
			}
		}
		for range 2 {
			last, err := provider.Ask(t.Context(), c, s.URL, next(t, r, out), nil)
			if err != nil || last.Text != "Two files." || last.Finish != wire.FinishStop || len(last.Calls) != 0 || last.Usage.Reported {
				t.Fatalf("got %+v, %v", last, err)
			}
		}
		requests := s.Requests()
		if len(requests) != 3 || s.Asked(0) != 1 || s.Asked(1) != 2 || requests[1].Asked != 0 || requests[2].Asked != 1 {
			t.Fatalf("asked %d times", len(requests))
		}
		got := requests[2]
		if got.Model != "m-1" || got.System != "Be brief." || !reflect.DeepEqual(got.Tools, []string{"core__ls", "core__grep"}) || got.Status != 200 || len(got.Messages) != 3 {
			t.Fatalf("got %+v", got)
		}
		if m := got.Messages[0]; m.Role != "user" || m.Text != "What is here?" {
			t.Errorf("the question is %+v", m)
		}
		if m := got.Messages[1]; m.Role != "assistant" || m.Text != out.Text || m.Reasoning == "" || len(m.Calls) != 3 || m.Calls[0] != (Call{ID: "call_1_1", Name: "core__ls", Args: `{"path":"ä"}`}) {
			t.Errorf("the answer is %+v", m)
		}
		if m := got.Messages[2]; m.Role != "tool" || len(m.Results) != 3 || m.Results[1].CallID != "call_1_2" || !strings.Contains(m.Results[1].Text, "result of core__grep") {
			t.Errorf("the results are %+v", m)
		}
	})
}

// TestRefused: a conversation that a provider refuses is refused: without a result, without its reasoning, and
// behind the end of the script.
func TestRefused(t *testing.T) {
	each(t, func(t *testing.T, codec wire.Codec) {
		s := Serve(t, codec.Format(), Script(Reply{Reasoning: "Hm.", Calls: []Call{{Name: "core__ls", Args: "{}"}, {Name: "core__grep", Args: "{}"}}}))
		r, c := first(t, codec), client(t)
		out, err := provider.Ask(t.Context(), c, s.URL, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		whole := next(t, r, out)
		short := out
		short.Calls = out.Calls[:1]
		bare := out
		bare.Message = json.RawMessage(strings.NewReplacer(sealed("Hm."), "", "Hm.", "").Replace(string(out.Message)))
		for name, tc := range map[string]struct {
			request provider.Request
			want    string
			taken   bool
		}{
			"the script is over": {whole, "no reply 2", false},
			"a result missing":   {next(t, r, short), "1 results for 2 calls", false},
			"no reasoning":       {next(t, r, bare), "reasoning that is missing", codec.Format() == "ollama"},
		} {
			_, err := provider.Ask(t.Context(), c, s.URL, tc.request, nil)
			var e *provider.Error
			if !errors.As(err, &e) || e.Status != 400 || e.Retry || !tc.taken && !strings.Contains(e.Unwrap().Error(), tc.want) {
				t.Errorf("%s: got %v, %v", name, err, errors.Unwrap(err))
			}
		}
	})
}

// TestReasoningIsNotStored: a model of the format responses that reasons without being asked to sends its reasoning
// without its content. A conversation with it goes on, because provider leaves out what the provider does not know any more.
func TestReasoningIsNotStored(t *testing.T) {
	codec := responses.Codec{}
	s := Serve(t, codec.Format(), Script(Reply{Reasoning: "Hm.", Text: "I look.", Calls: []Call{{Name: "core__ls", Args: "{}"}}}, Reply{Text: "ok"}))
	r, c := first(t, codec), client(t)
	r.Members = nil
	out, err := provider.Ask(t.Context(), c, s.URL, r, nil)
	if err != nil || !strings.Contains(string(out.Message), `"rs_1"`) {
		t.Fatalf("got %+v, %v", out, err)
	}
	last, err := provider.Ask(t.Context(), c, s.URL, next(t, r, out), nil)
	if err != nil || last.Text != "ok" {
		t.Fatalf("got %+v, %v", last, errors.Unwrap(err))
	}
	if body := string(s.Requests()[1].Body); strings.Contains(body, "rs_1") || strings.Contains(body, "fc_1") || strings.Contains(body, "msg_1") {
		t.Errorf("an id of the provider is in %s", body)
	}
}

// TestBadArguments: arguments that are not JSON arrive as each format has them.
func TestBadArguments(t *testing.T) {
	each(t, func(t *testing.T, codec wire.Codec) {
		const bad = `{"path": tru`
		s := Serve(t, codec.Format(), Script(Reply{Calls: []Call{{Name: "core__ls", Args: bad}}}, Reply{Text: "ok"}))
		r, c := first(t, codec), client(t)
		out, err := provider.Ask(t.Context(), c, s.URL, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch codec.Format() {
		case "gemini":
			if len(out.Calls) != 0 || out.Native != "MALFORMED_FUNCTION_CALL" {
				t.Errorf("got %+v", out)
			}
			return
		case "ollama":
			if len(out.Calls) != 1 || string(out.Calls[0].Args) != quote(bad) {
				t.Errorf("got %+v", out)
			}
		default:
			if len(out.Calls) != 1 || string(out.Calls[0].Args) != bad || out.Calls[0].Fault != "" {
				t.Errorf("got %+v", out)
			}
		}
		if last, err := provider.Ask(t.Context(), c, s.URL, next(t, r, out), nil); err != nil || last.Text != "ok" {
			t.Errorf("got %+v, %v", last, err)
		}
	})
}

// TestNoIDs: calls without ids, as older servers of two formats send them.
func TestNoIDs(t *testing.T) {
	for _, codec := range codecs[3:] {
		s := Serve(t, codec.Format(), Script(Reply{Calls: []Call{{ID: NoID, Name: "core__ls"}, {ID: NoID, Name: "core__ls"}}}, Reply{Text: "ok", Length: true}))
		r, c := first(t, codec), client(t)
		out, err := provider.Ask(t.Context(), c, s.URL, r, nil)
		if err != nil || len(out.Calls) != 2 || out.Calls[0].ID != "" {
			t.Fatalf("got %+v, %v", out, err)
		}
		if last, err := provider.Ask(t.Context(), c, s.URL, next(t, r, out), nil); err != nil || last.Finish != wire.FinishLength {
			t.Errorf("got %+v, %v", last, err)
		}
	}
}

// TestCut: a body that ends early is cut, and no call of it may run.
func TestCut(t *testing.T) {
	each(t, func(t *testing.T, codec wire.Codec) {
		for _, n := range []int{1, 150, 400, 700} {
			s := Serve(t, codec.Format(), Script(Reply{Text: "Hello", Calls: []Call{{Name: "core__ls", Args: "{}"}, {Name: "core__ls", Args: "{}"}, {Name: "core__ls", Args: "{}"}}, Cut: n}))
			out, err := provider.Ask(t.Context(), client(t), s.URL, first(t, codec), nil)
			var e *provider.Error
			if !errors.As(err, &e) || e.Kind != "cut" || !e.Retry || out.Finish != wire.FinishCut {
				t.Errorf("%d bytes: got %+v, %v", n, out, err)
			}
		}
	})
}

// TestErrors: each provider's errors have its words, and the ones before a reply come first.
func TestErrors(t *testing.T) {
	kinds := map[string][4]string{ // of 400, 429, 500 and 529
		"openai":    {"invalid_request_error", "rate_limit_exceeded", "server_error", "server_error"},
		"responses": {"invalid_request_error", "rate_limit_exceeded", "server_error", "server_error"},
		"anthropic": {"invalid_request_error", "rate_limit_error", "api_error", "overloaded_error"},
		"gemini":    {"INVALID_ARGUMENT", "RESOURCE_EXHAUSTED", "INTERNAL", "INTERNAL"},
		"ollama":    {},
	}
	each(t, func(t *testing.T, codec wire.Codec) {
		var before []Reply
		for _, status := range []int{400, 429, 500, 529} {
			before = append(before, Reply{Status: status, RetryAfter: "7", Text: "no"}, Reply{Status: status, InStream: true, Text: "no"})
		}
		s := Serve(t, codec.Format(), Script(Reply{Text: "ok", Before: before}))
		r, c := first(t, codec), client(t)
		for i, b := range before {
			_, err := provider.Ask(t.Context(), c, s.URL, r, nil)
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatalf("%+v: got %v", b, err)
			}
			want := provider.Error{Status: b.Status, Kind: kinds[codec.Format()][i/2], Retry: b.Status != 400, After: 7 * time.Second}
			if b.InStream {
				want.Status, want.After = 0, 0
				if codec.Format() == "ollama" { // which sends no word
					want.Kind, want.Retry = "stream_error", true
				}
			}
			if e.Status != want.Status || e.Kind != want.Kind || e.Retry != want.Retry || e.After != want.After {
				t.Errorf("%+v: got %+v, want %+v", b, e, want)
			}
		}
		if out, err := provider.Ask(t.Context(), c, s.URL, r, nil); err != nil || out.Text != "ok" || s.Asked(0) != 9 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

// TestForget: a server of a long run does not keep all of its requests.
func TestForget(t *testing.T) {
	s := &Server{}
	for i := range 5 {
		s.record(Request{Model: "m", Answers: i, Body: make([]byte, maxKept/2), Messages: []Message{{Role: "user"}}})
	}
	requests := s.Requests()
	if len(requests) != 5 || requests[2].Body != nil || requests[2].Messages != nil || requests[2].Answers != 2 || requests[3].Body == nil || requests[4].Messages == nil || s.kept != maxKept {
		t.Errorf("kept are %d bytes of %d requests", s.kept, len(requests))
	}
}

// TestGates: a reply is held back until its gate opens, or its request ends.
func TestGates(t *testing.T) {
	each(t, func(t *testing.T, codec wire.Codec) {
		delay, hang := make(chan struct{}), make(chan struct{})
		s := Serve(t, codec.Format(), Script(Reply{Text: "Hello", Delay: delay, Hang: hang, Before: []Reply{{Text: "Hello", Hang: make(chan struct{})}}}))
		ctx, cancel := context.WithCancel(t.Context())
		r, c := first(t, codec), client(t)
		if _, err := provider.Ask(ctx, c, s.URL, r, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		go close(delay)
		arrived := false
		out, err := provider.Ask(t.Context(), c, s.URL, r, func(string) {
			if !arrived {
				arrived = true
				close(hang)
			}
		})
		if err != nil || out.Text != "Hello" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}
