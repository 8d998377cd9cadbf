package condition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// faultsOf returns the faults of a condition on a tool with an input schema.
func faultsOf(t *testing.T, condition, schema string) string {
	t.Helper()
	c, err := Compile(condition)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, f := range NewChecker().Check(c, []toolspec.Spec{{Name: "x__y", InputSchema: json.RawMessage(schema)}}) {
		texts = append(texts, f.Reason)
	}
	return strings.Join(texts, "; ")
}

// TestSchemasThatReferToThemselves: the work for a schema is bounded, and its first levels are still checked.
func TestSchemasThatReferToThemselves(t *testing.T) {
	t.Parallel()
	var fields, operators, chain []string
	for i := range 10 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"$ref":"#"}`, i))
	}
	for i := range 40 {
		operators = append(operators, fmt.Sprintf(`{"properties":{"op%d":{"type":"string"},"left":{"$ref":"#/$defs/e"},"right":{"$ref":"#/$defs/e"}}}`, i))
	}
	for i := range 9 {
		var next []string
		for j := range 10 {
			next = append(next, fmt.Sprintf(`"g%d":{"$ref":"#/$defs/d%d"}`, j, i+1))
		}
		chain = append(chain, fmt.Sprintf(`"d%d":{"type":"object","properties":{%s}}`, i, strings.Join(next, ",")))
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"n":{"type":"integer"},` + strings.Join(fields, ",") + `}}`,
		`{"type":"object","properties":{"n":{"type":"integer"},"e":{"$ref":"#/$defs/e"}},"$defs":{"e":{"anyOf":[` + strings.Join(operators, ",") + `]}}}`,
		`{"type":"object","properties":{"n":{"type":"integer"},"d":{"$ref":"#/$defs/d0"}},"$defs":{"d9":{"type":"string"},` + strings.Join(chain, ",") + `}}`,
	} {
		if found := faultsOf(t, "args.n > 1", schema); found != "" {
			t.Errorf("%.60s: %s", schema, found)
		}
		if found := faultsOf(t, "args.m > 1", schema); !strings.Contains(found, "no argument m") {
			t.Errorf("%.60s: %q", schema, found)
		}
	}
}

// TestArgumentsOfPartsThatAreNotRead: a condition is not refused for an argument that a part of the schema can describe
// which the check does not read.
func TestArgumentsOfPartsThatAreNotRead(t *testing.T) {
	t.Parallel()
	const limit = `{"properties":{"limit":{"type":"integer"}}}`
	for _, schema := range []string{
		`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}}],"allOf":[` + limit + `]}`,
		`{"type":"object","properties":{"kind":{}},"if":{"required":["kind"]},"then":` + limit + `}`,
		`{"type":"object","properties":{"kind":{}},"dependentSchemas":{"kind":` + limit + `}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$ref":"#/$defs/base","properties":{"limit":{"type":"integer"}},"$defs":{"base":{"properties":{"a":{}}}}}`,
	} {
		if found := faultsOf(t, "args.limit > 5", schema); found != "" {
			t.Errorf("%s: %s", schema, found)
		}
	}
	for _, schema := range []string{limit, `{"type":"object","allOf":[` + limit + `]}`, `{"type":"object","anyOf":[` + limit + `],"properties":{"a":{}}}`} {
		if found := faultsOf(t, "args.limmit > 5", schema); !strings.Contains(found, "limmit") {
			t.Errorf("%s: %q", schema, found)
		}
	}
}
