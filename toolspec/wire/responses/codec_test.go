package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

func TestGolden(t *testing.T) { codectest.Golden(t, responses.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, responses.Codec{}) }

func TestTools(t *testing.T) {
	t.Parallel()
	codectest.Tools(t, responses.Codec{}, `[
		{"type":"function","name":"core__read_file","description":"Reads a \"file\".","strict":true,"parameters":`+codectest.Schema+`},
		{"type":"function","name":"_ls","strict":false,"parameters":{}}]`)
}

func TestChoice(t *testing.T) {
	t.Parallel()
	codectest.Choices(t, responses.Codec{}, map[string]wire.Choice{
		`{"tool_choice":"auto"}`:                             {},
		`{"tool_choice":"auto","parallel_tool_calls":false}`: {Mode: wire.Auto, Serial: true},
		`{"tool_choice":"none"}`:                             {Mode: wire.None, Serial: true},
		`{"tool_choice":"required"}`:                         {Mode: wire.Required},
		`{"tool_choice":{"type":"function","name":"core__ls"},"parallel_tool_calls":false}`: {Mode: wire.Named, Name: "core__ls", Serial: true},
	})
}

// TestAnswers: one item per answer, in order (WF-16, WF-17).
func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := responses.Codec{}.Answers([]wire.Answer{
		{CallID: "call_1", Name: "a", Content: json.RawMessage(`{"n":1}`)},
		{Index: 1, Name: "b", Content: json.RawMessage(`"plain <text>"`)},
		{CallID: "call_3", Name: "c", Content: json.RawMessage(`{"errorCode":"policy_denied"}`), IsError: true, OutputRef: "out_1"},
		{CallID: "call_4", Name: "d", Content: json.RawMessage(`"look"`), Parts: []wire.Part{
			{MediaType: "image/png", Data: "AAAA"}, {MediaType: "text/plain", Data: "more"}, {MediaType: "audio/wav", Data: "BBBB"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`{"type":"function_call_output","call_id":"call_1","output":"{\"n\":1}"}`,
		`{"type":"function_call_output","call_id":"pawl_1","output":"plain <text>"}`,
		`{"type":"function_call_output","call_id":"call_3","output":"{\"content\":\"Error executing tool: {\\\"errorCode\\\":\\\"policy_denied\\\"}\",\"is_error\":true,\"output_ref\":\"out_1\"}"}`,
		`{"type":"function_call_output","call_id":"call_4","output":[{"type":"input_text","text":"look"},{"type":"input_image","image_url":"data:image/png;base64,AAAA"},` +
			`{"type":"input_text","text":"more"},{"type":"input_text","text":"[a part of type audio/wav, 3 bytes, which cannot be shown here]"}]}`,
	} {
		codectest.SameJSON(t, fmt.Sprint("answer ", i), got[i], []byte(want))
	}
}

// TestTooMany: calls and bytes are bounded, streamed as well.
func TestTooMany(t *testing.T) {
	t.Parallel()
	response := func(n int) string {
		one := `{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}`
		return `{"status":"completed","output":[` + strings.Join(slices.Repeat([]string{one}, n), ",") + `]}`
	}
	if r, err := (responses.Codec{}).Decode([]byte(response(wire.MaxCalls))); err != nil || len(r.Calls) != wire.MaxCalls {
		t.Errorf("%d calls, %v", len(r.Calls), err)
	}
	if _, err := (responses.Codec{}).Decode([]byte(response(wire.MaxCalls + 1))); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("one call too many: %v", err)
	}
	if _, err := (responses.Codec{}).Decode(make([]byte, wire.MaxResponse+1)); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a response that is too large: %v", err)
	}
	s := responses.Codec{}.Stream()
	if _, err := fmt.Fprintf(s, "data: {\"type\":\"response.completed\",\"response\":%s}\n\n", response(wire.MaxCalls+1)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.End(); !errors.Is(err, wire.ErrTooLarge) || len(r.Calls) != 0 {
		t.Errorf("one call too many in a stream: %d, %v", len(r.Calls), err)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codectest.RoundTrip(t, responses.Codec{}, model)
}

type object map[string]any

// model calls each tool once, in a stream with the calls mixed. Half of the
// streams end with an output, half leave it to the items.
func model(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte) {
	var offered []struct{ Name string }
	if err := json.Unmarshal(tools, &offered); err != nil {
		t.Fatal(err)
	}
	encode := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	event := func(kind string, members object) {
		members["type"] = kind
		stream = fmt.Appendf(stream, "event: %s\ndata: %s\n\n", kind, encode(members))
	}
	calls := make([]object, len(args))
	rests := make([]string, len(args))
	for i := range args {
		id := fmt.Sprint("call_", i)
		calls[i] = object{"type": "function_call", "id": "fc" + id, "call_id": id, "name": offered[i].Name, "arguments": string(args[i]), "status": "completed"}
		event("response.output_item.added", object{"output_index": i, "item": object{
			"type": "function_call", "id": "fc" + id, "call_id": id, "name": offered[i].Name, "arguments": "", "status": "in_progress",
		}})
		rests[i] = string(args[i])
	}
	closing := rapid.SampledFrom([]string{"output", "items", "arguments"}).Draw(t, "closing")
	for open := len(args); open > 0; {
		i := rapid.IntRange(0, len(args)-1).Draw(t, "which")
		for rests[i] == "" {
			i = (i + 1) % len(args)
		}
		runes := []rune(rests[i])
		n := rapid.IntRange(1, len(runes)).Draw(t, "runes")
		event("response.function_call_arguments.delta", object{"output_index": i, "delta": string(runes[:n])})
		if rests[i] = string(runes[n:]); rests[i] != "" {
			continue
		}
		open--
		switch closing {
		case "items":
			event("response.output_item.done", object{"output_index": i, "item": calls[i]})
		case "arguments":
			event("response.function_call_arguments.done", object{"output_index": i, "arguments": string(args[i])})
		}
	}
	whole := object{"status": "completed", "output": calls}
	last := whole
	if closing != "output" {
		last = object{"status": "completed"}
	}
	event("response.completed", object{"response": last})
	return encode(whole), stream
}

// BenchmarkStream decodes 500 events as OpenAI sends them.
func BenchmarkStream(b *testing.B) {
	var body []byte
	event := func(kind, rest string, args ...any) {
		body = fmt.Appendf(body, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, len(body), fmt.Sprintf(rest, args...))
	}
	const item = `{"id":"fc_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b_%d","type":"function_call","status":%q,"arguments":%q,"call_id":"call_%d","name":"core__read_file"}`
	all := make([]string, 3)
	for i := range 3 {
		event("response.output_item.added", `"output_index":%d,"item":`+item, i, i, "in_progress", "", i)
		all[i] = `{"path":"`
	}
	for i := range 491 {
		piece := fmt.Sprintf("dir%d/", i)
		if i < 3 {
			piece = `{"path":"` + piece
		}
		event("response.function_call_arguments.delta", `"item_id":"fc_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b","output_index":%d,"delta":%q,"obfuscation":"x9fQ2aLqV"`, i%3, piece)
		all[i%3] += fmt.Sprintf("dir%d/", i)
	}
	items := make([]string, 3)
	for i := range 3 {
		all[i] += `"}`
		event("response.function_call_arguments.done", `"item_id":"fc_67ccd2bf17f0819081ff3bb2cf6508e60bb6a6b452d3795b","output_index":%d,"arguments":%q`, i, all[i])
		items[i] = fmt.Sprintf(item, i, "completed", all[i], i)
		event("response.output_item.done", `"output_index":%d,"item":%s`, i, items[i])
	}
	event("response.completed", `"response":{"status":"completed","output":[%s]}`, strings.Join(items, ","))
	codectest.Benchmark(b, responses.Codec{}, body, 3)
}
