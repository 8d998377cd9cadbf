package turn_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

// TestPlanRefusesFaults: a call that its codec marks as one that must not run does not start, whatever stands for its arguments: nothing, for
// then {} would be assumed, or what hydration would overlook. Turn.Hydrate says the same.
func TestPlanRefusesFaults(t *testing.T) {
	t.Parallel()
	const named = `"name":"test__write",`
	chat := func(call string) string {
		return `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[` + call + `]}}]}`
	}
	output := func(item string) string {
		return `{"id":"r","object":"response","status":"completed","output":[` + item + `]}`
	}
	block := func(block, reason string) string {
		return `{"id":"m","type":"message","role":"assistant","model":"x","stop_reason":"` + reason + `","stop_sequence":null,"content":[` + block + `]}`
	}
	deltas := func(start, deltas string) string {
		end := strings.Index(anthropicStream, "event: content_block_start")
		return anthropicStream[:end] + "event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t",` + named + start + "}}\n\n" +
			deltas + "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" + anthropicEnd
	}
	delta := func(delta string) string {
		return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":" + delta + "}\n\n"
	}
	lines := func(call string) string {
		return `{"model":"m","done":true,"done_reason":"stop","message":{"role":"assistant","content":"","tool_calls":[` + call + `]}}`
	}
	parts := func(call, reason string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":` + call + `}]},"finishReason":"` + reason + `"}]}`
	}
	for _, tc := range []struct {
		name     string
		codec    wire.Codec
		response string
		want     toolspec.Code
	}{
		{"a custom tool, without input", openai.Codec{}, chat(`{"id":"c","type":"custom","custom":{` + named + `"input":""}}`), toolspec.CodeInvalidJSON},
		{"a custom tool, in single quotes", openai.Codec{}, chat(`{"id":"c","type":"custom","custom":{` + named + `"input":"{'text':'a'}"}}`), toolspec.CodeInvalidJSON},
		{"a custom tool, with an object", openai.Codec{}, chat(`{"id":"c","type":"custom","custom":{` + named + `"input":"{}"}}`), toolspec.CodeInvalidJSON},
		{"a namespace, without arguments", responses.Codec{}, output(`{"type":"function_call","call_id":"c",` + named + `"namespace":"crm","arguments":""}`), toolspec.CodeInvalidJSON},
		{"a namespace, in single quotes", responses.Codec{}, output(`{"type":"function_call","call_id":"c",` + named + `"namespace":"crm","arguments":"{'text':'a'}"}`), toolspec.CodeInvalidJSON},
		{"two inputs", anthropic.Codec{}, block(`{"type":"tool_use","id":"t",`+named+`"input":{"text":"a"},"input":{"text":"b"}}`, "tool_use"), toolspec.CodeInvalidJSON},
		{"an input in the start and another behind it", anthropic.Codec{}, deltas(`"input":{"text":"a"}`, delta(`{"type":"input_json_delta","partial_json":"{\"text\":\"b\"}"}`)), toolspec.CodeInvalidJSON},
		{"a delta that is not known, and nothing else", anthropic.Codec{}, deltas(`"input":{}`, delta(`{"type":"input_patch_delta","patch":"x"}`)), toolspec.CodeInvalidJSON},
		{"a delta that is not known, in single quotes", anthropic.Codec{},
			deltas(`"input":{}`, delta(`{"type":"input_json_delta","partial_json":"{'text':'a'}"}`)+delta(`{"type":"input_patch_delta","patch":"x"}`)), toolspec.CodeInvalidJSON},
		{"at a limit", anthropic.Codec{}, block(`{"type":"tool_use","id":"t",`+named+`"input":{}}`, "max_tokens"), toolspec.CodeIncomplete},
		{"two sets of arguments", ollama.Codec{}, lines(`{"function":{` + named + `"arguments":{"text":"a"},"arguments":{"text":"b"}}}`), toolspec.CodeInvalidJSON},
		{"two ids", ollama.Codec{}, lines(`{"id":"a","id":"b","function":{` + named + `"arguments":{}}}`), toolspec.CodeInvalidJSON},
		{"malformed, without arguments", gemini.Codec{}, parts(`{"name":"test__write"}`, "MALFORMED_FUNCTION_CALL"), toolspec.CodeInvalidJSON},
		{"unexpected, in single quotes", gemini.Codec{}, parts(`{`+named+`"args":"{'text':'a'}"}`, "UNEXPECTED_TOOL_CALL"), toolspec.CodeInvalidJSON},
		{"two sets of args", gemini.Codec{}, parts(`{`+named+`"args":{"text":"a"},"args":{"text":"b"}}`, "STOP"), toolspec.CodeInvalidJSON},
		{"in pieces", gemini.Codec{}, parts(`{`+named+`"partialArgs":[{"jsonPath":"$.text","stringValue":"a"}]}`, "STOP"), toolspec.CodeIncomplete},
	} {
		t.Run(tc.codec.Format()+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			tu := newTurn("k")
			tu.Codec, tu.Offer.Format, tu.Streamed = tc.codec, tc.codec.Format(), strings.HasPrefix(tc.response, "event:")
			plan, err := tu.Plan(strings.NewReader(tc.response))
			if err != nil || len(plan.Calls) != 1 || plan.Calls[0].Call.Fault != tc.want || plan.Response.Finish != wire.FinishCalls {
				t.Fatalf("this tests nothing: %+v, %v", plan, err)
			}
			if p := plan.Calls[0]; p.Refused == nil || p.Refused.ErrorCode != tc.want || p.Invocation.ToolID != "" {
				t.Errorf("it would start, as %+v, want %s", p.Invocation, tc.want)
			}
			results, err := tu.Hydrate(strings.NewReader(tc.response), []toolspec.Spec{offeredTool("test__write", searching)})
			if err != nil || len(results) != 1 || results[0].Success || results[0].Code() != tc.want {
				t.Errorf("hydration says %+v, %v, want %s", results, err, tc.want)
			}
		})
	}
}
