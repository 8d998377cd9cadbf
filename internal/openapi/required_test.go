package openapi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/httptool"
)

// withBody is a document with one operation, whose body has the schema Body. Base hides id.
func withBody(version, body string) []byte {
	return fmt.Appendf(nil, `
openapi: %s
info: {title: t, version: '1'}
servers: [{url: 'https://api.example.com'}]
paths:
  /a:
    post:
      operationId: a
      requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/Body'}}}}
      responses: {'204': {description: ok}}
components:
  schemas:
    Base: {type: object, properties: {id: {type: string, readOnly: true}, note: {type: string}}}
    Body: %s
`, version, body)
}

// TestRequired: an argument that is required and hidden is left out of required, and an argument that looks like a credential is not.
func TestRequired(t *testing.T) {
	t.Parallel()
	const v30, v31, needsToken = "3.0.3", "3.1.0", `needs the argument "token", which looks like a credential`
	for name, c := range map[string]struct {
		version, body   string
		harmless        []string
		valid, invalid  string // arguments
		fault           string
		harmlessOfATool []string
	}{
		"hidden": {
			v30, `{type: object, required: [id, n], properties: {id: {type: string, readOnly: true}, n: {type: string}}}`,
			nil, `{"body":{"n":"x"}}`, `{"body":{}}`, "", nil,
		},
		"a hidden credential": {
			v30, `{type: object, required: [n, token], properties: {n: {type: string}, token: {type: string, readOnly: true}}}`,
			nil, `{"body":{"n":"x"}}`, `{"body":{}}`, "", nil,
		},
		"a hidden connection": {
			v30, `{type: object, required: [connectionId], properties: {n: {type: string}, connectionId: {type: string, readOnly: true}}}`,
			nil, `{"body":{"n":"x"}}`, `{"body":{"connectionId":"x"}}`, "", nil,
		},
		"a credential": {v30, `{type: object, required: [token], properties: {token: {type: string}}}`, nil, "", "", needsToken, nil},
		"a credential of a branch": {
			v30, `{type: object, anyOf: [{required: [token]}, {required: [n]}], properties: {token: {type: string}, n: {type: string}}}`, nil, "", "", needsToken, nil,
		},
		"harmless in a branch before its property": {
			v30, `{type: object, anyOf: [{required: [token]}, {required: [n]}], properties: {token: {type: string}, n: {type: string}}}`,
			[]string{"token"}, `{"body":{"token":"x"}}`, `{"body":{}}`, "", []string{"token"},
		},
		"harmless without a property": {
			v30, `{type: object, required: [token]}`, []string{"token"}, `{"body":{"token":"x"}}`, `{"body":{}}`, "", []string{"token"},
		},
		"hidden in a part": {
			v30, `{allOf: [{$ref: '#/components/schemas/Base'}], required: [id, note]}`, nil, `{"body":{"note":"x"}}`, `{"body":{}}`, "", nil,
		},
		"hidden in the part beside": {
			v30, `{allOf: [{$ref: '#/components/schemas/Base'}, {type: object, required: [id, n], properties: {n: {type: string}}}]}`,
			nil, `{"body":{"n":"x"}}`, `{"body":{}}`, "", nil,
		},
		"hidden in a part of a part": {
			v30, `{allOf: [{allOf: [{required: [id, note]}]}, {anyOf: [{$ref: '#/components/schemas/Base'}]}]}`, nil, `{"body":{"note":"x"}}`, `{"body":{}}`, "", nil,
		},
		"hidden beside a reference": {
			v31, `{type: object, required: [in], properties: {in: {$ref: '#/components/schemas/Base', required: [id, note]}}}`,
			nil, `{"body":{"in":{"note":"x"}}}`, `{"body":{"in":{}}}`, "", nil,
		},
		"hidden elsewhere": {
			v30, `{allOf: [{$ref: '#/components/schemas/Base'}], properties: {in: {type: object, required: [id], properties: {id: {type: string}}}}, required: [in]}`,
			nil, `{"body":{"in":{"id":"x"}}}`, `{"body":{"in":{}}}`, "", nil,
		},
		"hidden, and one of two": { // id is no argument, so n is required
			v30, `{type: object, oneOf: [{required: [id]}, {required: [n]}], properties: {id: {type: string, readOnly: true}, n: {type: string}}}`,
			nil, `{"body":{"n":"x"}}`, `{"body":{}}`, "", nil,
		},
		"a loop": {
			v30, `{type: object, properties: {next: {$ref: '#/components/schemas/Body'}, id: {type: string, readOnly: true}}, required: [id]}`,
			nil, `{"body":{"next":{}}}`, `{"body":{"next":1}}`, "", nil,
		},
	} {
		d, report, err := Import(withBody(c.version, c.body), Options{Namespace: "shop", Connection: httptool.Required, Harmless: c.harmless})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.fault != "" {
			if len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, c.fault) {
				t.Errorf("%s: skipped %+v", name, report.Skipped)
			}
			continue
		}
		if len(d.Tools) != 1 {
			t.Errorf("%s: skipped %+v", name, report.Skipped)
			continue
		}
		if got := d.Tools[0].HarmlessNames; !slices.Equal(got, c.harmlessOfATool) {
			t.Errorf("%s: the harmless names are %v", name, got)
		}
		bound := boundOf(t, d.Tools[0])
		if problems := bound.ValidateInput([]byte(c.valid)); len(problems) > 0 {
			t.Errorf("%s: %s is refused: %+v by %s", name, c.valid, problems, d.Tools[0].Input)
		}
		if problems := bound.ValidateInput([]byte(c.invalid)); len(problems) == 0 {
			t.Errorf("%s: %s is accepted by %s", name, c.invalid, d.Tools[0].Input)
		}
	}
}

func boundOf(t *testing.T, tool httptool.Tool) *catalog.Bound {
	t.Helper()
	bound, err := tool.Bind("")
	if err != nil {
		t.Fatal(err)
	}
	registry, err := catalog.Describe("test", bound)
	if err != nil {
		t.Fatal(err)
	}
	b, there := registry.Get(tool.ID)
	if !there {
		t.Fatalf("no tool %s", tool.ID)
	}
	return b
}

// TestManyRequired: long lists of names in required, and names that many schemas hide, cost little time.
func TestManyRequired(t *testing.T) {
	t.Parallel()
	list := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+", ", i)
		}
		return b.String()
	}
	began := time.Now()
	for _, c := range []struct{ body, fault string }{
		{"{type: object, required: [" + list(2000, "n%d") + "]}", ""},
		{"{type: object, required: [" + strings.Repeat("n, ", 2000) + "]}", ""},
		{"{type: object, required: [" + list(200_000, "n%d") + "]}", "requires more than 20000 properties"},
		{
			"{properties: {big: {properties: {" + list(5000, "n%d: {}") + "}}, " + list(300, "p%d: {allOf: [{$ref: '#/components/schemas/Body/properties/big'}], required: [n]}") + "}}",
			"parts have more than 1000000 properties",
		},
	} {
		d, report, err := Import(withBody("3.0.3", c.body), Options{Namespace: "shop", Connection: httptool.Required})
		switch {
		case err != nil, len(d.Tools)+len(report.Skipped) != 1:
			t.Errorf("%d tools, %+v, %v", len(d.Tools), report, err)
		case (len(d.Tools) == 1) != (c.fault == ""), c.fault != "" && !strings.Contains(report.Skipped[0].Reason, c.fault):
			t.Errorf("%.100s: skipped %+v, want %q", c.body, report.Skipped, c.fault)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
