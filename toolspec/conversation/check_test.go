package conversation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/toolspec/conversation"
)

const canary = "canary4711"

// talk returns the JSON of a conversation with the messages.
func talk(messages ...string) string {
	return `{"messages":[` + strings.Join(messages, ",") + `]}`
}

func user(text string) string { return fmt.Sprintf(`{"role":"user","content":%q}`, text) }

func called(calls ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(calls, ",") + `]}`
}

func toolCall(id, args string) string {
	return fmt.Sprintf(`{"type":"tool-call","toolCallId":%q,"toolName":"core__ls","args":%s}`, id, args)
}

func answered(id, result string) string {
	return `{"role":"tool","content":[` + resultPart(id, result) + `]}`
}

func resultPart(id, result string) string {
	return fmt.Sprintf(`{"type":"tool-result","toolCallId":%q,"result":%s}`, id, result)
}

// sized returns a JSON string of n bytes, with its quotes.
func sized(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }

// sizedObject returns a JSON object of n bytes.
func sizedObject(n int) string { return `{"a":` + sized(n-6) + `}` }

// TestRules: each rule of a conversation, with the path and kind of its problem (VA-09, VA-10,
// VA-11, VA-13…VA-16).
func TestRules(t *testing.T) {
	pair := called(toolCall("c1", `{}`)) + "," + answered("c1", `"ok"`)
	many := make([]string, 129)
	for i := range many {
		many[i] = toolCall(fmt.Sprintf("c%d", i), `{}`)
	}
	for _, tc := range []struct {
		name, input, kind, path string
	}{
		{"a talk", talk(`{"role":"system","content":"be brief"}`, user("list"), pair, `{"role":"assistant","content":"done"}`), "", ""},
		{"text in parts", talk(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`), "", ""},
		{"text beside calls", talk(user("x"), called(`{"type":"text","text":"I look"}`, toolCall("c1", `{}`)), answered("c1", `{"a":[1,null]}`)), "", ""},
		{"two calls, answered in another order", talk(user("x"), called(toolCall("c1", `{}`), toolCall("c2", `{}`)), answered("c2", `1`), answered("c1", `2`)), "", ""},
		{"a call without arguments", talk(user("x"), called(`{"type":"tool-call","toolCallId":"c1","toolName":"core__ls"}`), answered("c1", `null`)), "", ""},
		{"arguments that were no JSON", talk(user("x"), called(toolCall("c1", `"{\"a\":"`)), answered("c1", `{"ok":false}`)), "", ""},
		{"an id of 128 characters", talk(user("x"), called(toolCall(strings.Repeat("é", 128), `{}`)), answered(strings.Repeat("é", 128), `1`)), "", ""},
		{"arguments of 8192 bytes", talk(user("x"), called(toolCall("c1", sizedObject(8192))), answered("c1", `1`)), "", ""},
		{"a result of 32768 bytes", talk(user("x"), called(toolCall("c1", `{}`)), answered("c1", sized(32768))), "", ""},
		{"128 calls", talk(user("x"), called(many[:128]...)), "unanswered_call", "/messages/1/content/0"},

		{"no JSON", canary, "invalid_json", ""},
		{"an array", "[]", "type_mismatch", ""},
		{"nothing said", talk(), "missing_required", "/messages"},
		{"an unknown field", `{"messages":[],"tools":[]}`, "unknown_field", "/tools"},
		{"an unknown field of a message", talk(`{"role":"user","content":"x","name":"` + canary + `"}`), "unknown_field", "/messages/0/name"},
		{"an unknown field of a part", talk(`{"role":"user","content":[{"type":"text","text":"x","cache":1}]}`), "unknown_field", "/messages/0/content/0/cache"},
		{"a field of another part", talk(user("x"), called(`{"type":"tool-call","toolCallId":"c1","toolName":"core__ls","result":1}`)), "unknown_field", "/messages/1/content/0/result"},
		{"a key twice", talk(`{"role":"user","role":"user","content":"x"}`), "invalid_json", "/messages/0/role"},
		{"a key twice in arguments", talk(user("x"), called(toolCall("c1", `{"a":1,"a":2}`)), answered("c1", `1`)), "invalid_json", "/messages/1/content/0/args/a"},
		{"a number that is not finite", talk(user("x"), called(toolCall("c1", `{}`)), answered("c1", `[1,1e400]`)), "inexact_number", "/messages/2/content/0/result/1"},
		{"NaN", talk(user("x"), called(toolCall("c1", `{"a":NaN}`)), answered("c1", `1`)), "invalid_json", "/messages/1/content/0/args/a"},
		{"an unknown role", talk(`{"role":"function","content":"x"}`), "invalid_role", "/messages/0/role"},
		{"no role", talk(`{"content":"x"}`), "invalid_role", "/messages/0/role"},
		{"an unknown part", talk(`{"role":"user","content":[{"type":"image"}]}`), "invalid_field", "/messages/0/content/0/type"},
		{"no content", talk(`{"role":"user"}`), "missing_required", "/messages/0/content"},
		{"content of another type", talk(`{"role":"user","content":7}`), "type_mismatch", "/messages/0/content"},
		{"empty content", talk(`{"role":"user","content":[]}`), "missing_required", "/messages/0/content"},
		{"an empty text", talk(user("")), "missing_required", "/messages/0/content"},
		{"a text without text", talk(`{"role":"user","content":[{"type":"text"}]}`), "missing_required", "/messages/0/content/0/text"},
		{"a result in a user message", talk(`{"role":"user","content":[` + resultPart("c1", `1`) + `]}`), "wrong_part", "/messages/0/content/0"},
		{"a call in a user message", talk(`{"role":"user","content":[` + toolCall("c1", `{}`) + `]}`), "wrong_part", "/messages/0/content/0"},
		{"a call in a system message", talk(`{"role":"system","content":[` + toolCall("c1", `{}`) + `]}`), "wrong_part", "/messages/0/content/0"},
		{"a result in the assistant's message", talk(user("x"), called(toolCall("c1", `{}`)), called(resultPart("c1", `1`))), "wrong_part", "/messages/2/content/0"},
		{"a text in a tool message", talk(user("x"), called(toolCall("c1", `{}`)), `{"role":"tool","content":"done"}`), "wrong_part", "/messages/2/content/0"},
		{"no result in a tool message", talk(user("x"), called(toolCall("c1", `{}`)), `{"role":"tool","content":[]}`), "one_result", "/messages/2/content"},
		{"two results in a tool message", talk(user("x"), called(toolCall("c1", `{}`), toolCall("c2", `{}`)), `{"role":"tool","content":[`+resultPart("c1", `1`)+","+resultPart("c2", `1`)+`]}`), "one_result", "/messages/2/content"},
		{"a result of no call", talk(user("x"), called(toolCall("c1", `{}`)), answered("c1", `1`), answered("c2", `1`)), "orphan_result", "/messages/3/content/0/toolCallId"},
		{"a result ahead of its call", talk(user("x"), answered("c1", `1`), called(toolCall("c1", `{}`))), "orphan_result", "/messages/1/content/0/toolCallId"},
		{"a result behind other words", talk(user("x"), called(toolCall("c1", `{}`)), user("and?"), answered("c1", `1`)), "unanswered_call", "/messages/1/content/0"},
		{"two results", talk(user("x"), called(toolCall("c1", `{}`)), answered("c1", `1`), answered("c1", `1`)), "second_result", "/messages/3/content/0/toolCallId"},
		{"a result of another tool", talk(user("x"), called(toolCall("c1", `{}`)), `{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"core__rm","result":1}]}`), "result_of_other", "/messages/2/content/0/toolName"},
		{"an id twice", talk(user("x"), pair, pair), "second_call", "/messages/3/content/0/toolCallId"},
		{"an id twice at once", talk(user("x"), called(toolCall("c1", `{}`), toolCall("c1", `{}`)), answered("c1", `1`)), "second_call", "/messages/1/content/1/toolCallId"},
		{"no result at the end", talk(user("x"), called(toolCall("c1", `{}`))), "unanswered_call", "/messages/1/content/0"},
		{"no result for one", talk(user("x"), called(toolCall("c1", `{}`), toolCall("c2", `{}`)), answered("c1", `1`)), "unanswered_call", "/messages/1/content/1"},
		{"an id of 129 characters", talk(user("x"), called(toolCall(strings.Repeat("é", 129), `{}`)), answered(strings.Repeat("é", 129), `1`)), "invalid_field", "/messages/1/content/0/toolCallId"},
		{"no id", talk(user("x"), called(`{"type":"tool-call","toolName":"core__ls"}`), answered("", `1`)), "invalid_field", "/messages/1/content/0/toolCallId"},
		{"an id with a line end", talk(user("x"), called(toolCall("a\n", `{}`)), answered("a\n", `1`)), "invalid_field", "/messages/1/content/0/toolCallId"},
		{"no tool", talk(user("x"), called(`{"type":"tool-call","toolCallId":"c1"}`), answered("c1", `1`)), "invalid_field", "/messages/1/content/0/toolName"},
		{"arguments of 8193 bytes", talk(user("x"), called(toolCall("c1", sizedObject(8193))), answered("c1", `1`)), "too_large", "/messages/1/content/0/args"},
		{"arguments that are an array", talk(user("x"), called(toolCall("c1", `[]`)), answered("c1", `1`)), "type_mismatch", "/messages/1/content/0/args"},
		{"a result of 32769 bytes", talk(user("x"), called(toolCall("c1", `{}`)), answered("c1", sized(32769))), "too_large", "/messages/2/content/0/result"},
		{"a result without a result", talk(user("x"), called(toolCall("c1", `{}`)), `{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1"}]}`), "missing_required", "/messages/2/content/0/result"},
		{"129 calls", talk(user("x"), called(many...)), "too_many_calls", "/messages/1/content"},
		{"too much", talk(user("x")) + strings.Repeat(" ", conversation.MaxConversation), "too_large", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := conversation.Parse([]byte(tc.input))
			if tc.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				keeps(t, c)
				return
			}
			var wrong *conversation.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("got %v", err)
			}
			first := wrong.Problems[0]
			if first.Kind != tc.kind || first.Path != tc.path || first.Message == "" {
				t.Errorf("got %+v, want %s at %q", wrong.Problems, tc.kind, tc.path)
			}
			if strings.Contains(err.Error(), canary) || len(wrong.Problems) > 32 {
				t.Errorf("the error is %v", err)
			}
			if len(c.Messages) != 0 {
				t.Errorf("a refused conversation was returned: %+v", c)
			}
		})
	}
}

