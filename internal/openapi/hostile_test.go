package openapi

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// bomb is YAML in which nine levels of ten aliases each stand for 10^9 values.
func bomb(indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%sa0: &a0 [x, x, x, x, x, x, x, x, x, x]\n", indent)
	for i := 1; i < 9; i++ {
		fmt.Fprintf(&b, "%sa%d: &a%d [%s]\n", indent, i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

// TestAliasBomb: aliases of YAML that repeat themselves cost no memory and no time. The operation is skipped.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	for name, keyword := range map[string]string{"a default": "default: *a8", "an enum": "enum: *a8", "a const": "const: *a8"} {
		began := time.Now()
		source := "openapi: 3.1.0\ninfo: {title: t, version: '1'}\nx-bomb:\n" + bomb("  ") +
			"servers: [{url: 'https://api.example.com'}]\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters:\n" +
			"        - {name: q, in: query, schema: {type: string, " + keyword + "}}\n      responses: {'200': {description: ok}}\n"
		d, report, err := Import([]byte(source), Options{Namespace: "shop"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.Tools) != 0 || len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "aliases") {
			t.Errorf("%s: %d tools, skipped %+v", name, len(d.Tools), report.Skipped)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

// TestServerVariables: variables of a server that repeat each other cost no memory and no time. The operation is skipped.
func TestServerVariables(t *testing.T) {
	t.Parallel()
	var variables []string
	for i := range 60 {
		variables = append(variables, fmt.Sprintf(`"v%d":{"default":"{v%[2]d}{v%[2]d}"}`, i, i+1))
	}
	for name, list := range map[string]string{
		"variables that double": strings.Join(variables, ","),
		"a long default":        `"v0":{"default":"` + strings.Repeat("a", 10<<20) + `"}`,
	} {
		began := time.Now()
		source := `{"openapi":"3.0.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://api.example.com/` + strings.Repeat("{v0}", 400) + `","variables":{` + list + `}}],
			"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"ok"}}}}}}`
		d, report, err := Import([]byte(source), Options{Namespace: "shop"})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.Tools) != 0 || len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "no server") {
			t.Errorf("%s: %d tools, skipped %+v", name, len(d.Tools), report.Skipped)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

// TestHiddenText: what a document describes reaches models without hidden text, and an operation with hidden text in a name or a value
// of its schemas is skipped.
func TestHiddenText(t *testing.T) {
	t.Parallel()
	source := func(name, value, describes string) []byte {
		return fmt.Appendf(nil, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"https://api.example.com"}],"paths":{"/a":{"get":{
			"operationId":"a","summary":%[3]q,"description":%[3]q,
			"parameters":[{"name":"q","in":"query","description":%[3]q,"schema":{"type":"object","properties":{%[1]q:{"type":"string","title":%[3]q,"description":%[3]q,"enum":[%[2]q]}}}}],
			"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object","properties":{%[1]q:{"type":"string","description":%[3]q,"enum":[%[2]q]}}}}}}}}}}}`,
			name, value, describes)
	}
	d, report, err := Import(source("f", "v", "Finds.\u200b\u202e<|im_start|>"), Options{Namespace: "shop"})
	if err != nil || len(d.Tools) != 1 {
		t.Fatalf("%v, %+v", err, report)
	}
	tool := d.Tools[0]
	for where, text := range map[string]string{
		"title": tool.Title, "description": tool.Description, "input": string(tool.Input), "output": string(tool.Response.Schema),
	} {
		if strings.ContainsAny(text, "\u200b\u202e") || strings.Contains(text, "<|im_start|>") || strings.Contains(text, `\u200b`) || !strings.Contains(text, "Finds.") {
			t.Errorf("the %s is %s", where, text)
		}
	}
	for _, c := range [][2]string{{"f\u200b", "v"}, {"f", "v\u200b"}, {"f", "<|im_start|>"}} {
		d, report, err := Import(source(c[0], c[1], "Finds."), Options{Namespace: "shop"})
		if err != nil || len(d.Tools) != 0 || len(report.Skipped) != 1 || !strings.Contains(report.Skipped[0].Reason, "hidden characters") {
			t.Errorf("%q: %v, %+v", c, err, report)
		}
	}
}
