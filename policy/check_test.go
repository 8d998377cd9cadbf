package policy

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/rogpeppe/go-internal/txtar"
)

func readSpecs(t testing.TB, doc []byte) []toolspec.Spec {
	t.Helper()
	var specs []toolspec.Spec
	if err := json.Unmarshal(doc, &specs); err != nil {
		t.Fatal(err)
	}
	return specs
}

// testdata/check.txtar holds pairs of a policy and its errors.
func TestCheck(t *testing.T) {
	const file = "testdata/check.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	specs := readSpecs(t, archive.Files[0].Data)
	for i, f := range archive.Files {
		name, isPolicy := strings.CutSuffix(f.Name, ".yaml")
		if !isPolicy {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p, err := Parse("policy.yaml", f.Data)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := p.Check(specs); err != nil {
				got = err.Error() + "\n"
				checkPositions(t, err, string(f.Data))
			}
			if want := &archive.Files[i+1]; *update {
				want.Data = []byte(got)
			} else if got != string(want.Data) {
				t.Errorf("got\n%swant\n%s", got, want.Data)
			}
			// Nobody knows a tool: nothing can be wrong.
			if err := p.Check(nil); err != nil {
				t.Error(err)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What a schema says that is not understood is anything: no condition is refused
// for it, and nothing hangs.
func TestCheckTakesOddSchemasForAnything(t *testing.T) {
	p := mustParse(t, acme("    allowedTools: [\"*\"]\n    rules: [{tool: \"*\", decision: deny, when: 'args.x.y.z == 1 && args.q > 3'}]\n"))
	for _, schema := range []string{
		``, `null`, `true`, `{}`, `{"type":"object"}`, `{"type":"string"}`, `{"$ref":"#"}`, `{"$ref":"http://x/y"}`, `{"$ref":"#/a/b"}`,
		`{"type":"object","properties":{"x":{"$ref":"#"},"q":{"$ref":"#/properties/q"}},"additionalProperties":true}`,
		`{"type":"object","properties":{"x":{"type":["string","object"]},"q":{"enum":[1]}}}`,
		`{"allOf":[{"type":"object","properties":{"x":{}}},{"properties":{"q":{"type":"number"}}}]}`,
		`{"properties":{"x":true,"q":{"type":"integer"}}}`,
		`{"type":"object","properties":{"x":{"type":"object","patternProperties":{"^y":{}}},"q":{"type":"number"}}}`,
		`{"type":"object","properties":{"q":{"type":"integer"}},"anyOf":[{"properties":{"x":{}}}]}`,
		`{"type":"object","additionalProperties":{"type":"object"}}`,
	} {
		if err := p.Check([]toolspec.Spec{{Name: "a__b", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, InputSchema: json.RawMessage(schema)}}); err != nil && schema != `{"type":"object","additionalProperties":{"type":"object"}}` {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
