package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
)

func example() agent.Document {
	return agent.Document{
		Name: "reader", Version: "1", Instructions: "Read.", Tools: []string{"core__ls", "core__read_file"},
		Model: agent.Model{
			Format: "openai", Name: "m", Connection: "c", MaxTokens: 10,
			Members: map[string]json.RawMessage{"temperature": json.RawMessage("0.70")},
		},
		Output: json.RawMessage(`{"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "string"}}}`),
		Limits: agent.Limits{Rounds: 1, Calls: 1, Seconds: 1, ContextBytes: 1, AtOnce: 1},
	}
}

func hash(t *testing.T, d agent.Document, tools ...toolspec.Spec) string {
	t.Helper()
	h, err := agent.PromptHash(d, tools)
	if err != nil || len(h) != 64 {
		t.Fatalf("%q, %v", h, err)
	}
	return h
}

// TestCanonical: the stored text is of the content only, except the order in which the members of an answer come.
func TestCanonical(t *testing.T) {
	t.Parallel()
	text, err := example().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if want := `"temperature":0.7`; !strings.Contains(string(text), want) {
		t.Errorf("no %s in %s", want, text)
	}
	if want := `,"output":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}`; !strings.HasSuffix(string(text), want) {
		t.Errorf("no %s at the end of %s", want, text)
	}
	var back agent.Document
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	again, err := back.Canonical()
	if err != nil || string(again) != string(text) {
		t.Errorf("%v\n%s\n%s", err, text, again)
	}
	one, err := example().Digest()
	if err != nil {
		t.Fatal(err)
	}
	other := example()
	other.Output = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"z":{"type":"string"}}}`)
	if two, err := other.Digest(); err != nil || one == two {
		t.Errorf("%v: another order of the answer has the same digest %s", err, two)
	}
	for _, bad := range []string{"{", `{"a":1,"a":1}`} {
		other.Output = json.RawMessage(bad)
		if _, err := other.Canonical(); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// TestPromptHash: row SP-32 of the specification.
func TestPromptHash(t *testing.T) {
	t.Parallel()
	ls := toolspec.Spec{Name: "core__ls", Description: "Lists.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`)}
	read := toolspec.Spec{Name: "core__read_file", Description: "Reads.", InputSchema: json.RawMessage(`{"type":"object"}`)}
	base := hash(t, example(), ls, read)
	same := map[string]string{"other order": hash(t, example(), read, ls)}
	sameAs := func(name string, change func(*agent.Document)) {
		d := example()
		change(&d)
		same[name] = hash(t, d, ls, read)
	}
	sameAs("version", func(d *agent.Document) { d.Version, d.Name = "2", "x" })
	sameAs("place", func(d *agent.Document) { d.Model.Connection, d.Model.URL = "other", "https://h" })
	sameAs("limits", func(d *agent.Document) { d.Limits.Rounds = 7 })
	spaced := ls
	spaced.InputSchema, spaced.Digest, spaced.Version = json.RawMessage(`{"properties": {}, "type": "object"}`), "x", "2"
	same["spaces and what the model does not see"] = hash(t, example(), spaced, read)
	for name, got := range same {
		if got != base {
			t.Errorf("%s changes the hash", name)
		}
	}

	differs := []string{base, hash(t, example(), ls), hash(t, example())}
	changed := func(change func(*agent.Document)) {
		d := example()
		change(&d)
		differs = append(differs, hash(t, d, ls, read))
	}
	changed(func(d *agent.Document) { d.Instructions = "Read!" })
	changed(func(d *agent.Document) { d.Model.Name = "n" })
	changed(func(d *agent.Document) { d.Model.Members = nil })
	changed(func(d *agent.Document) { d.Choice.Mode = "required" })
	changed(func(d *agent.Document) { d.Output = nil })
	described := ls
	described.Description = "Lists files."
	differs = append(differs, hash(t, example(), described, read))
	slices.Sort(differs)
	if len(slices.Compact(differs)) != 9 {
		t.Error("two prompts share a hash")
	}
}
