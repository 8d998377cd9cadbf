package tools_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
)

// stored is a reader of outputs in memory, each in one chunk.
type stored map[string]storedOutput

type storedOutput struct {
	runID, mediaType, data string
	expired, writing       bool
}

func (s stored) Info(_ context.Context, tenantID, ref string) (output.Info, error) {
	o, ok := s[tenantID+"/"+ref]
	switch {
	case !ok:
		return output.Info{}, output.ErrNotFound
	case o.expired:
		return output.Info{}, output.ErrExpired
	}
	info := output.Info{Ref: ref, TenantID: tenantID, RunID: o.runID, MediaType: o.mediaType, Bytes: int64(len(o.data)), Complete: !o.writing}
	if !strings.HasPrefix(o.mediaType, "image/") {
		info.Lines = int64(strings.Count(o.data, "\n"))
		if o.data != "" && !strings.HasSuffix(o.data, "\n") {
			info.Lines++
		}
	}
	return info, nil
}

func (s stored) Chunks(_ context.Context, tenantID, ref string, _ output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) {
		if o := s[tenantID+"/"+ref]; o.data != "" {
			yield(output.Chunk{Data: []byte(o.data)}, nil)
		}
	}
}

// runCached runs a tool in the run "run" of the tenant "acme". The redaction of the tool must leave the value as it is.
func runCached(t *testing.T, tool toolspec.Tool, outputs stored, args string) (map[string]any, error) {
	t.Helper()
	caps, err := toolspec.NewCapabilities(capability.OutputsKey.Provide(outputs))
	if err != nil {
		t.Fatal(err)
	}
	call := toolspec.Call{ToolID: tool.Definition().ID, Context: toolspec.Context{TenantID: "acme", RunID: "run", ActorID: "agent:one"}}
	value, err := tool.Run(t.Context(), json.RawMessage(args), call.WithCapabilities(caps))
	if err != nil {
		return nil, err
	}
	redacted, err := tool.Definition().Redaction.Output(value)
	if err != nil || !sameJSON(t, value, redacted) {
		t.Errorf("redaction takes something away: %v\n%s\n%s", err, value, redacted)
	}
	if len(redacted) > 10<<10 {
		t.Errorf("%s: the value has %d bytes", args, len(redacted))
	}
	var out map[string]any
	return out, json.Unmarshal(redacted, &out)
}

