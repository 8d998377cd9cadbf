package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

func TestGolden(t *testing.T) { codectest.Golden(t, anthropic.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, anthropic.Codec{}) }

func TestTools(t *testing.T) {
	t.Parallel()
	codectest.Tools(t, anthropic.Codec{}, `[
		{"name":"core__read_file","description":"Reads a \"file\".","strict":true,"input_schema":`+codectest.Schema+`},
		{"name":"_ls","input_schema":{}}]`)
}

func TestChoice(t *testing.T) {
	t.Parallel()
	codectest.Choices(t, anthropic.Codec{}, map[string]wire.Choice{
		`{"tool_choice":{"type":"auto"}}`:                                                    {},
		`{"tool_choice":{"type":"auto","disable_parallel_tool_use":true}}`:                   {Mode: wire.Auto, Serial: true},
		`{"tool_choice":{"type":"none"}}`:                                                    {Mode: wire.None, Serial: true},
		`{"tool_choice":{"type":"any"}}`:                                                     {Mode: wire.Required},
		`{"tool_choice":{"type":"tool","name":"core__ls","disable_parallel_tool_use":true}}`: {Mode: wire.Named, Name: "core__ls", Serial: true},
	})
}

// TestAnswers: all results stand in one message, in order, with is_error and
// their parts (WF-08, WF-16, WF-17).
func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := anthropic.Codec{}.Answers([]wire.Answer{
		{CallID: "toolu_1", Name: "a", Content: json.RawMessage(`{"n":1}`)},
		{Index: 1, Name: "b", Content: json.RawMessage(` "plain <text>" `)},
		{CallID: "toolu_3", Name: "c", Content: json.RawMessage(`{"errorCode":"policy_denied"}`), IsError: true},
		{CallID: "toolu_4", Name: "d", Content: json.RawMessage(`"head"`), OutputRef: "out_1"},
		{CallID: "toolu_5", Name: "e", Content: json.RawMessage(`""`), Parts: []wire.Part{
			{MediaType: "text/plain", Data: "more"}, {MediaType: "image/png", Data: "AAAA"},
			{MediaType: "application/pdf", Data: "BBBB"}, {MediaType: "audio/wav", Data: "CCCC"},
		}},
		{CallID: "toolu_6", Name: "f", Content: json.RawMessage(`" "`)},
		{CallID: "toolu_7", Name: "g", Content: json.RawMessage(`""`), IsError: true},
		{CallID: "toolu_8", Name: "h"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d messages: the format wants all results in one", len(got))
	}
	codectest.SameJSON(t, "answers", got[0], []byte(`{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"{\"n\":1}"}]},
		{"type":"tool_result","tool_use_id":"pawl_1","content":[{"type":"text","text":"plain <text>"}]},
		{"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"Error executing tool: {\"errorCode\":\"policy_denied\"}"}],"is_error":true},
		{"type":"tool_result","tool_use_id":"toolu_4","content":[{"type":"text","text":"{\"content\":\"head\",\"output_ref\":\"out_1\"}"}]},
		{"type":"tool_result","tool_use_id":"toolu_5","content":[
			{"type":"text","text":"more"},
			{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},
			{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"BBBB"}},
			{"type":"text","text":"[a part of type audio/wav, 3 bytes, which cannot be shown here]"}]},
		{"type":"tool_result","tool_use_id":"toolu_6","content":[]},
		{"type":"tool_result","tool_use_id":"toolu_7","content":[{"type":"text","text":"Error executing tool: "}],"is_error":true},
		{"type":"tool_result","tool_use_id":"toolu_8","content":[{"type":"text","text":"null"}]}]}`))
	if got, err := (anthropic.Codec{}).Answers([]wire.Answer{{Name: "a", Content: json.RawMessage(`{`)}}); err == nil {
		t.Errorf("content that is not JSON became %s", got)
	}
	if got, err := (anthropic.Codec{}).Answers(nil); got != nil || err != nil {
		t.Errorf("no answers are %s, %v", got, err)
	}
}

// TestSignedBytes: blocks that the provider checks are repeated byte for byte.
func TestSignedBytes(t *testing.T) {
	t.Parallel()
	blocks := []string{
		`{ "type":"thinking", "thinking":"\u0053o \/ <b>", "signature":"Eq+/Q==" }`,
		`{"type" : "redacted_thinking","data":"Emw\/K"}`,
		`{"type":"tool_use","id":"toolu_1","name":"f","input":{ "b":1.10, "a":"\u00e9" }}`,
	}
	r, err := anthropic.Codec{}.Decode([]byte(`{"type":"message","content":[` + strings.Join(blocks, " ,\n") + `],"stop_reason":"tool_use"}`))
	if err != nil {
		t.Fatal(err)
	}
	s := anthropic.Codec{}.Stream()
	for i, block := range blocks {
		block = strings.Replace(block, `\u0053o \/ <b>`, ``, 1)
		block = strings.Replace(block, `Eq+/Q==`, ``, 1)
		block = strings.Replace(block, `{ "b":1.10, "a":"\u00e9" }`, `{}`, 1)
		fmt.Fprintf(s, "data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, block)
	}
	for _, delta := range []string{
		`0,"delta":{"type":"thinking_delta","thinking":"\u0053o \/"}`, `0,"delta":{"type":"thinking_delta","thinking":" <b>"}`,
		`0,"delta":{"type":"signature_delta","signature":"Eq+/Q=="}`,
		`2,"delta":{"type":"input_json_delta","partial_json":"{ \"b\":1.10, \"a\":\"\\u00e9\" }"}`,
	} {
		fmt.Fprintf(s, "data: {\"type\":\"content_block_delta\",\"index\":%s}\n\n", delta)
	}
	for i := range blocks {
		fmt.Fprintf(s, "data: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
	}
	fmt.Fprint(s, "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")
	streamed, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`; string(r.Message) != want {
		t.Errorf("the message is\n%s\nwant\n%s", r.Message, want)
	}
	for _, signed := range []string{`"thinking":"\u0053o \/ <b>"`, `"signature":"Eq+/Q=="`, blocks[1], `"input":{ "b":1.10, "a":"\u00e9" }`} {
		if !bytes.Contains(streamed.Message, []byte(signed)) {
			t.Errorf("%s is not in the streamed message %s", signed, streamed.Message)
		}
	}
}

// TestTooMany: calls and bytes are bounded, whole and streamed.
func TestTooMany(t *testing.T) {
	t.Parallel()
	one := `{"type":"tool_use","id":"toolu_1","name":"a","input":{}}`
	response := func(n int) []byte {
		return []byte(`{"type":"message","content":[` + strings.Join(slices.Repeat([]string{one}, n), ",") + `],"stop_reason":"tool_use"}`)
	}
	if r, err := (anthropic.Codec{}).Decode(response(wire.MaxCalls)); err != nil || len(r.Calls) != wire.MaxCalls {
		t.Errorf("%d calls, %v", len(r.Calls), err)
	}
	if _, err := (anthropic.Codec{}).Decode(response(wire.MaxCalls + 1)); err == nil {
		t.Error("one call too many is taken")
	}
	if _, err := (anthropic.Codec{}).Decode(make([]byte, wire.MaxResponse+1)); err == nil {
		t.Error("a response that is too large is taken")
	}
	s := anthropic.Codec{}.Stream()
	var err error
	for i := range wire.MaxCalls + 1 {
		_, err = fmt.Fprintf(s, "data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, one)
	}
	r, _ := s.End()
	if err == nil || len(r.Calls) != wire.MaxCalls || slices.ContainsFunc(r.Calls, func(c wire.Call) bool { return c.Fault != toolspec.CodeIncomplete }) {
		t.Errorf("streamed: %d calls, %v", len(r.Calls), err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codectest.RoundTrip(t, anthropic.Codec{}, model)
}

// model calls each tool once, in a stream with the calls mixed.
func model(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte) {
	var offered []struct{ Name string }
	if err := json.Unmarshal(tools, &offered); err != nil {
		t.Fatal(err)
	}
	type object map[string]any
	event := func(v object) {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		stream = fmt.Appendf(stream, "event: %s\ndata: %s\n\n", v["type"], data)
	}
	event(object{"type": "message_start", "message": object{"type": "message", "role": "assistant", "content": []any{}, "stop_reason": nil}})
	blocks, rests := make([]object, len(args)), make([]json.RawMessage, len(args))
	for i := range args {
		blocks[i] = object{"type": "tool_use", "id": fmt.Sprint("toolu_", i), "name": offered[i].Name, "input": args[i]}
		event(object{"type": "content_block_start", "index": i, "content_block": object{"type": "tool_use", "id": fmt.Sprint("toolu_", i), "name": offered[i].Name, "input": object{}}})
		rests[i] = args[i]
	}
	for open := len(args); open > 0; {
		i := rapid.IntRange(0, len(args)-1).Draw(t, "which")
		for len(rests[i]) == 0 {
			i = (i + 1) % len(args)
		}
		runes := []rune(string(rests[i]))
		n := rapid.IntRange(0, len(runes)).Draw(t, "runes")
		event(object{"type": "content_block_delta", "index": i, "delta": object{"type": "input_json_delta", "partial_json": string(runes[:n])}})
		if rests[i] = json.RawMessage(string(runes[n:])); len(rests[i]) == 0 {
			event(object{"type": "content_block_stop", "index": i})
			open--
		}
	}
	event(object{"type": "message_delta", "delta": object{"stop_reason": "tool_use", "stop_sequence": nil}, "usage": object{"output_tokens": 1}})
	event(object{"type": "message_stop"})
	response, err := json.Marshal(object{"type": "message", "role": "assistant", "content": blocks, "stop_reason": "tool_use"})
	if err != nil {
		t.Fatal(err)
	}
	return response, stream
}

// BenchmarkStream decodes 500 events with the frame that Anthropic sends, read as
// a client reads a body.
func BenchmarkStream(b *testing.B) {
	var body []byte
	event := func(kind, rest string) {
		body = fmt.Appendf(body, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
	}
	event("message_start", `,"message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}`)
	for i := range 3 {
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":{"type":"tool_use","id":"toolu_0%d","name":"core__read_file","input":{}}`, i, i))
		for range 163 {
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"some"}`, i))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	event("ping", ``)
	event("ping", ``)
	event("message_delta", `,"delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}`)
	event("message_stop", ``)
	codectest.Benchmark(b, anthropic.Codec{}, body, 3)
}
