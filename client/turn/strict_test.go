package turn_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/wire/openai"
)

// searching is a schema that the strict form expresses completely.
const searching = `{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
	`"query":{"type":"string"},"limit":{"type":"integer"},"after":{"type":["string","null"]}}}`

func offeredTool(id, inputSchema string) toolspec.Spec {
	return toolspec.Spec{
		Name: id, Description: "A tool of a test.", InputSchema: json.RawMessage(inputSchema), Effect: toolspec.ReadOnly,
		Digest: "d-" + id, SchemaHash: "h-" + id,
	}
}

// TestStrictArgumentsComeBack: what stands for absence in the strict form is absent in the call, and what was null stays null.
func TestStrictArgumentsComeBack(t *testing.T) {
	t.Parallel()
	offer, err := client.NewOffer(openai.Codec{}, []toolspec.Spec{offeredTool("test__search", searching)}, true)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := jsonschema.Compile([]byte(searching))
	if err != nil {
		t.Fatal(err)
	}
	tu := newTurn("k")
	tu.Offer = offer
	for args, want := range map[string]string{
		`{"query":"a","limit":null,"after":null}`:           `{"query":"a"}`,
		`{"query":"a","limit":3,"after":{"value":null}}`:    `{"after":null,"limit":3,"query":"a"}`,
		`{"query":"a","limit":null,"after":{"value":"2b"}}`: `{"after":"2b","query":"a"}`,
		`{"query":"a","limit":null,"after":"2b"}`:           `{"query":"a","limit":null,"after":"2b"}`, // not of the form: the worker judges it as it is
		" \n" + `{"query":"a","limit":null,"after":null}`:   `{"query":"a"}`,
		`{"query":`: `"{\"query\":"`,
	} {
		plan, err := tu.Plan(strings.NewReader(chat(t, asked{"c1", "test__search", args})))
		if err != nil {
			t.Fatal(err)
		}
		got := string(plan.Calls[0].Invocation.Args)
		if got != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
		if strings.Contains(args, `:null}`) && len(compiled.Validate([]byte(got))) != 0 && strings.HasPrefix(want, `{"query":"a"}`) {
			t.Errorf("%s is refused", got)
		}
	}
}
