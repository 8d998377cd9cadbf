package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

func TestGolden(t *testing.T) { codectest.Golden(t, openai.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, openai.Codec{}) }

func TestTools(t *testing.T) {
	t.Parallel()
	codectest.Tools(t, openai.Codec{}, `[
		{"type":"function","function":{"name":"core__read_file","description":"Reads a \"file\".","strict":true,"parameters":`+codectest.Schema+`}},
		{"type":"function","function":{"name":"_ls","parameters":{}}}]`)
}

func TestChoice(t *testing.T) {
	t.Parallel()
	codectest.Choices(t, openai.Codec{}, map[string]wire.Choice{
		`{"tool_choice":"auto"}`:                             {},
		`{"tool_choice":"auto","parallel_tool_calls":false}`: {Mode: wire.Auto, Serial: true},
		`{"tool_choice":"none"}`:                             {Mode: wire.None, Serial: true},
		`{"tool_choice":"required"}`:                         {Mode: wire.Required},
		`{"tool_choice":{"type":"function","function":{"name":"core__ls"}},"parallel_tool_calls":false}`: {Mode: wire.Named, Name: "core__ls", Serial: true},
	})
}

// TestAnswers: one message per answer, in order; what the format has no member
// for stands in the text (WF-16, WF-17).
func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := openai.Codec{}.Answers([]wire.Answer{
		{CallID: "call_1", Name: "a", Content: json.RawMessage(`{"n":1}`)},
		{Index: 1, Name: "b", Content: json.RawMessage(` "plain <text>" `)},
		{CallID: "call_3", Name: "c", Content: json.RawMessage(`{"errorCode":"policy_denied","message":"a < b"}`), IsError: true},
		{CallID: "call_4", Name: "d", Content: json.RawMessage(`"head"`), OutputRef: "out_1"},
		{CallID: "call_5", Name: "e", Content: json.RawMessage(`"look"`), Parts: []wire.Part{
			{MediaType: "text/plain", Data: "more"}, {MediaType: "image/png", Data: "AAAA"},
		}},
		{CallID: "call_6", Name: "f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"role":"tool","tool_call_id":"call_1","content":"{\"n\":1}"}`,
		`{"role":"tool","tool_call_id":"pawl_1","content":"plain <text>"}`,
		`{"role":"tool","tool_call_id":"call_3","content":"Error executing tool: {\"errorCode\":\"policy_denied\",\"message\":\"a < b\"}"}`,
		`{"role":"tool","tool_call_id":"call_4","content":"{\"content\":\"head\",\"output_ref\":\"out_1\"}"}`,
		`{"role":"tool","tool_call_id":"call_5","content":[{"type":"text","text":"look"},{"type":"text","text":"more"},{"type":"text","text":"[a part of type image/png, 3 bytes, which cannot be shown here]"}]}`,
		`{"role":"tool","tool_call_id":"call_6","content":"null"}`,
	} {
		codectest.SameJSON(t, fmt.Sprint("answer ", i), got[i], []byte(want))
	}
	if got, err := (openai.Codec{}).Answers([]wire.Answer{{Name: "a", Content: json.RawMessage(`{`)}}); err == nil {
		t.Errorf("content that is not JSON became %s", got)
	}
}

// TestTooMany: calls and bytes are bounded.
func TestTooMany(t *testing.T) {
	t.Parallel()
	one := `{"id":"c","type":"function","function":{"name":"a","arguments":"{}"}}`
	response := func(n int) []byte {
		return []byte(`{"choices":[{"index":0,"message":{"tool_calls":[` + strings.Join(slices.Repeat([]string{one}, n), ",") + `]},"finish_reason":"tool_calls"}]}`)
	}
	if r, err := (openai.Codec{}).Decode(response(wire.MaxCalls)); err != nil || len(r.Calls) != wire.MaxCalls {
		t.Errorf("%d calls, %v", len(r.Calls), err)
	}
	if _, err := (openai.Codec{}).Decode(response(wire.MaxCalls + 1)); err == nil {
		t.Error("one call too many is taken")
	}
	if _, err := (openai.Codec{}).Decode(make([]byte, wire.MaxResponse+1)); err == nil {
		t.Error("a response that is too large is taken")
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codectest.RoundTrip(t, openai.Codec{}, model)
}

// model calls each tool once, in a stream with the calls mixed.
func model(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte) {
	var offered []struct {
		Type     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(tools, &offered); err != nil {
		t.Fatal(err)
	}
	type call map[string]any
	calls := make([]call, len(args))
	rests := make([][]byte, len(args))
	chunk := func(c call, reason any) {
		delta := map[string]any{}
		if c != nil {
			delta["tool_calls"] = []call{c}
		}
		data, err := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
		if err != nil {
			t.Fatal(err)
		}
		stream = fmt.Appendf(stream, "data: %s\n\n", data)
	}
	for i := range args {
		id, name := fmt.Sprint("call_", i), offered[i].Function.Name
		calls[i] = call{"id": id, "type": "function", "function": call{"name": name, "arguments": string(args[i])}}
		chunk(call{"index": i, "id": id, "type": "function", "function": call{"name": name, "arguments": ""}}, nil)
		rests[i] = args[i]
	}
	for open := len(args); open > 0; {
		i := rapid.IntRange(0, len(args)-1).Draw(t, "which")
		for len(rests[i]) == 0 {
			i = (i + 1) % len(args)
		}
		runes := []rune(string(rests[i]))
		n := rapid.IntRange(1, len(runes)).Draw(t, "runes")
		chunk(call{"index": i, "function": call{"arguments": string(runes[:n])}}, nil)
		if rests[i] = []byte(string(runes[n:])); len(rests[i]) == 0 {
			open--
		}
	}
	chunk(nil, "tool_calls")
	response, err := json.Marshal(map[string]any{"choices": []any{map[string]any{
		"index": 0, "message": map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}, "finish_reason": "tool_calls",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return response, append(stream, "data: [DONE]\n\n"...)
}

// TestRawIsTheModels: the record has a call as the model wrote it, and the next request as it may be repeated.
func TestRawIsTheModels(t *testing.T) {
	const call = `{"id":"","type":"function","function":{"name":"read file","arguments":"{}"}}`
	r, err := openai.Codec{}.Decode([]byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(r.Calls[0].Raw); got != call {
		t.Errorf("the record has %s", got)
	}
	want := `{"role":"assistant","content":null,"tool_calls":[{"id":"pawl_0","type":"function","function":{"name":"read_file","arguments":"{}"}}]}`
	if got := string(r.Message); got != want {
		t.Errorf("the next request repeats %s", got)
	}
}

// BenchmarkStream decodes 500 chunks with the frame that OpenAI sends, read as a
// client reads a body.
func BenchmarkStream(b *testing.B) {
	var body []byte
	frame := `data: {"id":"chatcmpl-A3Tguz3LSXTHBTY2NAPBCSyfBltxF","object":"chat.completion.chunk","created":1725392480,"model":"gpt-4o-2024-05-13","service_tier":"default","system_fingerprint":"fp_157b3831f5","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null,"obfuscation":"x9fQ2"}` + "\n\n"
	body = fmt.Appendf(body, frame, `{"role":"assistant","content":null,"refusal":null}`, "null")
	for i := range 3 {
		body = fmt.Appendf(body, frame, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d","type":"function","function":{"name":"core__read_file","arguments":"{\"path\":\""}}]}`, i, i), "null")
	}
	for i := range 492 {
		body = fmt.Appendf(body, frame, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"dir%d/"}}]}`, i%3, i), "null")
	}
	for i := range 3 {
		body = fmt.Appendf(body, frame, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"x\"}"}}]}`, i), "null")
	}
	body = fmt.Appendf(body, frame, `{}`, `"tool_calls"`)
	body = append(body, "data: [DONE]\n\n"...)
	codectest.Benchmark(b, openai.Codec{}, body, 3)
}
