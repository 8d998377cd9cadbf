package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

// format plays a model that calls the tool core__write_file: ARGS stands where
// the format has an object, TEXT where it has a string, HALF and REST for that
// string in two pieces.
type format struct {
	codec            wire.Codec
	response, stream string
}

var formats = []format{
	{
		openai.Codec{},
		`{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"core__write_file","arguments":TEXT}}]},"finish_reason":"tool_calls"}]}`,
		`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"core__write_file","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":HALF}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":REST}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

`,
	},
	{
		responses.Codec{},
		`{"object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"core__write_file","arguments":TEXT,"status":"completed"}]}`,
		`data: {"type":"response.created","response":{"object":"response","status":"in_progress","output":[]}}

data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"core__write_file","arguments":"","status":"in_progress"}}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":HALF}

data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":REST}

data: {"type":"response.function_call_arguments.done","item_id":"fc_1","output_index":0,"arguments":TEXT}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"call_1","name":"core__write_file","arguments":TEXT,"status":"completed"}}

data: {"type":"response.completed","response":{"object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"call_1","name":"core__write_file","arguments":TEXT,"status":"completed"}]}}

`,
	},
	{
		anthropic.Codec{},
		`{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"core__write_file","input":ARGS}],"stop_reason":"tool_use"}`,
		`data: {"type":"message_start","message":{"type":"message","role":"assistant","content":[],"stop_reason":null}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"call_1","name":"core__write_file","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":HALF}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":REST}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

data: {"type":"message_stop"}

`,
	},
	{
		ollama.Codec{},
		`{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"core__write_file","arguments":ARGS}}]},"done":true,"done_reason":"stop"}`,
		`{"message":{"role":"assistant","content":"","tool_calls":[{"id":"call_1","function":{"index":0,"name":"core__write_file","arguments":ARGS}}]},"done":false}
{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}
`,
	},
	{
		gemini.Codec{},
		`{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"core__write_file","args":ARGS}}]},"finishReason":"STOP","index":0}]}`,
		`data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_1","name":"core__write_file","args":ARGS}}]},"index":0}]}

data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0}]}

`,
	},
}

// fill puts arguments into a response.
func fill(t *testing.T, template, args string) []byte {
	t.Helper()
	quote := func(text string) string {
		var quoted bytes.Buffer
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(text); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(quoted.String())
	}
	half := len(args) / 2
	for !utf8.RuneStart(args[half]) {
		half++
	}
	return []byte(strings.NewReplacer(
		"ARGS", args, "TEXT", quote(args), "HALF", quote(args[:half]), "REST", quote(args[half:]),
	).Replace(template))
}

// TestSameArgumentsInEveryFormat: one tool, one set of arguments, five formats,
// whole and streamed: what hydration makes of the call is the same (HY-20).
func TestSameArgumentsInEveryFormat(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{}`,
		`{ "path": "a b.txt",  "lines":[1.10, -0, 1e3, null, true], "mode" : {"x":"\u00e9\/\"\\"} }`,
		`{"path":"<b> & \u2028 \ud83d\ude00 é 🙂","text":"{\"nested\":\"json\"}\n\t"}`,
		`[1]`, `"{\"path\":\"x\"}"`, `{"n":9007199254740993}`, `{"a":1,"a":2}`,
	} {
		want, wantFault := hydrate.Args(json.RawMessage(args))
		for _, f := range formats {
			r, err := f.codec.Decode(fill(t, f.response, args))
			if err != nil {
				t.Fatalf("%s: %v", f.codec.Format(), err)
			}
			s := f.codec.Stream()
			if _, err := s.Write(fill(t, f.stream, args)); err != nil {
				t.Fatalf("%s: %v", f.codec.Format(), err)
			}
			streamed, err := s.End()
			if err != nil {
				t.Fatalf("%s: %v", f.codec.Format(), err)
			}
			for how, r := range map[string]wire.Response{"whole": r, "streamed": streamed} {
				what := fmt.Sprintf("%s, %s, %s", f.codec.Format(), how, args)
				if len(r.Calls) != 1 || r.Finish != wire.FinishCalls {
					t.Fatalf("%s: %d calls, finish %s", what, len(r.Calls), r.Finish)
				}
				c := r.Calls[0]
				if c.ID != "call_1" || c.Name != "core__write_file" || c.Fault != "" || string(c.Args) != args {
					t.Errorf("%s: the call is %s %s(%s), fault %q", what, c.ID, c.Name, c.Args, c.Fault)
				}
				got, fault := hydrate.Args(c.Args)
				if string(got) != string(want) || fmt.Sprint(fault) != fmt.Sprint(wantFault) {
					t.Errorf("%s: hydrated %s, %v, want %s, %v", what, got, fault, want, wantFault)
				}
			}
		}
	}
}

// TestFormats: a codec has the name that its package has, and one schema goes
// into every request as it is (WF-10, WF-15).
func TestFormats(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object", "$defs":{"p":{"type":["string","null"],"enum":["<a>",null]}}, "properties":{"p":{"$ref":"#/$defs/p"},"o":{"type":"object","properties":{"n":{"type":"number","minimum":1.10}}}}}`
	given := json.RawMessage(schema)
	for i, name := range []string{"openai", "responses", "anthropic", "ollama", "gemini"} {
		codec := formats[i].codec
		if codec.Format() != name {
			t.Errorf("%T is %s", codec, codec.Format())
		}
		tools, err := codec.Tools([]wire.Tool{{Name: "f", Schema: given}})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(tools, []byte(schema)) {
			t.Errorf("%s: the schema is not as it was in %s", name, tools)
		}
		clear(tools)
		if string(given) != schema {
			t.Fatalf("%s: the schema itself is now %s", name, given)
		}
	}
}

