package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestReasoning: what a model says of its reasoning is told from its answer, in each format.
func TestReasoning(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		// anthropic
		`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"},{"type":"text","text":"b"},{"type":"thinking","thinking":"c"},{"type":"tool_use","input":{"thinking":"d"}}]}`: "a\nc",
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"a"},{"type":"text","text":"b"}]}`:                                                                                            "",
		// openai, and servers that speak it
		`{"role":"assistant","content":"b","tool_calls":[],"reasoning_content":"a"}`: "a",
		`{"role":"assistant","content":"b","reasoning_content":" \n"}`:               "",
		// ollama
		`{"role":"assistant","content":"b","thinking":"a"}`: "a",
		// gemini
		`{"role":"model","parts":[{"text":"a","thought":true,"thoughtSignature":"s"},{"text":"b"},{"functionCall":{"name":"f"}}]}`: "a",
		// responses
		`[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}],"content":[{"type":"reasoning_text","text":"c"}],"encrypted_content":"e"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}]`: "a\nc",
		`[{"type":"reasoning","summary":[],"encrypted_content":"e"}]`: "",
		`[]`: "", `null`: "", `"a"`: "", `{`: "", ``: "",
	} {
		if got := wire.Reasoning(json.RawMessage(message)); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}