// TestUnansweredInOrder: calls without a result are reported in the order of the conversation.
func TestUnansweredInOrder(t *testing.T) {
	var first, second, want []string
	for i := range 12 {
		first, second = append(first, toolCall(fmt.Sprintf("z%d", 12-i), `{}`)), append(second, toolCall(fmt.Sprintf("a%d", i), `{}`))
	}
	_, err := conversation.Parse([]byte(talk(user("x"), called(first...), answered("z2", `1`), called(second...))))
	for _, message := range []int{1, 3} {
		for i := range 12 {
			if message == 3 || i != 10 {
				want = append(want, fmt.Sprintf("/messages/%d/content/%d", message, i))
			}
		}
	}
	var wrong *conversation.Error
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	var got []string
	for _, p := range wrong.Problems {
		got = append(got, p.Path)
	}
	if !slices.Equal(got, want) {
		t.Errorf("reported %s, want %s", got, want)
	}
}

// TestProblemsNameNoCredential: problems may contain names of members, in whole characters, but none that looks like a credential.
func TestProblemsNameNoCredential(t *testing.T) {
	secret, long := "sk-"+strings.Repeat("a", 24), strings.Repeat("é", 300)
	in := func(args string) string { return talk(user("x"), called(toolCall("c1", args)), answered("c1", `1`)) }
	for _, tc := range []struct{ name, input, path string }{
		{"an unknown field", `{"` + secret + `":1}`, ""},
		{"an unknown field of a message", talk(`{"role":"user","content":"x","` + secret + `":1}`), "/messages/0"},
		{"an unknown field of a part", talk(`{"role":"user","content":[{"type":"text","text":"x","` + secret + `":1}]}`), "/messages/0/content/0"},
		{"a key twice", in(`{"` + secret + `":1,"` + secret + `":1}`), "/messages/1/content/0/args"},
		{"a number", in(`{"a":{"` + secret + `":1e400}}`), "/messages/1/content/0/args/a"},
		{"no value", in(`{"` + secret + `":x}`), "/messages/1/content/0/args"},
		{"an unknown long field", `{"` + long + `":1}`, "/" + long[:198] + "…"},
		{"an unknown long field of a part", talk(`{"role":"user","content":[{"type":"text","text":"x","` + long + `":1}]}`), "/messages/0/content/0/" + long[:198] + "…"},
		{"a deep number", in(strings.Repeat(`{"`+long[:40]+`":`, 30) + `1e400` + strings.Repeat("}", 30)), ("/messages/1/content/0/args" + strings.Repeat("/"+long[:40], 30))[:199] + "…"},
	} {
		_, err := conversation.Parse([]byte(tc.input))
		var wrong *conversation.Error
		if !errors.As(err, &wrong) {
			t.Fatalf("%s: got %v", tc.name, err)
		}
		if said := fmt.Sprintf("%+v", wrong.Problems); strings.Contains(said, secret) || !utf8.ValidString(said) || len(said) > 1000 || wrong.Problems[0].Path != tc.path {
			t.Errorf("%s: the error is %s, want %q", tc.name, said, tc.path)
		}
	}
	// Check reports the values of a program in the same way.
	own := conversation.Conversation{Messages: []conversation.Message{{Role: conversation.Assistant, Content: []conversation.Part{
		{Type: conversation.ToolCall, ToolCallID: "c1", ToolName: "core__ls", Args: json.RawMessage(`{"a":{"` + secret + `":1e400}}`)},
	}}}}
	if err := own.Check(); err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "/messages/0/content/0/args/a") {
		t.Errorf("the error is %v", err)
	}
}