func TestOutputCache(t *testing.T) {
	outputs := stored{
		"acme/text":  {runID: "run", mediaType: "text/plain; charset=utf-8", data: "one\ntwo €\r\nthree"},
		"acme/json":  {runID: "run", mediaType: "application/json", data: `{"items":[{"name":"a\nb"}]}`},
		"acme/long":  {runID: "run", mediaType: "text/plain", data: strings.Repeat("ä", 1500) + "\nend\n"},
		"acme/png":   {runID: "run", mediaType: "image/png", data: "\x89PNG"},
		"acme/live":  {runID: "run", mediaType: "text/plain", data: "begun\n", writing: true},
		"acme/other": {runID: "another", mediaType: "text/plain", data: "secret"},
		"acme/old":   {runID: "run", mediaType: "text/plain", expired: true},
		"zeta/text":  {runID: "run", mediaType: "text/plain", data: "secret"},
	}
	for _, c := range []struct{ args, want string }{
		{`{"ref_id":"text"}`, `{"text":"     1\tone\n     2\ttwo €\n     3\tthree\n","startLine":1,"endLine":3,"mediaType":"text/plain; charset=utf-8","totalBytes":18,"totalLines":3}`},
		{`{"ref_id":"text","offset":2,"limit":1}`, `{"text":"     2\ttwo €\n","startLine":2,"endLine":2,"nextOffset":3,"mediaType":"text/plain; charset=utf-8","totalBytes":18,"totalLines":3}`},
		{`{"ref_id":"json","pointer":"/items/0/name"}`, `{"text":"     1\ta\n     2\tb\n","startLine":1,"endLine":2,"mediaType":"application/json","totalBytes":27}`},
		{`{"ref_id":"json","offset":3,"limit":1}`, `{"text":"     3\t    {\n","startLine":3,"endLine":3,"nextOffset":4,"mediaType":"application/json","totalBytes":27}`},
		{`{"ref_id":"text","byte_offset":4,"byte_limit":5}`, `{"text":"two ","nextByte":8,"mediaType":"text/plain; charset=utf-8","totalBytes":18,"totalLines":3}`},
		{`{"ref_id":"text","byte_offset":8}`, `{"text":"€\r\nthree","mediaType":"text/plain; charset=utf-8","totalBytes":18,"totalLines":3}`},
		{`{"ref_id":"png","byte_limit":3}`, `{"base64":"iVBO","nextByte":3,"mediaType":"image/png","totalBytes":4}`},
		{`{"ref_id":"live"}`, `{"text":"     1\tbegun\n","startLine":1,"endLine":1,"mediaType":"text/plain","totalBytes":6,"totalLines":1,"writing":true}`},
	} {
		got, err := runCached(t, tools.OutputCache(), outputs, c.args)
		encoded, broken := json.Marshal(got)
		if err != nil || broken != nil || !sameJSON(t, encoded, json.RawMessage(c.want)) {
			t.Errorf("%s:\n%s, %v, want\n%s", c.args, encoded, err, c.want)
		}
	}
	got, err := runCached(t, tools.OutputCache(), outputs, `{"ref_id":"long"}`)
	if err != nil || !strings.Contains(got["text"].(string), "ä... [line cut: go on with byte_offset 2000]\n     2\tend\n") {
		t.Errorf("a long line: %v, %v", got, err)
	}
	const unknown = "there is no such output in this run: use the outputRef or output_ref of a result of this run as it is written there"
	for _, c := range []struct{ args, want string }{
		{`{"ref_id":"none"}`, unknown},
		{`{"ref_id":"other"}`, unknown},
		{`{"ref_id":"other","byte_offset":0}`, unknown},
		{`{"ref_id":"old"}`, "the output has expired and was deleted: call the tool that made it again"},
		{`{"ref_id":"png"}`, "the output is not text: read it by bytes"},
		{`{"ref_id":"text","offset":4}`, "the offset is past the end of the output"},
		{`{"ref_id":"text","byte_offset":18}`, "the offset is past the end of the output"},
		{`{"ref_id":"text","pointer":"/a"}`, "the output is not a JSON value, so it has no JSON pointers: read it by lines or bytes"},
		{`{"ref_id":"json","pointer":"/a"}`, "the JSON pointer leads to no value of the output"},
		{`{"ref_id":"text","byte_limit":1,"offset":1}`, "byte_offset and byte_limit do not go with offset, limit or pointer"},
	} {
		_, err := runCached(t, tools.OutputCache(), outputs, c.args)
		wantSafe(t, c.args, err, c.want)
	}
}

// TestOutputCacheSlices: slices by bytes together are the output, of text and of other bytes, whatever the limit is.
func TestOutputCacheSlices(t *testing.T) {
	for name, data := range map[string]string{
		"text": strings.Repeat("a€😀\n", 3000), "bytes": strings.Repeat("\x00\xff\x80ab", 4000), "cut": "ok\xe2\x82", "controls": strings.Repeat("\x01", 9000),
	} {
		for _, limit := range []int{0, 1, 3, 5, 1000} {
			var all []byte
			for at, calls := 0.0, 0; ; calls++ {
				args := fmt.Sprintf(`{"ref_id":"x","byte_offset":%d`, int(at))
				if limit > 0 {
					args += fmt.Sprintf(`,"byte_limit":%d`, limit)
				}
				if limit > 0 && limit < 1000 && calls > 300 {
					break
				}
				out, err := runCached(t, tools.OutputCache(), stored{"acme/x": {runID: "run", mediaType: "application/octet-stream", data: data}}, args+"}")
				if err != nil {
					t.Fatal(name, err)
				}
				part, _ := out["base64"].(string)
				raw, err := base64.StdEncoding.DecodeString(part)
				if err != nil {
					t.Fatal(err)
				}
				if text, ok := out["text"].(string); ok {
					if raw = []byte(text); !utf8.ValidString(text) {
						t.Fatalf("%s: %q", name, text)
					}
				}
				all = append(all, raw...)
				next, more := out["nextByte"].(float64)
				if !more {
					break
				}
				if at = next; int(at) != len(all) {
					t.Fatalf("%s, limit %d: the next slice begins at %v after %d bytes", name, limit, at, len(all))
				}
			}
			if !bytes.HasPrefix([]byte(data), all) || limit == 0 && len(all) != len(data) {
				t.Errorf("%s, limit %d: %d bytes of %d, or others", name, limit, len(all), len(data))
			}
		}
	}
}

