package review

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
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
	g := policytest.ReadGoldens(t, "testdata/check.txtar", "yaml", "errors")
	specs := readSpecs(t, g.Files[0].Data)
	g.Each(t, func(t *testing.T, doc []byte) []string {
		p := mustParse(t, string(doc))
		got := ""
		if err := Check(p, specs); err != nil {
			got = err.Error() + "\n"
			policytest.CheckPositions(t, err, string(doc))
		}
		// Nobody knows a tool: nothing can be wrong.
		if err := Check(p, nil); err != nil {
			t.Error(err)
		}
		return []string{got}
	})
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
		if err := Check(p, []toolspec.Spec{{Name: "a__b", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, InputSchema: json.RawMessage(schema)}}); err != nil && schema != `{"type":"object","additionalProperties":{"type":"object"}}` {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// TestCheckOfToolsOfTenants: what another tenant registers makes no policy of this tenant wrong.
func TestCheckOfToolsOfTenants(t *testing.T) {
	p := mustParse(t, acme("    allowedTools: [\"tenant-*\"]\n    rules: [{tool: \"tenant-*\", decision: deny, when: 'args.q > 3'}]\n"))
	for tenantID, wrong := range map[string]bool{"acme": true, "globex": false} {
		spec := toolspec.Spec{Name: toolspec.TenantNamespace(tenantID) + "__a", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, InputSchema: json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)}
		if err := Check(p, []toolspec.Spec{spec}); (err != nil) != wrong {
			t.Errorf("with a tool of %s: %v", tenantID, err)
		}
	}
}
