package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

// testdata/errors.txtar holds pairs of a document and its errors.
func TestParseErrors(t *testing.T) {
	policytest.ReadGoldens(t, "testdata/errors.txtar", "yaml", "errors").Each(t, func(t *testing.T, doc []byte) []string {
		_, err := Parse("policy.yaml", doc)
		if err == nil {
			t.Fatal("the document was accepted")
		}
		policytest.CheckPositions(t, err, string(doc))
		return []string{err.Error() + "\n"}
	})
}

// What a text archive cannot hold.
func TestParseErrorsOfBytes(t *testing.T) {
	for name, c := range map[string]struct{ doc, want string }{
		"empty":        {"", "policy.yaml:1:1: the document is empty"},
		"byte order":   {"\xff\xfea", "policy.yaml:1:1: must be UTF-8"},
		"latin 1":      {"version: 1\n# caf\xe9\n", "policy.yaml:2:6: must be UTF-8"},
		"zero":         {"version: 1\nté: \x00", "policy.yaml:2:5: holds the character U+0000, which is not allowed"},
		"hidden line":  {"version: 1\n# ok\rtenants: {}\n", "policy.yaml:2:5: holds a carriage return without a line feed"},
		"hidden break": {"version: 1\n# ok\u2028tenants: {}\n", "policy.yaml:2:5: holds the character U+2028, which is not allowed"},
		"next line":    {"version: 1\n# ok\u0085tenants: {}\n", "policy.yaml:2:5: holds the character U+0085, which is not allowed"},
		"turned text":  {"version: 1\n# \u202e\n", "policy.yaml:2:3: holds the character U+202E, which is not allowed"},
		"tab":          {"version: 1\ntenants:\n\tacme: {}\n", "policy.yaml:3:1: a tab cannot indent YAML; use spaces"},
		"too large":    {"#" + strings.Repeat("x", document.MaxDocument), "policy.yaml:1:1: the document is larger than 1048576 bytes"},
		"long key":     {strings.Repeat("k", 100) + ": 1\nversion: 1\ntenants: {a: {allowedTools: []}}\n", "policy.yaml:1:1: " + strings.Repeat("k", 64) + "…: is not known here; known are version, tenants, mcp"},
		"odd key":      {"\"a\\nb\": 1\nversion: 1\ntenants: {a: {allowedTools: []}}\n", `policy.yaml:1:1: "a\nb": is not known here; known are version, tenants, mcp`},
		"many entries": {"version: 1\ntenants: {a: {allowedTools: [" + strings.Repeat("a__b,", toolIDs+1) + "]}}\n", "policy.yaml:2:29: tenants.a.allowedTools: has more than 1024 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("policy.yaml", []byte(c.doc))
			if err == nil || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

const toolIDs = 1024

func TestParseReportsAtMostMaxErrors(t *testing.T) {
	_, err := Parse("policy.yaml", []byte("version: 1\ntenants: {a: {allowedTools: ["+strings.Repeat("x,", 100)+"]}}\n"))
	var list strictyaml.Errors
	if !errors.As(err, &list) || len(list) != strictyaml.MaxErrors {
		t.Errorf("%d errors", len(list))
	}
}

// A tenant's key that looks like a number must be quoted, and then is one.
func TestParseAccepts(t *testing.T) {
	for name, doc := range map[string]string{
		"JSON":          `{"version":1,"tenants":{"acme":{"allowedTools":["core__*"]}}}`,
		"byte order":    "\ufeffversion: 1\ntenants: {acme: {allowedTools: [\"*\"]}}\n",
		"quoted number": "version: 1\ntenants: {\"1\": {allowedTools: []}}\n",
		"end marker":    "---\nversion: 1\ntenants: {a: {allowedTools: []}}\n...\n",
		"windows":       "version: 1\r\ntenants:\r\n  a:\r\n    allowedTools: []\r\n",
	} {
		if _, err := Parse("policy.yaml", []byte(doc)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
