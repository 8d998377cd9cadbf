package wiretest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
)

// TestGeminiRequest sends the tools, the choice and the results through the
// client to a server, and compares what arrives there with what Pawl wrote.
func TestGeminiRequest(t *testing.T) {
	var codec gemini.Codec
	tools, err := codec.Tools(offered())
	if err != nil {
		t.Fatal(err)
	}
	answers, err := codec.Answers(answered())
	if err != nil {
		t.Fatal(err)
	}
	for _, choice := range []wire.Choice{{}, {Mode: wire.None}, {Mode: wire.Required}, {Mode: wire.Named, Name: "core__ls"}} {
		members, err := codec.Choice(choice)
		if err != nil {
			t.Fatal(err)
		}
		client, sent := geminiClient(t, archive{body: []byte(`{"candidates":[]}`)}, "application/json")
		_, err = client.Models.GenerateContent(t.Context(), "m", []*genai.Content{readAs[*genai.Content](t, "answers", answers[0])}, &genai.GenerateContentConfig{
			Tools:      readAs[[]*genai.Tool](t, "tools", tools),
			ToolConfig: readAs[*genai.ToolConfig](t, fmt.Sprintf("%+v", choice), members[0].Value),
		})
		if err != nil {
			t.Fatal(err)
		}
		var arrived map[string]json.RawMessage
		if err := json.Unmarshal(*sent, &arrived); err != nil {
			t.Fatal(err)
		}
		for name, ours := range map[string][]byte{
			"tools": tools, members[0].Name: members[0].Value, "contents": fmt.Appendf(nil, "[%s]", answers[0]),
		} {
			if !sameTree(t, arrived[name], ours) {
				t.Errorf("%s arrives as %s, Pawl wrote %s", name, arrived[name], ours)
			}
		}
	}
}

// TestGeminiResponse lets the client read every fixture from a server.
func TestGeminiResponse(t *testing.T) {
	compared := 0
	for _, a := range archives(t, "gemini") {
		t.Run(a.name, func(t *testing.T) {
			ours, err := a.decode(gemini.Codec{})
			if err != nil || ours.Finish == wire.FinishCut {
				t.Skip("nothing of it may run")
			}
			if why := geminiApart[a.name]; why != "" {
				t.Skip(why)
			}
			responses := geminiRead(t, a)
			var calls []call
			var text strings.Builder
			for _, r := range responses {
				for _, candidate := range r.Candidates {
					if candidate.Index != 0 || candidate.Content == nil {
						continue
					}
					for _, part := range candidate.Content.Parts {
						if !part.Thought {
							text.WriteString(part.Text)
						}
						if c := part.FunctionCall; c != nil {
							calls = append(calls, call{c.ID, c.Name, c.Args})
						}
					}
				}
			}
			if text.String() != ours.Text && a.name != "stream-surrogates" { // which the client cannot join
				t.Errorf("the text is %q, the client reads %q", ours.Text, text.String())
			}
			if agree(t, ours, calls) {
				compared++
				if a.name != "whole-server-parts" { // whose hologram is still to come
					// The client's type leaves out what is empty.
					message := strings.ReplaceAll(string(ours.Message), `,"args":{}`, ``)
					readAs[genai.Content](t, "message", []byte(message))
				}
			}
		})
	}
	if compared < 8 {
		t.Errorf("only %d fixtures had calls to compare", compared)
	}
}

// geminiApart are fixtures in which the client reads something else, and why.
var geminiApart = map[string]string{
	"whole-arg-kinds": "its arguments are an object, whatever other servers send",
	"whole-arg-bytes": "its numbers are float64",
	"stream-lines":    "it knows neither a byte order mark nor comments",
	"stream-object":   "it takes events alone",
	"stream-pieces":   "it leaves arguments in pieces to its user",
}

func geminiRead(t *testing.T, a archive) (all []*genai.GenerateContentResponse) {
	t.Helper()
	contents := genai.Text("hi")
	if !a.stream {
		client, _ := geminiClient(t, a, "application/json")
		r, err := client.Models.GenerateContent(t.Context(), "m", contents, nil)
		if err != nil {
			t.Fatal(err)
		}
		return append(all, r)
	}
	if strings.HasPrefix(strings.TrimSpace(string(a.body)), "[") {
		if err := json.Unmarshal(a.body, &all); err != nil { // the client asks for events
			t.Fatal(err)
		}
		return all
	}
	client, _ := geminiClient(t, a, "text/event-stream")
	for r, err := range client.Models.GenerateContentStream(t.Context(), "m", contents, nil) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func geminiClient(t *testing.T, a archive, contentType string) (client *genai.Client, sent *[]byte) {
	t.Helper()
	url, sent := a.serve(t, contentType)
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, sent
}