func TestOutputCacheGrep(t *testing.T) {
	outputs := stored{
		"acme/text":  {runID: "run", mediaType: "text/plain", data: "one\ntwo\nthree\nfour\nfive\nsix two\n"},
		"acme/json":  {runID: "run", mediaType: "application/json", data: `{"items":[{"name":"two"}],"two":2}`},
		"acme/other": {runID: "another", mediaType: "text/plain", data: "two"},
		"acme/many":  {runID: "run", mediaType: "text/plain", data: strings.Repeat("two\n", 200)},
	}
	for _, c := range []struct{ args, want string }{
		{`{"ref_id":"text","pattern":"two"}`, `{"text":"2:two\n6:six two\n","matches":2,"truncated":false}`},
		{`{"ref_id":"text","pattern":"two","before":1,"after":1}`, `{"text":"1-one\n2:two\n3-three\n--\n5-five\n6:six two\n","matches":2,"truncated":false}`},
		{`{"ref_id":"text","pattern":"two","max_matches":1}`, `{"text":"2:two\n","matches":1,"truncated":true,"nextOffset":6}`},
		{`{"ref_id":"text","pattern":"two","offset":3}`, `{"text":"6:six two\n","matches":1,"truncated":false}`},
		{`{"ref_id":"text","pattern":"^F.*|^t","regex":true}`, `{"text":"2:two\n3:three\n","matches":2,"truncated":false}`},
		{`{"ref_id":"text","pattern":"t.o"}`, `{"text":"","matches":0,"truncated":false}`},
		{`{"ref_id":"json","pattern":"two"}`, `{"text":"4:      \"name\": \"two\"\n7:  \"two\": 2\n","matches":2,"truncated":false}`},
		{`{"ref_id":"json","pattern":"two","pointer":"/items/0/name"}`, `{"text":"1:two\n","matches":1,"truncated":false}`},
	} {
		got, err := runCached(t, tools.OutputCacheGrep(), outputs, c.args)
		encoded, broken := json.Marshal(got)
		if err != nil || broken != nil || !sameJSON(t, encoded, json.RawMessage(c.want)) {
			t.Errorf("%s:\n%s, %v, want\n%s", c.args, encoded, err, c.want)
		}
	}
	if got, err := runCached(t, tools.OutputCacheGrep(), outputs, `{"ref_id":"many","pattern":"two"}`); err != nil || got["matches"] != 50.0 || got["nextOffset"] != 51.0 {
		t.Errorf("%v, %v", got, err)
	}
	const unknown = "there is no such output in this run: use the outputRef or output_ref of a result of this run as it is written there"
	for _, c := range []struct{ args, want string }{
		{`{"ref_id":"other","pattern":"two"}`, unknown},
		{`{"ref_id":"none","pattern":"two"}`, unknown},
		{`{"ref_id":"text","pattern":"(","regex":true}`, "the pattern is not a valid RE2 regular expression"},
		{`{"ref_id":"text","pattern":"a\nb"}`, "the pattern must be within one line"},
	} {
		_, err := runCached(t, tools.OutputCacheGrep(), outputs, c.args)
		wantSafe(t, c.args, err, c.want)
	}
}
