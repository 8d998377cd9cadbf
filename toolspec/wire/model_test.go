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

// TestModel: a whole response and a stream name the model that has answered. A name that is none harms nothing else.
func TestModel(t *testing.T) {
	t.Parallel()
	const done = `{"object":"response","status":"completed","output":[],"model":"m-2"}`
	for _, tc := range []struct {
		name                string
		codec               wire.Codec
		whole, stream, want string
	}{
		{
			"openai", openai.Codec{}, `{"model":"m-2","choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}`,
			"data: {\"model\":\"m-2\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"model\":\"m-3\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n", "m-2",
		},
		{"responses", responses.Codec{}, done, "data: {\"type\":\"response.completed\",\"response\":" + done + "}\n\n", "m-2"},
		{
			"anthropic", anthropic.Codec{}, `{"type":"message","model":"m-2","role":"assistant","content":[],"stop_reason":"end_turn"}`,
			"data: {\"type\":\"message_start\",\"message\":{\"model\":\"m-2\",\"content\":[]}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n", "m-2",
		},
		{
			"gemini", gemini.Codec{}, `{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"modelVersion":"m-2"}`,
			"data: {\"candidates\":[{\"content\":{\"parts\":[]},\"finishReason\":\"STOP\"}],\"modelVersion\":\"m-2\"}\n\n", "m-2",
		},
		{"ollama", ollama.Codec{}, `{"model":"m-2","message":{"content":"a"},"done":true,"done_reason":"stop"}`, `{"model":"m-2","message":{"content":"a"},"done":true,"done_reason":"stop"}` + "\n", "m-2"},
		{"a number", ollama.Codec{}, `{"model":2,"message":{"content":"a"},"done":true,"done_reason":"stop"}`, `{"model":2,"message":{"content":"a"},"done":true,"done_reason":"stop"}` + "\n", ""},
		{
			"two names", ollama.Codec{}, `{"model":"a","model":"b","message":{"content":"a"},"done":true,"done_reason":"stop"}`,
			`{"model":"a","model":"b","message":{"content":"a"},"done":true,"done_reason":"stop"}` + "\n", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r, err := tc.codec.Decode([]byte(tc.whole))
			if err != nil || r.Model != tc.want || r.Finish != wire.FinishStop {
				t.Errorf("whole: %q, %s, %v", r.Model, r.Finish, err)
			}
			s := tc.codec.Stream()
			if _, err := s.Write([]byte(tc.stream)); err != nil {
				t.Fatal(err)
			}
			if r, err = s.End(); err != nil || r.Model != tc.want || r.Finish != wire.FinishStop {
				t.Errorf("streamed: %q, %s, %v", r.Model, r.Finish, err)
			}
		})
	}
}
