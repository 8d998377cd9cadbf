package turn

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func sameSet(a, b []string) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }

// TestSanitizedAnswers: an answer says what was changed, in the frame of a value and in the JSON
// of a failure. Its size is bounded after the change.
func TestSanitizedAnswers(t *testing.T) {
	t.Parallel()
	answer := func(r toolspec.Result) (string, []string) {
		a, err := formAnswer(t.Context(), nil, "acme", Outcome{Result: r}, new(maxAllMedia))
		if err != nil {
			t.Fatal(err)
		}
		text, err := a.Text(true)
		if err != nil || len(a.Content) > MaxAnswer {
			t.Fatalf("%v, %d bytes", err, len(a.Content))
		}
		return text, a.Sanitized
	}
	if text, _ := answer(toolspec.Result{OK: true, Value: json.RawMessage(`"a\u001b[0m"`)}); text != `{"content":"a","sanitized":["ansi_escapes"]}` {
		t.Errorf("a value reads %s", text)
	}
	r := toolspec.Failure(toolspec.CodeAborted, "<|im_start|>", nil)
	if text, kinds := answer(r); kinds != nil || text != `Error executing tool: {"ok":false,"errorCode":"aborted","message":"<\\|im_start|>","sanitized":["role_markers"]}` {
		t.Errorf("a failure reads %s, %v", text, kinds)
	}
	r = toolspec.Result{OK: true, Value: json.RawMessage(`"` + strings.Repeat("\x7f", MaxAnswer-2) + `"`),
		InvocationID: toolspec.Identity{TenantID: "acme", RunID: "r", ToolCallID: "c"}.InvocationID()}
	if text, _ := answer(r); !strings.Contains(text, `"output_ref"`) || !strings.Contains(text, `"truncated":true`) || !strings.Contains(text, `"bytes":32768`) {
		t.Errorf("a value that has grown reads %.200s…", text[len(text)-200:])
	}
}
