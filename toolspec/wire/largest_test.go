package wire_test

import (
	"fmt"
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
			if err != nil || r.Finish != wire.FinishCut || len(r.Calls) > 0 {
				t.Errorf("finish %s, %d calls, %v", r.Finish, len(r.Calls), err)
			}
			took := time.Since(begun)
			if t.Logf("%d bytes in %v", len(body), took); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}
