package wire_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

// TestUsage: no token of the request counts twice, and a count that is none counts as 0 and harms nothing else.
func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name, response string
		codec          wire.Codec
		want           wire.Usage
	}{
		{
			"openai", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":40,"prompt_tokens_details":{"cached_tokens":60},"completion_tokens_details":{"reasoning_tokens":30}}}`,
			openai.Codec{}, wire.Usage{Reported: true, Input: 40, CacheRead: 60, Output: 40, Reasoning: 30},
		},
		{
			"responses", `{"object":"response","status":"completed","output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":60},"output_tokens":40,"output_tokens_details":{"reasoning_tokens":30}}}`,
			responses.Codec{}, wire.Usage{Reported: true, Input: 40, CacheRead: 60, Output: 40, Reasoning: 30},
		},
		{
			"anthropic", `{"type":"message","role":"assistant","content":[],"stop_reason":"end_turn","usage":{"input_tokens":40,"cache_read_input_tokens":60,"cache_creation_input_tokens":7,"output_tokens":40}}`,
			anthropic.Codec{}, wire.Usage{Reported: true, Input: 40, CacheRead: 60, CacheWrite: 7, Output: 40},
		},
		{
			"gemini", `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":90,"toolUsePromptTokenCount":10,"cachedContentTokenCount":60,"candidatesTokenCount":10,"thoughtsTokenCount":30}}`,
			gemini.Codec{}, wire.Usage{Reported: true, Input: 40, CacheRead: 60, Output: 40, Reasoning: 30},
		},
		{
			"ollama", `{"message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop","prompt_eval_count":40,"eval_count":12}`,
			ollama.Codec{}, wire.Usage{Reported: true, Input: 40, Output: 12},
		},
		{
			"no usage", `{"message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop"}`,
			ollama.Codec{}, wire.Usage{},
		},
		{
			"a null", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":null}`,
			openai.Codec{}, wire.Usage{},
		},
		{
			"a text", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":"much"}`,
			openai.Codec{}, wire.Usage{},
		},
		{
			"more from the cache than there is", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}}`,
			openai.Codec{}, wire.Usage{Reported: true, CacheRead: 9},
		},
		{
			"numbers that are none", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":-5,"completion_tokens":1e400,"prompt_tokens_details":[],"completion_tokens_details":{"reasoning_tokens":"3"}}}`,
			openai.Codec{}, wire.Usage{Reported: true},
		},
		{
			"a number beyond all bounds", `{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9223372036854775807}}`,
			openai.Codec{}, wire.Usage{Reported: true, Input: 1 << 40},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := tc.codec.Decode([]byte(tc.response))
			if err != nil || r.Usage != tc.want {
				t.Errorf("got %+v, %v, want %+v", r.Usage, err, tc.want)
			}
		})
	}
}