// TestFailuresBeginAlike: whatever a failure says, and in whatever format, a model reads the same beginning (ER-18), once; and no value of a
// tool is read as a failure, for it stands in a frame where nothing else tells them apart.
func TestFailuresBeginAlike(t *testing.T) {
	t.Parallel()
	const prefix = "Error executing tool: "
	shown := func(codec wire.Codec, a wire.Answer) string {
		messages, err := codec.Answers([]wire.Answer{a})
		if err != nil || len(messages) != 1 {
			t.Fatalf("%s: %q, %v", codec.Format(), messages, err)
		}
		return string(messages[0])
	}
	for _, f := range formats {
		name := f.codec.Format()
		for content, want := range map[string]string{
			`{"ok":false,"errorCode":"aborted"}`:     prefix + `{\"ok\":false,\"errorCode\":\"aborted\"}"`,
			`"not today"`:                            prefix + `not today"`,
			`"Error executing tool: <no> such file"`: prefix + `<no> such file"`,
			``:                                       prefix + `null"`,
		} {
			got := shown(f.codec, wire.Answer{CallID: "c", Name: "f", Content: json.RawMessage(content), IsError: true})
			if !strings.Contains(got, `"`+want) || strings.Count(got, prefix) != 1 {
				t.Errorf("%s: %s is told as %s, want %s", name, content, got, want)
			}
		}
		value := shown(f.codec, wire.Answer{CallID: "c", Name: "f", Content: json.RawMessage(`"` + prefix + `x"`)})
		flagged := name == "anthropic" || name == "gemini"
		if framed := strings.Contains(value, `"{\"content\":\"`+prefix+`x\"}"`); framed == flagged || strings.Contains(value, "error\"") {
			t.Errorf("%s: a value that begins as a failure is told as %s", name, value)
		}
	}
}

// TestTextIsNoFrame: a text that a tool returns is not read as the frame of an answer, in which a tool could say that the call failed or
// name an output.
func TestTextIsNoFrame(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"content":"x","is_error":true}`, ` {"content":1,"output_ref":"out_2"}` + "\n", `{"content":[],"sanitized":[]}`} {
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, flagged := range []bool{false, true} {
			got, err := wire.Answer{Content: content}.Text(flagged)
			if want := `{"content":` + string(content) + `}`; err != nil || got != want {
				t.Errorf("%s is written as %s, %v, want %s", text, got, err, want)
			}
		}
	}
	for _, text := range []string{`{"content":"x"}`, `{"content":"x","more":1}`, `{"is_error":true}`} {
		content, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := (wire.Answer{Content: content}).Text(false); err != nil || got != text {
			t.Errorf("%s is written as %s, %v", text, got, err)
		}
	}
}
