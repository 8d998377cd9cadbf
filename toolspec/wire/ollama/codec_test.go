package ollama_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
)

func TestGolden(t *testing.T) { codectest.Golden(t, ollama.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, ollama.Codec{}) }

func TestTools(t *testing.T) {
	t.Parallel()
	codectest.Tools(t, ollama.Codec{}, `[
		{"type":"function","function":{"name":"core__read_file","description":"Reads a \"file\".","parameters":`+codectest.Schema+`}},
		{"type":"function","function":{"name":"_ls","parameters":{}}}]`)
}

// TestChoice: the format has no word for it, so only what a model does anyway can
// be asked for.
func TestChoice(t *testing.T) {
	t.Parallel()
	for _, choice := range []wire.Choice{{}, {Mode: wire.Auto}, {Mode: wire.Auto, Serial: true}} {
		if members, err := (ollama.Codec{}).Choice(choice); len(members) > 0 || err != nil {
			t.Errorf("%+v is %s, %v", choice, members, err)
		}
	}
	for _, bad := range []wire.Choice{
		{Mode: wire.None}, {Mode: wire.Required}, {Mode: wire.Named, Name: "a"}, {Mode: "any"}, {Mode: wire.Named}, {Name: "a"},
	} {
		if got, err := (ollama.Codec{}).Choice(bad); err == nil {
			t.Errorf("%+v is %s", bad, got)
		}
	}
}

// TestAnswers: one message per answer, in order; what the format has no member
// for stands in the text (WF-16, WF-17).
func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := ollama.Codec{}.Answers([]wire.Answer{
		{CallID: "call_1", Name: "a", Content: json.RawMessage(`{"n":1}`)},
		{Index: 1, Name: "b", Content: json.RawMessage(` "plain <text>" `)},
		{CallID: "call_3", Name: "c", Content: json.RawMessage(`{"errorCode":"policy_denied"}`), IsError: true},
		{CallID: "call_4", Name: "d", Content: json.RawMessage(`"head"`), OutputRef: "out_1"},
		{CallID: "call_5", Name: "e", Content: json.RawMessage(`"look"`), Parts: []wire.Part{
			{MediaType: "text/plain", Data: "more"}, {MediaType: "image/png", Data: "AAAA"},
			{MediaType: "image/jpeg", Data: "BBBB"}, {MediaType: "audio/wav", Data: "CCCC"},
		}},
		{CallID: "call_6", Name: "f"},
		{CallID: "call_7", Name: "g", Content: json.RawMessage(`{"content":"x","is_error":true}`)},
		{CallID: "call_8", Name: "h", Content: json.RawMessage(`{"content":"x"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"role":"tool","tool_name":"a","tool_call_id":"call_1","content":"{\"n\":1}"}`,
		`{"role":"tool","tool_name":"b","content":"plain <text>"}`,
		`{"role":"tool","tool_name":"c","tool_call_id":"call_3","content":"Error executing tool: {\"errorCode\":\"policy_denied\"}"}`,
		`{"role":"tool","tool_name":"d","tool_call_id":"call_4","content":"{\"content\":\"head\",\"output_ref\":\"out_1\"}"}`,
		`{"role":"tool","tool_name":"e","tool_call_id":"call_5","content":"look\n\nmore\n\n[a part of type audio/wav, 3 bytes, which cannot be shown here]","images":["AAAA","BBBB"]}`,
		`{"role":"tool","tool_name":"f","tool_call_id":"call_6","content":"null"}`,
		`{"role":"tool","tool_name":"g","tool_call_id":"call_7","content":"{\"content\":{\"content\":\"x\",\"is_error\":true}}"}`,
		`{"role":"tool","tool_name":"h","tool_call_id":"call_8","content":"{\"content\":\"x\"}"}`,
	} {
		codectest.SameJSON(t, fmt.Sprint("answer ", i), got[i], []byte(want))
	}
	if got, err := (ollama.Codec{}).Answers([]wire.Answer{{Name: "a", Content: json.RawMessage(`{`)}}); err == nil {
		t.Errorf("content that is not JSON became %s", got)
	}
}

// TestTooMany: calls and bytes are bounded, whole and streamed.
func TestTooMany(t *testing.T) {
	t.Parallel()
	one := `{"function":{"name":"a","arguments":{}}}`
	response := func(n int) []byte {
		return []byte(`{"message":{"role":"assistant","tool_calls":[` + strings.Join(slices.Repeat([]string{one}, n), ",") + `]},"done":true,"done_reason":"stop"}`)
	}
	if r, err := (ollama.Codec{}).Decode(response(wire.MaxCalls)); err != nil || len(r.Calls) != wire.MaxCalls {
		t.Errorf("%d calls, %v", len(r.Calls), err)
	}
	if _, err := (ollama.Codec{}).Decode(response(wire.MaxCalls + 1)); err == nil {
		t.Error("one call too many is taken")
	}
	if _, err := (ollama.Codec{}).Decode(make([]byte, wire.MaxResponse+1)); err == nil {
		t.Error("a response that is too large is taken")
	}
	s := ollama.Codec{}.Stream()
	_, err := s.Write(append(response(wire.MaxCalls+1), '\n'))
	r, _ := s.End()
	if err == nil || len(r.Calls) != wire.MaxCalls || slices.ContainsFunc(r.Calls, func(c wire.Call) bool { return c.Fault != toolspec.CodeIncomplete }) {
		t.Errorf("streamed: %d calls, %v", len(r.Calls), err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codectest.RoundTrip(t, ollama.Codec{}, model)
}

// model calls each tool once, in a stream with some calls in each line.
func model(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte) {
	var offered []struct {
		Type     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(tools, &offered); err != nil {
		t.Fatal(err)
	}
	type object map[string]any
	answer := func(calls []object, done bool) []byte {
		v := object{"model": "m", "message": object{"role": "assistant", "content": "", "tool_calls": calls}, "done": done}
		if done {
			v["done_reason"] = "stop"
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return append(data, '\n')
	}
	calls := make([]object, len(args))
	for i := range args {
		calls[i] = object{"function": object{"index": i, "name": offered[i].Function.Name, "arguments": args[i]}}
		if rapid.Bool().Draw(t, "with an id") {
			calls[i]["id"] = fmt.Sprint("call_", i)
		}
	}
	for rest := calls; len(rest) > 0; {
		n := rapid.IntRange(0, len(rest)).Draw(t, "calls")
		stream = append(stream, answer(rest[:n], false)...)
		rest = rest[n:]
	}
	return answer(calls, true), append(stream, answer(nil, true)...)
}

// BenchmarkStream decodes 500 lines as Ollama sends them, read as a client reads
// a body.
func BenchmarkStream(b *testing.B) {
	var body []byte
	line := func(message string, end string) {
		body = fmt.Appendf(body, `{"model":"qwen3:8b","created_at":"2025-07-07T20:32:53.844124Z","message":{"role":"assistant",%s},"done":%s}`+"\n", message, end)
	}
	for range 400 {
		line(`"content":"","thinking":" the"`, "false")
	}
	for range 96 {
		line(`"content":" word"`, "false")
	}
	for i := range 3 {
		line(fmt.Sprintf(`"content":"","tool_calls":[{"id":"call_%d","function":{"index":%d,"name":"core__read_file","arguments":{"path":"some/file"}}}]`, i, i), "false")
	}
	line(`"content":""`, `true,"done_reason":"stop","total_duration":182242375,"eval_count":15`)
	codectest.Benchmark(b, ollama.Codec{}, body, 3)
}
