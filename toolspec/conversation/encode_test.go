package conversation_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/anthropic"
	"github.com/pawl-run/pawl/toolspec/wire/gemini"
	"github.com/pawl-run/pawl/toolspec/wire/ollama"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
	"github.com/pawl-run/pawl/toolspec/wire/responses"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func codecs() []wire.Codec {
	return []wire.Codec{openai.Codec{}, responses.Codec{}, anthropic.Codec{}, ollama.Codec{}, gemini.Codec{}}
}

// earlier returns a conversation with earlier calls and results: two calls in one message, answered in another order, one of them
// malformed, and a call of an unknown tool with a stored output.
func earlier() string {
	return talk(
		`{"role":"system","content":"be brief"}`, user("list <a> & b"),
		called(`{"type":"text","text":"I look."}`, toolCall("c1", `{"path":"a"}`), toolCall("c.2", `"{\"path\":"`)),
		`{"role":"tool","content":[{"type":"tool-result","toolCallId":"c.2","isError":true,"result":{"ok":false,"errorCode":"invalid_json"}}]}`,
		answered("c1", `["x.txt"]`),
		`{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c3","toolName":"read file"}]}`,
		`{"role":"tool","content":[{"type":"tool-result","toolCallId":"c3","result":"begins","outputRef":"o.1"}]}`,
		`{"role":"assistant","content":[{"type":"text","text":"done"},{"type":"text","text":"."}]}`,
		`{"role":"user","content":[{"type":"text","text":"and"},{"type":"text","text":"now?"}]}`,
	)
}

// TestEncode (VA-17, VA-18): earlier calls and results are encoded in each format, with matching ids and a result after each call, and
// nothing can run.
func TestEncode(t *testing.T) {
	c, err := conversation.Parse([]byte(earlier()))
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range codecs() {
		t.Run(codec.Format(), func(t *testing.T) {
			request, err := conversation.Encode(c, codec, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(map[string]any{"messages": request.Messages, "member": request.SystemMember, "system": request.System}, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", codec.Format()+".json")
			if *update {
				if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil || strings.TrimSpace(string(want)) != string(got) {
				t.Errorf("%v; the request is\n%s", err, got)
			}
		})
	}
}

// TestEncodeRefuses: a conversation that breaks a rule is not encoded, and an unknown format is
// refused.
func TestEncodeRefuses(t *testing.T) {
	orphan := conversation.Conversation{Messages: []conversation.Message{{Role: conversation.Tool, Content: []conversation.Part{
		{Type: conversation.ToolResult, ToolCallID: "c1", Result: json.RawMessage(`1`)},
	}}}}
	if r, err := conversation.Encode(orphan, openai.Codec{}, nil); err == nil {
		t.Errorf("a result without a call is encoded: %s", r.Messages)
	}
	c, err := conversation.Parse([]byte(talk(user("x"))))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := conversation.Encode(c, unknown{}, nil); err == nil {
		t.Errorf("an unknown format is encoded: %s", r.Messages)
	}
}

type unknown struct{ openai.Codec }

func (unknown) Format() string { return "morse" }
