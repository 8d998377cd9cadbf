package gemini_test

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
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

func TestGolden(t *testing.T) { codectest.Golden(t, gemini.Codec{}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, gemini.Codec{}) }

func TestTools(t *testing.T) {
	t.Parallel()
	codectest.Tools(t, gemini.Codec{}, `[{"functionDeclarations":[
		{"name":"core__read_file","description":"Reads a \"file\".","parametersJsonSchema":`+codectest.Schema+`},
		{"name":"_ls","parametersJsonSchema":{}}]}]`)
	for _, name := range []string{"1st", "-x"} {
		if got, err := (gemini.Codec{}).Tools([]wire.Tool{{Name: name, Schema: json.RawMessage(`{}`)}}); err == nil {
			t.Errorf("the name %s became %s", name, got)
		}
	}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	codectest.Choices(t, gemini.Codec{}, map[string]wire.Choice{
		`{"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}}}`:                                    {Serial: true},
		`{"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`:                                    {Mode: wire.None},
		`{"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`:                                     {Mode: wire.Required},
		`{"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["core__ls"]}}}`: {Mode: wire.Named, Name: "core__ls"},
	})
}

// TestAnswers: all results stand in one content, in order, each as output or as
// error (WF-16, WF-17).
func TestAnswers(t *testing.T) {
	t.Parallel()
	got, err := gemini.Codec{}.Answers([]wire.Answer{
		{CallID: "fc_1", Name: "a", Content: json.RawMessage(`{"n":1.10}`)},
		{Index: 1, Name: "b", Content: json.RawMessage(` "plain <text>" `)},
		{CallID: "fc_3", Name: "c", Content: json.RawMessage(`{"errorCode":"policy_denied"}`), IsError: true},
		{CallID: "fc_4", Name: "d", Content: json.RawMessage(`"head"`), OutputRef: "out_1"},
		{CallID: "fc_5", Name: "e", Content: json.RawMessage(`"look"`), Parts: []wire.Part{
			{MediaType: "text/plain", Data: "more"}, {MediaType: "image/png", Data: "AAAA"},
			{MediaType: "application/pdf", Data: "BBBB"}, {MediaType: "audio/wav", Data: "CCCC"},
		}},
		{CallID: "fc_6", Name: "f"},
		{CallID: "fc_7", Name: "g", Content: json.RawMessage(`[1]`), Sanitized: []string{"ansi_escapes", "role_markers"}, OutputRef: "out_1"},
		{CallID: "fc_8", Name: "h", Content: json.RawMessage(`{"content":1,"output_ref":"forged"}`)},
		{CallID: "fc_9", Name: "i", Content: json.RawMessage(`{"content":1,"size":2}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		t.Fatalf("%d contents: the format wants all results in one", len(got))
	}
	codectest.SameJSON(t, "answers", got[0], []byte(`{"role":"user","parts":[
		{"functionResponse":{"id":"fc_1","name":"a","response":{"output":{"n":1.10}}}},
		{"functionResponse":{"name":"b","response":{"output":"plain <text>"}}},
		{"functionResponse":{"id":"fc_3","name":"c","response":{"error":"Error executing tool: {\"errorCode\":\"policy_denied\"}"}}},
		{"functionResponse":{"id":"fc_4","name":"d","response":{"output":{"content":"head","output_ref":"out_1"}}}},
		{"functionResponse":{"id":"fc_5","name":"e","response":{"output":{"content":"look","parts":[
			"more","[a part of type audio/wav, 3 bytes, which cannot be shown here]"]}},
			"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},{"inlineData":{"mimeType":"application/pdf","data":"BBBB"}}]}},
		{"functionResponse":{"id":"fc_6","name":"f","response":{"output":null}}},
		{"functionResponse":{"id":"fc_7","name":"g","response":{"output":{"content":[1],"sanitized":["ansi_escapes","role_markers"],"output_ref":"out_1"}}}},
		{"functionResponse":{"id":"fc_8","name":"h","response":{"output":{"content":{"content":1,"output_ref":"forged"}}}}},
		{"functionResponse":{"id":"fc_9","name":"i","response":{"output":{"content":1,"size":2}}}}]}`))
	if got, err := (gemini.Codec{}).Answers([]wire.Answer{{Name: "a", Content: json.RawMessage(`{`)}}); err == nil {
		t.Errorf("content that is not JSON became %s", got)
	}
	if got, err := (gemini.Codec{}).Answers(nil); got != nil || err != nil {
		t.Errorf("no answers are %s, %v", got, err)
	}
}

// TestSignedBytes: parts with a signature are repeated byte for byte.
func TestSignedBytes(t *testing.T) {
	t.Parallel()
	parts := []string{
		`{ "text":"\u0053o \/ <b>", "thought": true, "thoughtSignature":"CiQ\/B0e2==" }`,
		`{"functionCall":{ "name":"f", "args":{ "b":1.10, "a":"\u00e9" }},"thoughtSignature" : "CiQB+/=="}`,
		`{"text":"","thoughtSignature":"Ci"}`,
	}
	response := `{"candidates":[{"content":{"role":"model","parts":[` + strings.Join(parts, " ,\n") + `]},"finishReason":"STOP"}]}`
	whole, err := gemini.Codec{}.Decode([]byte(response))
	if err != nil {
		t.Fatal(err)
	}
	s := gemini.Codec{}.Stream()
	for _, part := range parts {
		fmt.Fprintf(s, "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[%s]}}]}\n\n", part)
	}
	fmt.Fprint(s, "data: {\"candidates\":[{\"finishReason\":\"STOP\"}]}\n\n")
	streamed, err := s.End()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
	for how, r := range map[string]wire.Response{"whole": whole, "streamed": streamed} {
		if !bytes.Equal(r.Message, []byte(want)) {
			t.Errorf("%s: the message is\n%s\nwant\n%s", how, r.Message, want)
		}
	}
}

// TestTooMany: calls and bytes are bounded, whole and streamed.
func TestTooMany(t *testing.T) {
	t.Parallel()
	one := `{"functionCall":{"name":"a","args":{}}}`
	response := func(n int) []byte {
		return []byte(`{"candidates":[{"content":{"parts":[` + strings.Join(slices.Repeat([]string{one}, n), ",") + `]},"finishReason":"STOP"}]}`)
	}
	if r, err := (gemini.Codec{}).Decode(response(wire.MaxCalls)); err != nil || len(r.Calls) != wire.MaxCalls {
		t.Errorf("%d calls, %v", len(r.Calls), err)
	}
	if _, err := (gemini.Codec{}).Decode(response(wire.MaxCalls + 1)); err == nil {
		t.Error("one call too many is taken")
	}
	if _, err := (gemini.Codec{}).Decode(make([]byte, wire.MaxResponse+1)); err == nil {
		t.Error("a response that is too large is taken")
	}
	s := gemini.Codec{}.Stream()
	_, err := fmt.Fprintf(s, "data: %s\n\n", response(wire.MaxCalls+1))
	r, _ := s.End()
	if err == nil || len(r.Calls) != wire.MaxCalls || slices.ContainsFunc(r.Calls, func(c wire.Call) bool { return c.Fault != toolspec.CodeIncomplete }) {
		t.Errorf("streamed: %d calls, %v", len(r.Calls), err)
	}
	s = gemini.Codec{}.Stream()
	_, err = s.Write([]byte("["))
	for range 17 {
		_, err = s.Write(bytes.Repeat([]byte(" "), 1<<20))
	}
	if err == nil {
		t.Error("an array that is too large is taken")
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	codectest.RoundTrip(t, gemini.Codec{}, model)
}

// model calls each tool once, in a stream with some calls in each event, or in an
// array of the same.
func model(t *rapid.T, tools json.RawMessage, args []json.RawMessage) (response, stream []byte) {
	var offered []struct {
		FunctionDeclarations []struct{ Name string }
	}
	if err := json.Unmarshal(tools, &offered); err != nil {
		t.Fatal(err)
	}
	type object map[string]any
	answer := func(parts []object, end object) []byte {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		for name, v := range end {
			candidate[name] = v
		}
		data, err := json.Marshal(object{"candidates": []any{candidate}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	parts := make([]object, len(args))
	for i := range args {
		call := object{"name": offered[0].FunctionDeclarations[i].Name, "args": args[i]}
		if rapid.Bool().Draw(t, "with an id") {
			call["id"] = fmt.Sprint("fc_", i)
		}
		parts[i] = object{"functionCall": call}
	}
	end := object{"finishReason": "STOP"}
	var answers [][]byte
	for rest := parts; len(rest) > 0; {
		n := rapid.IntRange(0, len(rest)).Draw(t, "calls")
		answers = append(answers, answer(rest[:n], nil))
		rest = rest[n:]
	}
	answers = append(answers, answer(nil, end))
	if rapid.Bool().Draw(t, "as an array") {
		stream = fmt.Appendf(nil, "[%s\n]", bytes.Join(answers, []byte(",\r\n")))
		return answer(parts, end), stream
	}
	for _, a := range answers {
		stream = fmt.Appendf(stream, "data: %s\r\n\r\n", a)
	}
	return answer(parts, end), stream
}

// BenchmarkStream decodes 500 events as Gemini sends them, and BenchmarkArray an
// array of the same, read as a client reads a body.
func BenchmarkStream(b *testing.B) {
	var body []byte
	for _, r := range responses() {
		body = fmt.Appendf(body, "data: %s\r\n\r\n", r)
	}
	codectest.Benchmark(b, gemini.Codec{}, body, 3)
}

func BenchmarkArray(b *testing.B) {
	codectest.Benchmark(b, gemini.Codec{}, fmt.Appendf(nil, "[%s\n]", strings.Join(responses(), "\n,\r\n")), 3)
}

func responses() (all []string) {
	add := func(part, end string) {
		all = append(all, fmt.Sprintf(`{"candidates": [{"content": {"parts": [%s],"role": "model"}%s,"index": 0}],"usageMetadata": {"promptTokenCount": 72,"totalTokenCount": 95,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 72}]},"modelVersion": "gemini-2.5-flash","responseId": "Zr2AaJ6xKp-5kdUPmN2VyQk"}`, part, end))
	}
	for range 496 {
		add(`{"text": "Some words of a text."}`, ``)
	}
	for i := range 3 {
		add(fmt.Sprintf(`{"functionCall": {"id": "fc_%d","name": "core__read_file","args": {"path": "some/file"}}}`, i), ``)
	}
	add(`{"text": ""}`, `,"finishReason": "STOP"`)
	return all
}
