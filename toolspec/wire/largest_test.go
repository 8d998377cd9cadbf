package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// TestLargestStreams: a stream of MaxResponse bytes, however it is made, costs
// time in proportion to its size. A decoder that is quadratic in something takes
// minutes or hours here, and so fails on any machine.
func TestLargestStreams(t *testing.T) {
	t.Parallel()
	distinct := make([]string, 1_000_000)
	for i := range distinct {
		distinct[i] = fmt.Sprintf(`,"m%d":1`, i)
	}
	members := strings.Join(distinct, "")
	anthropicText := "data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\"}}\n\n"
	for _, c := range []struct{ format, what, start, piece string }{
		{"anthropic", "blocks", "", "data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"x\"}}\n\ndata:{\"type\":\"content_block_stop\",\"index\":0}\n\n"},
		{"anthropic", "citations", anthropicText, "data:{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{}}}\n\n"},
		{"anthropic", "texts", anthropicText, "data:{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\\n\"}}\n\n"},
		{
			"anthropic", "members",
			"data:{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"compaction\"}}\n\ndata:{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"compaction_delta\"" + members + "}}\n\n", "",
		},
		{"anthropic", "lines", "", "data:\n"},
		{"anthropic", "depth", "data:", "["},
		{"openai", "pieces", "", "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"}\"}}]}}]}\n\n"},
		{"openai", "names", "", "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"1\",\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"}\"}},{\"id\":\"2\",\"index\":0,\"function\":{\"name\":\"a\",\"arguments\":\"}\"}}]}}]}\n\n"},
		{"openai", "lost", "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"a\"}},{\"id\":\"2\",\"function\":{\"name\":\"b\"}}]}}]}\n\n", "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}]}}]}\n\n"},
		{"openai", "texts", "", "data:{\"choices\":[{\"delta\":{\"content\":[{\"text\":\"\\n\"}]}}]}\n\n"},
		{"openai", "choices", "", "data:{\"choices\":[{\"delta\":{},\"index\":1},{\"delta\":{},\"index\":2}]}\n\n"},
		{"openai", "members", "data:{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0" + members + "}]}}]}\n\n", ""},
		{"responses", "deltas", "data:{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\"}}\n\n", "data:{\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"}\"}\n\n"},
		{"responses", "begun again", "", "data:{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\"}}\n\n"},
		{"ollama", "texts", "", "{\"message\":{\"content\":\"\\n\"}}\n"},
		{"ollama", "images", "", "{\"message\":{\"images\":[1,2]}}\n"},
		{"ollama", "members", `{"message":{"content":""` + members + "}}\n", ""},
		{"ollama", "blanks", "", " \n"},
		{"gemini", "parts", "", "data:{\"candidates\":[{\"content\":{\"parts\":[{\"x\":1}]}}]}\n\n"},
		{"gemini", "thoughts", "", "data:{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"},{\"text\":\"b\",\"thought\":true}]}}]}\n\n"},
		{"gemini", "elements", "[", "{},"},
		{"gemini", "depth", "[", "["},
		{"gemini", "members", `[{"candidates":[{"content":{"parts":[{"text":""` + members + "}]}}]}]", ""},
	} {
		t.Run(c.format+" "+c.what, func(t *testing.T) {
			body := c.start
			if c.piece != "" {
				body += strings.Repeat(c.piece, (wire.MaxResponse-len(c.start))/len(c.piece))
			}
			var s wire.Stream
			for _, f := range formats {
				if f.codec.Format() == c.format {
					s = f.codec.Stream()
				}
			}
			begun := time.Now()
			for rest := body; len(rest) > 0; {
				n := min(len(rest), 32<<10)
				if _, err := s.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			r, err := s.End()
			runs := slices.ContainsFunc(r.Calls, func(c wire.Call) bool { return c.Fault == "" })
			if err != nil || r.Finish != wire.FinishCut || runs {
				t.Errorf("finish %s, %d calls, %v", r.Finish, len(r.Calls), err)
			}
			took := time.Since(begun)
			if t.Logf("%d bytes in %v", len(body), took); took > 5*time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}
