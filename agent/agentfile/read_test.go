package agentfile_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/agentfile"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec/wire"
)

const whole = `name: reviewer
version: "1"
description: Reviews a change.
model:
  format: anthropic
  name: claude-sonnet-4-5
  connection: anthropic
  url: https://API.anthropic.com:443/v1/
  maxTokens: 4096
  strict: true
  members: {temperature: 0.70, thinking: {type: disabled}}
fallback: {format: openai, name: gpt-5-mini, url: "http://localhost:8080"}
summary: {format: ollama, name: "qwen3:8b", url: "http://localhost:11434/api"}
instructions: |
  Review the change.
  Answer shortly.
tools: [core__read_file, core__grep]
agents: [research, search-2]
choice: required
output:
  type: object
  properties: {verdict: {type: string}, because: {type: string}}
limits:
  rounds: 20
  calls: 100
  time: 2d
  tokens: 200000
  cost: 2.50
  context: 1MB
  offered: 12
  atOnce: 4
graph: {name: review, version: "7"}
`

const small = "name: a\nversion: v1.0\nmodel: {format: ollama, name: \"qwen3:8b\", url: http://localhost:11434/api}\n"

func TestRead(t *testing.T) {
	t.Parallel()
	got, err := agentfile.Read("a.yaml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	want := agent.Document{
		Name: "reviewer", Version: "1", Description: "Reviews a change.", Agents: []string{"research", "search-2"},
		Model: agent.Model{
			Format: "anthropic", Name: "claude-sonnet-4-5", Connection: "anthropic", URL: "https://api.anthropic.com/v1", MaxTokens: 4096, Strict: true,
			Members: map[string]json.RawMessage{"temperature": json.RawMessage("0.7"), "thinking": json.RawMessage(`{"type":"disabled"}`)},
		},
		Fallback:     &agent.Model{Format: "openai", Name: "gpt-5-mini", URL: "http://localhost:8080", MaxTokens: agent.DefaultMaxTokens},
		Summary:      &agent.Model{Format: "ollama", Name: "qwen3:8b", URL: "http://localhost:11434/api", MaxTokens: agent.DefaultMaxTokens},
		Instructions: "Review the change.\nAnswer shortly.\n",
		Tools:        []string{"core__read_file", "core__grep"},
		Choice:       agent.Choice{Mode: wire.Required},
		Output:       json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"},"because":{"type":"string"}}}`),
		Limits:       agent.Limits{Rounds: 20, Calls: 100, Seconds: 172800, Tokens: 200_000, MicroUSD: 2_500_000, ContextBytes: 1 << 20, Offered: 12, AtOnce: 4},
		Graph:        &agent.Graph{Name: "review", Version: "7"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got, err = agentfile.Read("a.yaml", []byte(small)); err != nil {
		t.Fatal(err)
	}
	if want := (agent.Limits{Rounds: 50, Calls: 200, Seconds: 3600, ContextBytes: 400 << 10, AtOnce: 1}); got.Limits != want || got.Model.MaxTokens != 8192 {
		t.Errorf("defaults: %+v, %d", got.Limits, got.Model.MaxTokens)
	}
}

// TestReadAccepts: documents that a stricter reader could refuse.
func TestReadAccepts(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"JSON":                 `{"name":"a","version":"1","model":{"format":"gemini","name":"gemini-2.5-flash","connection":"g"},"limits":{"cost":0.000001,"time":"1s"}}`,
		"a tool as the choice": small2("openai") + "tools: [core__ls]\nchoice: core__ls\n",
		"auto":                 small2("openai") + "choice: auto\n",
		"members of tokens":    small2("responses") + "  members: {reasoning: {effort: low}, prompt_cache_key: k, top_p: 1}\n",
		"stream options":       small2("openai") + "  members: {stream_options: {include_usage: false}, logit_bias: {\"50256\": -100}}\n",
		"inside of options":    small2("ollama") + "  members: {options: {num_ctx: 8192}}\n",
		"a marker":             small2("openai") + "instructions: Never write <|im_start|>.\n",
		"a field of an answer": small2("openai") + "output: {type: object, properties: {password: {type: string}}}\n",
		"the bounds": small2("openai") + "limits: {rounds: 20000, calls: 100000, time: 30d, tokens: 10000000000, cost: 1000000, context: 4MB, atOnce: 16}\n" +
			"graph: {name: g, version: \"1\"}\n",
		"the least": small2("openai") + "limits: {rounds: 1, calls: 1, time: 1s, tokens: 1, cost: 0.000001, context: 16384, atOnce: 1}\n",
	} {
		if _, err := agentfile.Read("a.yaml", []byte(more)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// small2 is a document whose model is last, so that a test can go on with its keys.
func small2(format string) string {
	return "name: a\nversion: v1\nmodel:\n  format: " + format + "\n  name: m\n  connection: c\n"
}

func TestFaults(t *testing.T) {
	t.Parallel()
	const key = "sk-abcdefghijklmnopqrstuvwxyz012345"
	for _, c := range []struct{ doc, want string }{
		{"", "the document is empty"},
		{"[]", "must be a mapping"},
		{"name: a", "version: is missing"},
		{small + "intructions: x", "4:1: intructions: is not known here; did you mean instructions?"},
		{strings.Replace(small, "name: a", "name: A", 1), "1:7: name: must have 1 to 64 of a-z"},
		{strings.Replace(small, "v1.0", "1.0", 1), "2:10: version: must be text: quote it"},
		{strings.Replace(small, "v1.0", "a/b", 1), "version: must have 1 to 64 of letters"},
		{strings.Replace(small, "ollama", "olama", 1), "model.format: must be openai, responses, anthropic, ollama or gemini"},
		{strings.Replace(small, "qwen3:8b", "../x", 1), "model: no request can be made: the name of a model"},
		{"name: a\nversion: b\nmodel: {format: openai, name: m}", "3:8: model.url: is missing: without a connection"},
		{small2("openai") + "  url: ftp://h", "model.url: the URL must begin with http"},
		{small2("openai") + "  url: https://u:p@h/v1", "model.url: the URL must not hold a user name"},
		{small2("openai") + "  url: https://h/v1?key=1", "model.url: must have no query"},
		{small2("openai") + "  url: https://h/v1#x", "model.url: must have no query"},
		{small2("openai") + "  url: https://h/a/../v1", "model.url: must have a plain path"},
		{small2("openai") + "  url: https://h/a%2fv1", "model.url: must have a plain path"},
		{small2("openai") + "  maxTokens: 0", "model.maxTokens: must be a whole number from 1 to 1000000"},
		{small2("openai") + "  members: {model: x}", `model: no request can be made: the member "model" is written already`},
		{small2("openai") + "  members: {tools: []}\ntools: [core__ls]", `the member "tools" is written already`},
		{small2("gemini") + "  members: {generationConfig: 1}", `the member "generationConfig" is no object`},
		{small2("openai") + "  members: {x: 9007199254740993}", "model.members.x: is a number that not every program reads the same"},
		{small2("ollama") + "tools: [core__ls]\nchoice: required", "model: no request can be made"},
		{small2("openai") + "fallback: {format: ollama, name: m, connection: c}\ntools: [core__ls]\nchoice: core__ls", "fallback: no request can be made"},
		{small + "tools: [ls]", "4:9: tools[0]: a tool id must be namespaced"},
		{small + "tools: [core__ls, core__ls]", "4:19: tools[1]: is there twice"},
		{small + "tools: [\"core__*\"]", "tools[0]: a tool id may hold only"},
		{small + "choice: core__ls", "choice: must be auto, none, required, or the id of a tool in tools"},
		{small + "choice: required", "choice: is required, and tools is empty"},
		{small + "output: true", "output: must be a JSON Schema"},
		{small + "output: {type: objekt}", "output: "},
		{small + "instructions: \"a\\u200bb\"", "instructions: has characters that are not shown (invisible_characters)"},
		{small + "instructions: \"a\\x1b[1mb\"", "instructions: has characters that are not shown"},
		{small + "instructions: ' '", "instructions: must have 1 to 131072 bytes"},
		{small + "instructions: " + strings.Repeat("x", agent.MaxInstructions+1), "instructions: must have 1 to 131072 bytes"},
		{small + "limits: {rounds: 20001}", "limits.rounds: must be a whole number from 1 to 20000"},
		{small + "limits: {calls: 100001}", "limits.calls: must be"},
		{small + "limits: {tokens: 10000000001}", "limits.tokens: must be"},
		{small + "limits: {atOnce: 17}", "limits.atOnce: must be"},
		{small + "limits: {time: 31d}", "limits.time: must be a duration"},
		{small + "limits: {time: 1500ms}", "limits.time: must be a duration"},
		{small + "limits: {time: 30}", "limits.time: must be text"},
		{small + "limits: {time: -1h}", "limits.time: must be a duration"},
		{small + "limits: {cost: 0}", "limits.cost: must be US dollars"},
		{small + "limits: {cost: 0.0000001}", "limits.cost: must be US dollars"},
		{small + "limits: {cost: 1e3}", "limits.cost: must be US dollars"},
		{small + "limits: {cost: \"2.50\"}", "limits.cost: must be US dollars"},
		{small + "limits: {cost: 1000000.01}", "limits.cost: must be US dollars"},
		{small + "limits: {context: 16383}", "limits.context: must be a size from 16KB to 4MB"},
		{small + "limits: {context: 5MB}", "limits.context: must be a size"},
		{small + "limits: {context: 400kb}", "limits.context: must be a size"},
		{small + "limits: {seconds: 5}", "limits.seconds: is not known here"},
		{small + "graph: {name: g}", "graph.version: is missing: a graph needs a name and a version"},
		{small + "graph: {version: \"1\"}", "graph.name: is missing"},
		{small + "instructions: Use " + key, "4:15: instructions: has the shape of a credential"},
		{small + "tools: [x__y, " + key + "]", "tools[1]: has the shape of a credential"},
		{small + key + ": x", "4:1: has the shape of a credential"},
		{small2("openai") + "  members: {metadata: {note: " + key + "}}", "model.members.metadata.note: has the shape of a credential"},
		{small2("openai") + "  members: {extra: [{api_key: x}]}", "model.members.extra[0].api_key: has the name of a credential"},
		{small2("openai") + "fallback: {format: openai, name: m, connection: c, members: {authorization: x}}", "fallback.members.authorization: has the name"},
		{small2("openai") + "summary: {format: openai, name: m, connection: c, members: {apiKey: x}}", "summary.members.apiKey: has the name"},
		{small2(key), "model.format: has the shape of a credential"},
		{small + "instructions: &a x", "anchors and aliases are not allowed"},
	} {
		d, err := agentfile.Read("a.yaml", []byte(c.doc))
		var faults strictyaml.Errors
		if !errors.As(err, &faults) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.300s\ngot  %v\nwant %s", c.doc, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), key) {
			t.Errorf("a fault repeats the credential: %v", err)
		}
		if !reflect.DeepEqual(d, agent.Document{}) {
			t.Errorf("a faulty document is returned: %+v", d)
		}
	}
}

func TestTooManyTools(t *testing.T) {
	t.Parallel()
	if _, err := agentfile.Read("a.yaml", []byte(small+"tools: ["+strings.Repeat("core__ls, ", agent.MaxTools+1)+"]")); err == nil || !strings.Contains(err.Error(), "more than 1024 entries") {
		t.Error(err)
	}
}

// TestWrite: what is written reads as the same document.
func TestWrite(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		whole, small, small2("openai") + "tools: [core__ls]\nchoice: core__ls\nlimits: {time: 90s, cost: 0.000001, context: 20000}\n",
		small2("openai") + "instructions: \"true\"\n", small2("openai") + "instructions: \"  a\\n\\n b \\n\"\n",
		small2("openai") + "  members: {a: null, b: [], c: {}, d: \"1\", e: [1, \"\\n\"]}\n",
	} {
		roundTrip(t, []byte(doc), true)
	}
	text, err := agentfile.Write(read(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"time: 2d\n", "cost: 2.50\n", "context: 1MB\n", "instructions: |\n  Review", "    verdict:\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

func read(t *testing.T, doc string) agent.Document {
	t.Helper()
	d, err := agentfile.Read("a.yaml", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func roundTrip(t *testing.T, doc []byte, valid bool) {
	t.Helper()
	d, err := agentfile.Read("a.yaml", doc)
	if err != nil {
		var faults strictyaml.Errors
		if valid || !errors.As(err, &faults) || faults[0].Line < 1 {
			t.Fatalf("%v\n%s", err, doc)
		}
		return
	}
	text, err := d.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	written, err := agentfile.Write(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := agentfile.Read("b.yaml", written)
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%s", err, written)
	}
	if back, err := again.Canonical(); err != nil || string(back) != string(text) {
		t.Fatalf("%v\n%s\n%s\n%s", err, text, back, written)
	}
}

// FuzzRead: no text makes Read panic, and what it accepts comes back the same from its stored and its written form.
func FuzzRead(f *testing.F) {
	for _, doc := range []string{whole, small, small2("gemini"), `{"name":"a","version":"1","model":{"format":"gemini","name":"m","connection":"g"},"limits":{"cost":0.1}}`} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) { roundTrip(t, doc, false) })
}
