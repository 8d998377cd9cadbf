package outputs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestKinds: the result and the record have the kind and the size of a value, and say whether it is whole. A model reads the rest of a
// shortened value with core__tool_output_cache (RF-01, RF-09, OC-03, OC-05).
func TestKinds(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	define := func(id string) toolspec.Definition {
		return toolspec.Definition{
			ID: id, Description: "a tool of a test", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{""}},
		}
	}
	file := define("test__file")
	file.Truncate = []toolspec.Truncation{{As: toolspec.FileContents}}
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d of the file, é\n", i+1)
	}
	image := make([]byte, 90<<10)
	for i := range image {
		image[i] = byte(i * i >> 3)
	}
	picture := toolspec.Part{Type: toolspec.PartImage, MediaType: "image/png", Data: image, Name: "a.png"}
	w.Work(worker.Tools(
		toolspec.Define(define("test__text"), func(context.Context, e2etest.In, toolspec.Call) (string, error) { return "a\nb", nil }),
		toolspec.Define(define("test__list"), func(context.Context, e2etest.In, toolspec.Call) ([]int, error) { return []int{1, 2}, nil }),
		toolspec.Define(file, func(context.Context, e2etest.In, toolspec.Call) (string, error) { return lines.String(), nil }),
		toolspec.Define(define("test__draw"), func(context.Context, e2etest.In, toolspec.Call) (toolspec.Parts, error) {
			return toolspec.Parts{{Type: toolspec.PartText, Text: "look"}, picture}, nil
		}),
		toolspec.Define(define("test__bad"), func(context.Context, e2etest.In, toolspec.Call) (toolspec.Parts, error) {
			return toolspec.Parts{{Type: "video", Text: "look"}}, nil
		}),
	))
	run := func(id string) toolspec.Result {
		inv := e2etest.Invocation(id, "test__"+id, `{}`)
		r := w.Invoke(inv)
		if recorded := w.Record(inv).Result; recorded == nil || !e2etest.SameResult(*recorded, r) {
			t.Errorf("%s: the record has %+v, the call ended with %+v", id, recorded, r)
		}
		w.Replay(inv.Identity().WorkflowID())
		return r
	}
	if r := run("text"); !r.OK || r.Info() != (toolspec.OutputInfo{Kind: toolspec.KindText, Bytes: 6}) || string(r.Value) != `"a\nb"` {
		t.Errorf("a text ended with %+v", r)
	}
	if r := run("list"); !r.OK || r.Info() != (toolspec.OutputInfo{Bytes: 5}) || string(r.Value) != `[1,2]` {
		t.Errorf("a list ended with %+v", r)
	}
	e2etest.WantCode(t, run("bad"), toolspec.CodeOutputValidation)

	r := run("file")
	var text string
	if !r.Truncated || r.Kind != toolspec.KindText || json.Unmarshal(r.Value, &text) != nil || len(text) > 6<<10 || !strings.HasPrefix(text, "line 1 of the file, é\n") {
		t.Fatalf("a file ended with %+v", r)
	}
	args := fmt.Sprintf(`{"ref_id":%q,"offset":1000}`, r.OutputRef)
	var rest struct{ Text string }
	if r := w.Invoke(e2etest.Invocation("rest", "core__tool_output_cache", args)); !r.OK || json.Unmarshal(r.Value, &rest) != nil || rest.Text != "  1000\tline 1000 of the file, é\n" {
		t.Errorf("the rest of the file is %+v", r)
	}

	r = run("draw")
	var short, whole toolspec.Parts
	if !r.Truncated || r.Kind != toolspec.KindParts || json.Unmarshal(r.Value, &short) != nil || len(short) != 3 || short[1].Bytes != int64(len(image)) || short[1].Data != nil {
		t.Fatalf("parts ended with %.400v", r)
	}
	value, err := w.Pawl.Output(t.Context(), "acme", r.OutputRef)
	if err != nil || json.Unmarshal(value, &whole) != nil || len(whole) != 2 || string(whole[1].Data) != string(image) || int64(len(value)) != r.Bytes {
		t.Errorf("the stored parts are %d bytes of %d, %v", len(value), r.Bytes, err)
	}
	if printed := w.PawlCLI("show draw")[0]; !strings.Contains(printed, fmt.Sprintf("value       parts, %d bytes, truncated", r.Bytes)) {
		t.Errorf("pawl show prints %s", printed)
	}
}
