package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

func TestOpenAIRequest(t *testing.T) {
	var codec openai.Codec
	tools := append(offered(), wire.Tool{
		Name: "strict", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false,"$defs":{"a":{"type":"null"}}}`), Strict: true,
	})
	encoded, err := codec.Tools(tools)
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range readAs[[]sdk.ChatCompletionToolUnionParam](t, "tools", encoded) {
		if tool.OfFunction == nil || tool.OfFunction.Function.Name != tools[i].Name || tool.OfFunction.Function.Strict.Value != tools[i].Strict {
			t.Errorf("tool %d is %+v", i, tool)
		}
	}
	for _, choice := range choices() {
		members, err := codec.Choice(choice)
		if err != nil {
			t.Fatal(err)
		}
		// The client's own union cannot tell a named tool from a list of allowed ones.
		if choice.Mode == wire.Named {
			named := readAs[sdk.ChatCompletionNamedToolChoiceParam](t, "a named tool", members[0].Value)
			if named.Function.Name != choice.Name {
				t.Errorf("tool_choice is %+v", named)
			}
			continue
		}
		request := readAs[sdk.ChatCompletionNewParams](t, fmt.Sprintf("%+v", choice), requestOf(t, members))
		if got := request.ParallelToolCalls.Valid() && !request.ParallelToolCalls.Value; got != choice.Serial {
			t.Errorf("%+v: parallel_tool_calls is %v", choice, request.ParallelToolCalls)
		}
	}
	messages, err := codec.Answers(answered())
	if err != nil {
		t.Fatal(err)
	}
	for i, message := range messages {
		m := readAs[sdk.ChatCompletionMessageParamUnion](t, "answer", message)
		if m.OfTool == nil || m.OfTool.ToolCallID != answered()[i].CallID {
			t.Errorf("answer %d is %+v", i, m)
		}
	}
}

func choices() []wire.Choice {
	return []wire.Choice{
		{}, {Mode: wire.Auto, Serial: true}, {Mode: wire.None}, {Mode: wire.Required, Serial: true}, {Mode: wire.Named, Name: "core__ls"},
	}
}

// requestOf is a request with the given members.
func requestOf(t *testing.T, members []wire.Member) []byte {
	t.Helper()
	request := map[string]json.RawMessage{}
	for _, m := range members {
		request[m.Name] = m.Value
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// TestReadAsSeesMore: a member that the client does not know fails the comparison,
// or the tests above would prove nothing.
func TestReadAsSeesMore(t *testing.T) {
	var tool sdk.ChatCompletionToolUnionParam
	with := []byte(`{"type":"function","function":{"name":"a","parameters":{},"sctrict":true}}`)
	if err := json.Unmarshal(with, &tool); err != nil {
		t.Fatal(err)
	}
	back, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	if sameTree(t, with, back) {
		t.Errorf("%s is read and written by the client without a loss", with)
	}
}

// openaiApart are fixtures of other servers that the client of OpenAI reads in
// another way, and why.
var openaiApart = map[string]string{
	"stream-one-index":            "the client joins the calls of one index",
	"stream-no-index":             "the client takes a missing index for 0",
	"stream-no-index-together":    "the client takes a missing index for 0",
	"stream-no-index-no-id":       "the client takes a missing index for 0",
	"stream-no-address":           "the client takes a missing index for 0",
	"stream-id-again":             "the client joins names that come again",
	"stream-id-changes":           "the client takes the last id",
	"stream-id-changes-with-name": "the client joins names that come again",
	"stream-order":                "the client fills the gaps between indexes with empty calls",
	"stream-surrogates":           "the client replaces each half of a pair that was cut",
	"stream-no-blank-line":        "the client drops an event without its blank line",
}

// TestOpenAIResponse lets the client read every fixture from a server, streams
// with its own accumulator.
func TestOpenAIResponse(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "openai") {
		t.Run(a.name, func(t *testing.T) {
			ours, err := a.decode(openai.Codec{})
			if err != nil || ours.Finish == wire.FinishCut {
				t.Skip("nothing of it may run")
			}
			if why := openaiApart[a.name]; why != "" {
				t.Skip(why)
			}
			theirs := openaiRead(t, a)
			if theirs.FinishReason != ours.Native {
				t.Errorf("the reason is %s, the client reads %s", ours.Native, theirs.FinishReason)
			}
			var calls []call
			for _, c := range theirs.Message.ToolCalls {
				var args any
				if json.Valid([]byte(c.Function.Arguments)) {
					args = tree(t, []byte(c.Function.Arguments))
				}
				calls = append(calls, call{c.ID, c.Function.Name, args})
			}
			if agree(t, ours, calls) {
				compared++
			}
			if text := theirs.Message.Content + theirs.Message.Refusal; !strings.HasPrefix(a.name, "whole-others") && text != ours.Text {
				t.Errorf("the text is %q, the client reads %q", ours.Text, text)
			}
			readMessage(t, ours)
		})
	}
	if compared < 8 {
		t.Errorf("the arguments of only %d fixtures were compared", compared)
	}
}

// readMessage lets the client read the message that is repeated. What other
// servers add is no member of its types.
func readMessage(t *testing.T, ours wire.Response) {
	t.Helper()
	if text := string(ours.Message); strings.Contains(text, "reasoning_content") || strings.Contains(text, "extra_content") {
		return
	}
	// The client leaves content that is null out.
	message := strings.Replace(string(ours.Message), `"content":null,`, "", 1)
	m := readAs[sdk.ChatCompletionMessageParamUnion](t, "message", []byte(message))
	if m.OfAssistant == nil || len(m.OfAssistant.ToolCalls) != len(ours.Calls) {
		t.Errorf("the message is %+v", m)
	}
}

func openaiRead(t *testing.T, a archive) sdk.ChatCompletionChoice {
	t.Helper()
	contentType := "application/json"
	if a.stream {
		contentType = "text/event-stream"
	}
	url, _ := a.serve(t, contentType)
	client := sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hi")}}
	if !a.stream {
		whole, err := client.Chat.Completions.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range whole.Choices {
			if c.Index == 0 {
				return c
			}
		}
		t.Fatal("the client reads no choice")
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc sdk.ChatCompletionAccumulator
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatalf("the client refuses %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	if len(acc.Choices) == 0 {
		t.Fatal("the client reads no choice")
	}
	return acc.Choices[0]
}
