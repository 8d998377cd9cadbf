package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
)

func TestAnthropicRequest(t *testing.T) {
	var codec anthropic.Codec
	tools := append(offered(), wire.Tool{
		Name: "strict", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false,"$defs":{"a":{"type":"null"}}}`), Strict: true,
	})
	encoded, err := codec.Tools(tools)
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range readAs[[]sdk.ToolUnionParam](t, "tools", encoded) {
		if tool.OfTool == nil || tool.OfTool.Name != tools[i].Name || tool.OfTool.Strict.Value != tools[i].Strict {
			t.Errorf("tool %d is %+v", i, tool.OfTool)
		}
	}
	for _, choice := range []wire.Choice{{}, {Mode: wire.None}, {Mode: wire.Required, Serial: true}, {Mode: wire.Named, Name: "core__ls", Serial: true}} {
		members, err := codec.Choice(choice)
		if err != nil {
			t.Fatal(err)
		}
		readAs[sdk.ToolChoiceUnionParam](t, fmt.Sprintf("%+v", choice), members[0].Value)
	}
	messages, err := codec.Answers(answered())
	if err != nil {
		t.Fatal(err)
	}
	m := readAs[sdk.MessageParam](t, "answers", messages[0])
	for i, block := range m.Content {
		if block.OfToolResult == nil || block.OfToolResult.ToolUseID != answered()[i].CallID || block.OfToolResult.IsError.Value != answered()[i].IsError {
			t.Errorf("answer %d is %+v", i, block)
		}
	}
	last := m.Content[2].OfToolResult.Content
	if len(last) != 4 || last[1].OfText == nil || last[2].OfImage == nil || last[3].OfDocument == nil {
		t.Errorf("the parts are %+v", last)
	}
}

// TestAnthropicResponse lets the client read every fixture from a server, streams
// with its own accumulator.
func TestAnthropicResponse(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "anthropic") {
		t.Run(a.name, func(t *testing.T) {
			ours, err := a.decode(anthropic.Codec{})
			if err != nil || ours.Finish == wire.FinishCut {
				t.Skip("nothing of it may run")
			}
			if why := anthropicApart[a.name]; why != "" {
				t.Skip(why)
			}
			theirs := anthropicRead(t, a)
			if string(theirs.StopReason) != ours.Native {
				t.Errorf("the reason is %s, the client reads %s", ours.Native, theirs.StopReason)
			}
			var calls []call
			for _, block := range theirs.Content {
				if block.Type == "tool_use" {
					calls = append(calls, call{block.ID, block.Name, tree(t, block.Input)})
				}
			}
			if agree(t, ours, calls) {
				compared++
			}
			anthropicRepeats(t, ours, theirs)
		})
	}
	if compared < 15 {
		t.Errorf("only %d fixtures had calls to compare", compared)
	}
}

func anthropicRead(t *testing.T, a archive) sdk.Message {
	t.Helper()
	contentType := "application/json"
	if a.stream {
		contentType = "text/event-stream"
	}
	url, _ := a.serve(t, contentType)
	client := sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := sdk.MessageNewParams{MaxTokens: 1, Model: "m", Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hi"))}}
	if !a.stream {
		m, err := client.Messages.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return *m
	}
	var m sdk.Message
	stream := client.Messages.NewStreaming(t.Context(), params)
	for stream.Next() {
		if stream.Current().Type == "message_stop" {
			_ = m.Accumulate(stream.Current())
			break
		}
		if err := m.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// anthropicApart are fixtures in which the client reads something else, and why.
var anthropicApart = map[string]string{
	"stream-compaction":     "it knows the block in its beta types alone",
	"stream-empty-text":     "it repeats a text that says nothing",
	"stream-lines":          "it needs the names of the events",
	"stream-piece-kind":     "it takes a piece that is no text for one",
	"stream-repeated-start": "a start that comes twice is an error to it",
	"stream-reused-index":   "an index that comes twice is an error to it",
	"stream-surrogates":     "it cannot join a pair that was cut",
	"stream-two-inputs":     "it joins the two, and gives an empty object for what is no JSON",
	"whole-empty-text":      "it repeats a text that says nothing",
	"whole-input-bytes":     "numbers are float64 in this comparison",
	"whole-input-kinds":     "it repeats an input that the format refuses",
	"whole-made-up-name":    "it repeats a name that a request may not have",
	"whole-nameless":        "it repeats an empty name",
	"whole-no-id":           "it repeats an empty id",
	"whole-repeated-member": "it takes the first of two names",
}

// anthropicRepeats compares the message that the next request repeats with the
// one that the client makes of what it read.
func anthropicRepeats(t *testing.T, ours wire.Response, theirs sdk.Message) {
	t.Helper()
	repeated, err := json.Marshal(theirs.ToParam())
	if err != nil {
		t.Fatal(err)
	}
	// The client leaves out citations that are null.
	message := strings.ReplaceAll(string(ours.Message), `,"citations":null`, ``)
	if !sameTree(t, []byte(message), repeated) {
		t.Errorf("the message is\n%s\nthe client repeats\n%s", message, repeated)
	}
}
