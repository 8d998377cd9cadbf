package wiretest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	ours "github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	chat "github.com/pawl-run/pawl/toolspec/wire/openai"
	items "github.com/pawl-run/pawl/toolspec/wire/responses"
)

// earlier has every kind of message: texts, calls whole and malformed, results good and bad.
const earlier = `{"messages":[
	{"role":"system","content":"be brief"},
	{"role":"user","content":[{"type":"text","text":"list"},{"type":"text","text":"all"}]},
	{"role":"assistant","content":[{"type":"text","text":"I look."},
		{"type":"tool-call","toolCallId":"c1","toolName":"core__ls","args":{"path":"a"}},
		{"type":"tool-call","toolCallId":"c.2","toolName":"read file","args":"{\"path\":"}]},
	{"role":"tool","content":[{"type":"tool-result","toolCallId":"c.2","isError":true,"result":{"ok":false}}]},
	{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","result":["x.txt"],"outputRef":"o.1"}]},
	{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c3","toolName":"core__ls"}]},
	{"role":"tool","content":[{"type":"tool-result","toolCallId":"c3","result":"text"}]},
	{"role":"assistant","content":"done"},
	{"role":"user","content":"thanks"}]}`

// TestConversations: each message of a conversation is read by the provider's own type, with no member left over.
func TestConversations(t *testing.T) {
	talk, err := conversation.Parse([]byte(earlier))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		codec wire.Codec
		read  func(t *testing.T, message []byte)
		// system is its type where it stands beside the messages.
		system func(t *testing.T, system []byte)
	}{
		{chat.Codec{}, func(t *testing.T, m []byte) {
			// The client leaves out what servers write themselves, and some want.
			m = bytes.Replace(m, []byte(`"content":null,`), nil, 1)
			readAs[openai.ChatCompletionMessageParamUnion](t, "message", m)
		}, nil},
		{items.Codec{}, readItem, nil},
		{ours.Codec{}, func(t *testing.T, m []byte) { readAs[anthropic.MessageParam](t, "message", m) }, func(t *testing.T, s []byte) {
			readAs[[]anthropic.TextBlockParam](t, "system", s)
		}},
		{ollama.Codec{}, func(t *testing.T, m []byte) { readAs[api.Message](t, "message", m) }, nil},
		{gemini.Codec{}, func(t *testing.T, m []byte) { readAs[genai.Content](t, "message", m) }, func(t *testing.T, s []byte) { readAs[genai.Content](t, "system", s) }},
	} {
		t.Run(tc.codec.Format(), func(t *testing.T) {
			request, err := conversation.Encode(talk, tc.codec, nil)
			if err != nil || len(request.Messages) < 7 {
				t.Fatalf("%d messages, %v", len(request.Messages), err)
			}
			for _, m := range request.Messages {
				tc.read(t, m)
			}
			if (tc.system != nil) != (request.SystemMember != "") {
				t.Fatalf("the system stands in %q", request.SystemMember)
			}
			if tc.system != nil {
				tc.system(t, request.System)
			}
		})
	}
}

// readItem reads an item by the type that its kind has: the client's own union reads a plain message as an output of the model.
func readItem(t *testing.T, item []byte) {
	var kind struct{ Type string }
	if err := json.Unmarshal(item, &kind); err != nil {
		t.Fatal(err)
	}
	switch kind.Type {
	case "message":
		readAs[responses.EasyInputMessageParam](t, kind.Type, item)
	case "function_call":
		readAs[responses.ResponseFunctionToolCallParam](t, kind.Type, item)
	default:
		readAs[responses.ResponseInputItemUnionParam](t, kind.Type, item)
	}
}
