package modelserver

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// members adds the paths of all members of a value, such as response.usage.input_tokens.
func members(path string, value any, into map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if name == "arguments" || name == "args" { // those of a tool
				into[path+"."+name] = true
				continue
			}
			into[path+"."+name] = true
			members(path+"."+name, inner, into)
		}
	case []any:
		for _, inner := range v {
			members(path+"[]", inner, into)
		}
	}
}

// shapes adds the members of each event of a stream, by the name and the type of the event.
func shapes(t *testing.T, stream string, into map[string]bool) {
	t.Helper()
	name := ""
	for line := range strings.Lines(stream) {
		line = strings.TrimSpace(line)
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			name = event
			continue
		}
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			into[line] = true
			continue
		}
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		kind, _ := event["type"].(string)
		members(name+"/"+kind, event, into)
	}
}

// TestShapes: the server sends no event and no member that is not in the recorded streams of the codecs.
func TestShapes(t *testing.T) {
	const incomplete = "response.incomplete/response.incomplete.response.output[]"
	recorded := map[string]string{
		"openai": "call text text-and-call interleaved length error", "responses": "call text interleaved incomplete error",
		"anthropic": "call text thinking length error", "gemini": "call calls text length malformed error", "ollama": "call calls text length no-ids error",
	}
	// more are members that the recorded streams do not have: counts and the text of an incomplete response, which
	// toolspec/wire has in whole responses, and the reasoning of compatible servers.
	more := map[string][]string{
		"openai": {
			"/.choices[].delta.reasoning_content", "/.usage.prompt_tokens_details", "/.usage.prompt_tokens_details.cached_tokens",
			"/.usage.completion_tokens_details", "/.usage.completion_tokens_details.reasoning_tokens",
		},
		"responses": {
			incomplete + ".role", incomplete + ".content", incomplete + ".content[].type", incomplete + ".content[].text", incomplete + ".content[].annotations",
		},
		"gemini": {"/.usageMetadata.cachedContentTokenCount", "/.usageMetadata.thoughtsTokenCount"},
	}
	each(t, func(t *testing.T, codec wire.Codec) {
		known := map[string]bool{}
		for _, name := range more[codec.Format()] {
			known[name] = true
		}
		for _, name := range strings.Fields(recorded[codec.Format()]) {
			a, err := txtar.ParseFile(filepath.Join("..", "..", "toolspec", "wire", codec.Format(), "testdata", "stream-"+name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			shapes(t, string(a.Files[0].Data), known)
		}
		f := formats[codec.Format()]
		body := `{"stream_options":{"include_usage":true},"include":["reasoning.encrypted_content"]}`
		sent := map[string]bool{}
		for _, reply := range []Reply{
			{Text: "Hello"}, {Text: "Hello", Length: true},
			{Reasoning: "Hm", Text: "I look.", Calls: withIDs([]Call{{Name: "a", Args: "{}"}, {Name: "b", Args: `{"x":1}`}}, 0)},
			{Calls: []Call{{Name: "a", Args: `{"x":`}}},
		} {
			for _, frame := range f.frames(reply, Request{Model: "m", Body: []byte(body)}) {
				shapes(t, frame, sent)
			}
		}
		shapes(t, f.late(500, "boom"), sent)
		for member := range sent {
			if !known[member] {
				t.Errorf("%s is in no recorded stream", member)
			}
		}
	})
}
