package wiretest

import (
	"encoding/json"
	"fmt"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/pawl-run/pawl/toolspec/wire"
	ours "github.com/pawl-run/pawl/toolspec/wire/responses"
)

func TestResponsesRequest(t *testing.T) {
	var codec ours.Codec
	tools := append(offered(), wire.Tool{
		Name: "strict", Schema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false,"$defs":{"a":{"type":"null"}}}`), Strict: true,
	})
	encoded, err := codec.Tools(tools)
	if err != nil {
		t.Fatal(err)
	}
	for i, tool := range readAs[[]responses.ToolUnionParam](t, "tools", encoded) {
		if tool.OfFunction == nil || tool.OfFunction.Name != tools[i].Name || !tool.OfFunction.Strict.Valid() || tool.OfFunction.Strict.Value != tools[i].Strict {
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
			named := readAs[responses.ToolChoiceFunctionParam](t, "a named tool", members[0].Value)
			if named.Name != choice.Name {
				t.Errorf("tool_choice is %+v", named)
			}
			continue
		}
		request := readAs[responses.ResponseNewParams](t, fmt.Sprintf("%+v", choice), requestOf(t, members))
		if got := request.ParallelToolCalls.Valid() && !request.ParallelToolCalls.Value; got != choice.Serial {
			t.Errorf("%+v: parallel_tool_calls is %v", choice, request.ParallelToolCalls)
		}
	}
	items, err := codec.Answers(answered())
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		read := readAs[responses.ResponseInputItemUnionParam](t, "answer", item)
		if read.OfFunctionCallOutput == nil || read.OfFunctionCallOutput.CallID.Value != answered()[i].CallID {
			t.Errorf("answer %d is %+v", i, read)
		}
	}
}

// responsesApart are fixtures that the client reads in another way, and why.
var responsesApart = map[string]string{
	"stream-empty-output": "the client believes the last event, and its output is empty",
	"stream-late":         "a response of one member is an error to the client",
	"stream-more-behind":  "an event behind the last is an error to the client",
	"stream-not-done":     "a response of one member is an error to the client",
	"stream-orphan":       "a response without members is an error to the client",

	"stream-not-done-namespace": "a response of one member is an error to the client",
}

// TestResponsesResponse lets the client read every fixture from a server; streams
// with its own accumulator.
func TestResponsesResponse(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "responses") {
		t.Run(a.name, func(t *testing.T) {
			read, err := a.decode(ours.Codec{})
			if err != nil || read.Finish == wire.FinishCut {
				t.Skip("nothing of it may run")
			}
			repeatsItems(t, read)
			if why := responsesApart[a.name]; why != "" {
				t.Skip(why)
			}
			theirs := responsesRead(t, a)
			var calls []call
			for _, item := range theirs.Output {
				if item.Type == "function_call" {
					c := item.AsFunctionCall()
					var args any
					if json.Valid([]byte(c.Arguments)) {
						args = tree(t, []byte(c.Arguments))
					}
					calls = append(calls, call{c.CallID, c.Name, args})
				}
			}
			if agree(t, read, calls) {
				compared++
			}
			if theirs.OutputText() != "" && theirs.OutputText() != read.Text {
				t.Errorf("the text is %q, the client reads %q", read.Text, theirs.OutputText())
			}
		})
	}
	if compared < 5 {
		t.Errorf("the arguments of only %d fixtures were compared", compared)
	}
}

// repeatsItems lets the client read the items that are repeated.
func repeatsItems(t *testing.T, read wire.Response) {
	t.Helper()
	calls := 0
	var items []json.RawMessage
	if err := json.Unmarshal(read.Message, &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		var kind struct{ Type string }
		if err := json.Unmarshal(item, &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Type {
		case "function_call":
			readAs[responses.ResponseFunctionToolCallParam](t, "function_call", item)
			calls++
		case "message":
			readAs[responses.ResponseOutputMessageParam](t, "message", item)
		default:
			readAs[responses.ResponseInputItemUnionParam](t, kind.Type, item)
		}
	}
	if calls != len(read.Calls) {
		t.Errorf("%d calls, the client reads %d in %s", len(read.Calls), calls, read.Message)
	}
}

func responsesRead(t *testing.T, a archive) responses.Response {
	t.Helper()
	contentType := "application/json"
	if a.stream {
		contentType = "text/event-stream"
	}
	url, _ := a.serve(t, contentType)
	client := sdk.NewClient(option.WithBaseURL(url), option.WithAPIKey("none"), option.WithMaxRetries(0))
	params := responses.ResponseNewParams{Model: "m"}
	if !a.stream {
		whole, err := client.Responses.New(t.Context(), params)
		if err != nil {
			t.Fatal(err)
		}
		return *whole
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	var acc responses.ResponseAccumulator
	for stream.Next() {
		var event responses.ResponsesServerEventUnion
		if err := json.Unmarshal([]byte(stream.Current().RawJSON()), &event); err != nil {
			t.Fatal(err)
		}
		if err := acc.AddEvent(event); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	last, err := acc.ReconstructedResponse()
	if err != nil {
		t.Fatal(err)
	}
	return *last
}
