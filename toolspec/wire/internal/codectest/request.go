package codectest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire"
)

// Schema is the schema of the first tool that [Tools] offers.
const Schema = `{"type":"object","properties":{"path":{"type":"string","enum":["a","b"]}},"required":["path"],"additionalProperties":false}`

// Tools checks that a codec writes two tools as in want, in any order of members (WF-09, C-22): the
// strict tool core__read_file with the description `Reads a "file".` and [Schema], and the tool _ls
// without a description and with the schema {}. It checks that the codec copies schemas (WF-15),
// and refuses tools that no provider accepts.
func Tools(t *testing.T, codec wire.Codec, want string) {
	t.Helper()
	schema := json.RawMessage(Schema)
	got, err := codec.Tools([]wire.Tool{
		{Name: "core__read_file", Description: `Reads a "file".`, Schema: schema, Strict: true},
		{Name: "_ls", Schema: json.RawMessage(`{}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	SameJSON(t, "tools", got, []byte(want))
	clear(got)
	if string(schema) != Schema {
		t.Errorf("the schema is now %s", schema)
	}
	if got, err := codec.Tools(nil); got != nil || err != nil {
		t.Errorf("no tools are %s, %v", got, err)
	}
	object := json.RawMessage(`{}`)
	for want, tools := range map[string][]wire.Tool{
		"no name that a provider takes":  {{Name: "a.b", Schema: object}},
		"1–64":                           {{Name: strings.Repeat("a", 65), Schema: object}},
		`"" is no name`:                  {{Schema: object}},
		"two tools are named a":          {{Name: "a", Schema: object}, {Name: "a", Schema: object}},
		"schema of a is not a JSON obj":  {{Name: "a", Schema: json.RawMessage(`[]`)}},
		"schema of b is not a JSON obje": {{Name: "b"}},
	} {
		if got, err := codec.Tools(tools); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %s, %v, want %q", got, err, want)
		}
	}
}

// Choices checks the members of a request for each choice, and that a codec refuses invalid
// choices.
func Choices(t *testing.T, codec wire.Codec, choices map[string]wire.Choice) {
	t.Helper()
	for want, choice := range choices {
		members, err := codec.Choice(choice)
		if err != nil {
			t.Fatal(err)
		}
		SameJSON(t, want, Object(t, members), []byte(want))
	}
	for _, bad := range []wire.Choice{{Mode: "any"}, {Mode: wire.Named}, {Mode: wire.Auto, Name: "a"}} {
		if got, err := codec.Choice(bad); err == nil {
			t.Errorf("%+v is %s", bad, got)
		}
	}
}