// keeps checks that an accepted conversation is the same after it is written and parsed again.
func keeps(t *testing.T, c conversation.Conversation) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := conversation.Parse(text)
	if err != nil {
		t.Fatalf("%s is not accepted again: %v", text, err)
	}
	if other, err := json.Marshal(again); err != nil || string(other) != string(text) {
		t.Errorf("%s became %s, %v", text, other, err)
	}
}

// TestCheckOfAValue: Check applies the rules of Parse to a conversation that a program made
// (VA-12).
func TestCheckOfAValue(t *testing.T) {
	infinite := fmt.Sprint(math.Inf(1))
	c := conversation.Conversation{Messages: []conversation.Message{
		{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "x"}}},
		{Role: conversation.Assistant, Content: []conversation.Part{{Type: conversation.ToolCall, ToolCallID: "c1", ToolName: "core__ls", Args: json.RawMessage(infinite)}}},
		{Role: conversation.Tool, Content: []conversation.Part{{Type: conversation.ToolResult, ToolCallID: "c1", Result: json.RawMessage(`1`)}}},
	}}
	var wrong *conversation.Error
	if err := c.Check(); !errors.As(err, &wrong) || wrong.Problems[0].Kind != "invalid_json" {
		t.Errorf("infinity: %v", err)
	}
	c.Messages[1].Content[0].Args = json.RawMessage(`{"a":1}`)
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

// FuzzParse: no input panics, errors contain no refused text, and an accepted conversation is the same when it is parsed again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(talk(user("x"), called(toolCall("c1", `{"a":[1,"x"]}`)), answered("c1", `{"ok":true}`))))
	f.Add([]byte(talk(`{"role":"system","content":[{"type":"text","text":"a"}]}`)))
	f.Add([]byte(`{"messages":[{"role":"tool","content":[{"type":"tool-result"}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := conversation.Parse(data)
		if err != nil {
			var wrong *conversation.Error
			if !errors.As(err, &wrong) || len(wrong.Problems) == 0 || len(wrong.Error()) > 1000 {
				t.Fatalf("%v", err)
			}
			return
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		keeps(t, c)
	})
}
