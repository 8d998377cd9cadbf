package toolspec_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestContentIsNotPrinted: what a line of a log has of a result or an invocation shows no output, no argument and no proof.
func TestContentIsNotPrinted(t *testing.T) {
	t.Parallel()
	const canary = `{"text":"canary"}`
	result := toolspec.Result{InvocationID: "inv-1", OK: true, Value: json.RawMessage(canary)}
	inv := toolspec.Invocation{
		ToolID: "core__ls", ToolCallID: "inv-1", Args: json.RawMessage(canary), SubmitterProof: "canary",
		Provider: &toolspec.Provider{Name: "p", ToolCall: json.RawMessage(canary)},
	}
	type holder struct {
		R   toolspec.Result
		Inv toolspec.Invocation
	}
	for name, value := range map[string]any{"result": result, "pointer to a result": &result, "invocation": inv, "pointer to an invocation": &inv, "holder": holder{result, inv}} {
		texts := map[string]string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			texts[verb] = fmt.Sprintf(verb, value)
		}
		var lines bytes.Buffer
		slog.New(slog.NewTextHandler(&lines, nil)).Info("x", "value", value)
		if name != "holder" { // slog writes a struct as encoding/json does
			slog.New(slog.NewJSONHandler(&lines, nil)).Info("x", "value", value)
		}
		texts["log"] = lines.String()
		for how, text := range texts {
			if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%d", []byte("canary"))[1:]) || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
				t.Errorf("%s with %s shows its content: %s", name, how, text)
			}
			if !strings.Contains(text, "inv-1") || !strings.Contains(text, "17 bytes of ") {
				t.Errorf("%s with %s says too little: %s", name, how, text)
			}
		}
	}
	if text := result.String(); !strings.HasPrefix(text, `{"toolCallId":"","invocationId":"inv-1"`) || !strings.HasSuffix(text, "} and 17 bytes of value") {
		t.Errorf("a result is written as %s", text)
	}
	if result.Value == nil || inv.Args == nil || inv.Provider == nil {
		t.Error("printing changes what is printed")
	}
}
