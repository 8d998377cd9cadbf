package wiretest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/ollama/ollama/api"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
)

// TestOllamaRequest sends the tools and the results through the client to a
// server, and compares what arrives there with what Pawl wrote (WF-13).
func TestOllamaRequest(t *testing.T) {
	var codec ollama.Codec
	tools, err := codec.Tools(offered())
	if err != nil {
		t.Fatal(err)
	}
	answers, err := codec.Answers(answered())
	if err != nil {
		t.Fatal(err)
	}
	request := &api.ChatRequest{Model: "m", Tools: readAs[api.Tools](t, "tools", tools)}
	for i, answer := range answers {
		m := readAs[api.Message](t, "answer", answer)
		if m.Role != "tool" || m.ToolName != answered()[i].Name || m.ToolCallID != answered()[i].CallID {
			t.Errorf("answer %d is %+v", i, m)
		}
		request.Messages = append(request.Messages, m)
	}
	address, sent := archive{body: []byte(`{"done":true}` + "\n")}.serve(t, "application/x-ndjson")
	if err := ollamaClient(t, address).Chat(t.Context(), request, func(api.ChatResponse) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var arrived struct {
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(*sent, &arrived); err != nil {
		t.Fatal(err)
	}
	if !sameTree(t, arrived.Tools, tools) {
		t.Errorf("the tools arrive as %s, Pawl wrote %s", arrived.Tools, tools)
	}
	for i := range answers {
		if !sameTree(t, arrived.Messages[i], answers[i]) {
			t.Errorf("answer %d arrives as %s, Pawl wrote %s", i, arrived.Messages[i], answers[i])
		}
	}
}

// TestOllamaResponse lets the client read every fixture from a server.
func TestOllamaResponse(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "ollama") {
		t.Run(a.name, func(t *testing.T) {
			ours, err := a.decode(ollama.Codec{})
			if err != nil || ours.Finish == wire.FinishCut {
				t.Skip("nothing of it may run")
			}
			if why := ollamaApart[a.name]; why != "" {
				t.Skip(why)
			}
			address, _ := a.serve(t, "application/x-ndjson")
			var calls []call
			var text, reason string
			err = ollamaClient(t, address).Chat(t.Context(), &api.ChatRequest{Model: "m"}, func(r api.ChatResponse) error {
				for _, c := range r.Message.ToolCalls {
					args, err := json.Marshal(c.Function.Arguments)
					if err != nil {
						return err
					}
					calls = append(calls, call{c.ID, c.Function.Name, tree(t, args)})
				}
				text += r.Message.Content
				reason = r.DoneReason
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if text != ours.Text && a.name != "stream-surrogates" { // which the client cannot join
				t.Errorf("the text is %q, the client reads %q", ours.Text, text)
			}
			if reason != ours.Native {
				t.Errorf("the reason is %s, the client reads %s", ours.Native, reason)
			}
			if agree(t, ours, calls) {
				compared++
				readAs[api.Message](t, "message", ours.Message)
			}
		})
	}
	if compared < 8 {
		t.Errorf("only %d fixtures had calls to compare", compared)
	}
}

// ollamaApart are fixtures in which the client reads something else, and why.
var ollamaApart = map[string]string{
	"whole-argument-kinds":  "its arguments are an object, whatever other servers send",
	"whole-argument-bytes":  "its numbers are float64",
	"whole-empty-arguments": "it repeats arguments where there were none",
	"whole-nameless":        "it takes a call to be an object",
	"stream-lines":          "a blank line is an error to it",
}

func ollamaClient(t *testing.T, address string) *api.Client {
	t.Helper()
	base, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return api.NewClient(base, http.DefaultClient)
}
