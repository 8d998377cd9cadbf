package catalog_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// The results of Pick for the queries of testdata/pick/queries.txt, which were written before Pick
// was measured. A worse result fails the test. After a better result, raise these numbers.
const (
	wantFirst  = 62 // of 73: the right tool is the first
	wantFirst3 = 67 // of 73: it is among the first three
)

// TestPickFindsTools (PT-02): how often a query in the words of people finds the right one of 155
// tools.
func TestPickFindsTools(t *testing.T) {
	tools, queries := goldenTools(t), goldenLines(t, "queries.txt")
	if len(tools) < 120 || len(queries) < 40 {
		t.Fatalf("%d tools and %d queries are too few to say anything", len(tools), len(queries))
	}
	c := shown(tools)
	first, first3 := 0, 0
	for _, line := range queries {
		text, right, ok := strings.Cut(line, " => ")
		if !ok {
			t.Fatalf("%q is not a query", line)
		}
		wanted := strings.Split(right, ", ")
		for _, id := range wanted {
			if _, ok := c.Get(id); !ok {
				t.Fatalf("%q wants %s, which is no tool", text, id)
			}
		}
		got := ids(c.Pick(catalog.Query{Text: text, K: 5}))
		switch at := slices.IndexFunc(got, func(id string) bool { return slices.Contains(wanted, id) }); {
		case at == 0:
			first, first3 = first+1, first3+1
		case at > 0 && at < 3:
			first3++
			t.Logf("%q: %s is only number %d of %v", text, right, at+1, got)
		default:
			t.Logf("%q: %s is not among the first three: %v", text, right, got)
		}
	}
	t.Logf("of %d queries, %d find the right tool first and %d among the first three", len(queries), first, first3)
	if first != wantFirst || first3 != wantFirst3 {
		t.Errorf("%d first and %d among the first three; it was %d and %d", first, first3, wantFirst, wantFirst3)
	}
}

// shown returns a catalog in which all tools are visible.
func shown(specs []toolspec.Spec) catalog.Catalog {
	return catalog.New(specs, func(toolspec.Spec) catalog.Visibility { return catalog.Visible })
}

func ids(matches []catalog.Match) []string {
	list := make([]string, len(matches))
	for i, m := range matches {
		list[i] = m.Name
	}
	return list
}

func goldenLines(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "pick", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })
}

// goldenTools reads testdata/pick/tools.txt.
func goldenTools(t testing.TB) []toolspec.Spec {
	t.Helper()
	var specs []toolspec.Spec
	for _, line := range goldenLines(t, "tools.txt") {
		part := strings.Split(line, " | ")
		if len(part) == 4 { // no arguments
			part[3] = strings.TrimSuffix(part[3], " |")
			part = append(part, "")
		}
		if len(part) != 5 {
			t.Fatalf("%q is not a tool", line)
		}
		if err := toolspec.CheckToolID(part[0]); err != nil {
			t.Fatalf("%s: %v", part[0], err)
		}
		properties := map[string]any{}
		for argument := range strings.SplitSeq(part[4], "; ") {
			if name, what, ok := strings.Cut(argument, ": "); ok {
				properties[name] = map[string]string{"type": "string", "description": what}
			}
		}
		doc, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, toolspec.Spec{
			Name: part[0], Title: part[0], Effect: toolspec.Effect(part[1]), Risk: toolspec.LowRisk, Tags: strings.Split(part[2], ", "),
			Description: part[3], InputSchema: doc,
		})
	}
	return specs
}
