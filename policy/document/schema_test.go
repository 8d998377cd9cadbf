package document_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

const schemaFile = "../../docs/schema/policy.schema.json"

func published(t testing.TB) *jsonschema.Schema {
	t.Helper()
	doc, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a document as JSON, whatever it was written in.
func asJSON(t testing.TB, doc []byte) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(doc, &v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?\n)```$")

// What Decode accepts the published schema accepts, be it shipped, shown or tested.
func TestSchemaAcceptsPolicies(t *testing.T) {
	s := published(t)
	documents := map[string][]byte{}
	for _, file := range []string{"../development.yaml", "../testdata/decisions.yaml", "../../internal/devcli/demo.yaml", "../../examples/policy.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents[file] = text
	}
	for _, file := range []string{"../review/testdata/check.txtar", "../review/testdata/lint.txtar"} {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".yaml") {
				documents[file+" "+f.Name] = f.Data
			}
		}
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			documents[page+block[1][:min(len(block[1]), 60)]] = []byte(block[1])
			shown++
		}
	}
	if shown < 5 {
		t.Errorf("only %d policies are shown in docs/", shown)
	}
	for name, doc := range documents {
		d, faults := document.Decode(name, doc)
		if len(faults) > 0 {
			t.Fatalf("%v in\n%s", faults, doc)
		}
		for _, form := range [][]byte{asJSON(t, doc), document.Canonical(d)} {
			if problems := s.Validate(form); len(problems) > 0 {
				t.Errorf("%s: %v in\n%s", name, problems, form)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		form := document.Canonical(policytest.Documents().Draw(t, "doc"))
		if problems := s.Validate(form); len(problems) > 0 {
			t.Fatalf("%v in\n%s", problems, form)
		}
	})
}

// What the schema refuses Decode refuses too, and much of what is plainly wrong
// the schema finds by itself.
func TestSchemaRefuses(t *testing.T) {
	s := published(t)
	archive, err := txtar.ParseFile("../testdata/errors.txtar")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, f := range archive.Files {
		var v any
		if !strings.HasSuffix(f.Name, ".yaml") || yaml.Unmarshal(f.Data, &v) != nil {
			continue
		}
		if raw, err := json.Marshal(v); err == nil && len(s.Validate(raw)) > 0 {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("the schema refuses only %d of the faulty documents", refused)
	}
}

var knownKeys = regexp.MustCompile(`is not known here; known are (.*)$`)

// TestSchemaAgreesWithDecode: each mapping takes the same keys from both, and each bound and each
// closed set of the schema is that of Decode, which is asked with a value beyond it.
func TestSchemaAgreesWithDecode(t *testing.T) {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root node
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	w := &walk{t: t, root: root}
	w.node(root, func(hole string) string { return hole }, 0)
	if w.mappings < 10 || w.bounds < 40 {
		t.Errorf("only %d mappings and %d bounds were compared", w.mappings, w.bounds)
	}
}

type node = map[string]any

// walk goes through a schema with a document that has a hole where the node stands.
type walk struct {
	t                *testing.T
	root             node
	mappings, bounds int
}

func (w *walk) node(n node, within func(hole string) string, depth int) {
	n = w.resolved(n)
	if depth > 12 {
		return
	}
	w.compare(n, within)
	if items, ok := n["items"].(node); ok {
		w.node(items, func(hole string) string { return within("[" + hole + "]") }, depth+1)
	}
	if members, ok := n["additionalProperties"].(node); ok {
		w.node(members, func(hole string) string { return within("{x: " + hole + "}") }, depth+1)
	}
	properties, ok := n["properties"].(node)
	if !ok {
		return
	}
	w.mappings++
	var keys []string
	for _, fault := range faults(within("{qqqqqqqqqqqqqqqqqqqq: 1}")) {
		if m := knownKeys.FindStringSubmatch(fault); m != nil {
			keys = strings.Split(m[1], ", ")
		}
	}
	slices.Sort(keys)
	if want := slices.Sorted(maps.Keys(properties)); !slices.Equal(keys, want) {
		w.t.Errorf("%s: Decode takes %v, the schema %v", within("…"), keys, want)
	}
	for name, property := range properties {
		w.node(property.(node), func(hole string) string { return within("{" + name + ": " + hole + "}") }, depth+1)
	}
}

// resolved returns a node with what its reference refers to. What the node says itself wins.
func (w *walk) resolved(n node) node {
	ref, ok := n["$ref"].(string)
	if !ok {
		return n
	}
	target := maps.Clone(w.resolved(w.root["$defs"].(node)[strings.TrimPrefix(ref, "#/$defs/")].(node)))
	maps.Copy(target, n)
	return target
}

// compare asks Decode about a value that is beyond each bound of a node.
func (w *walk) compare(n node, within func(hole string) string) {
	ask := func(hole, want string) {
		w.bounds++
		if got := faults(within(hole)); !slices.ContainsFunc(got, func(fault string) bool { return strings.HasSuffix(fault, want) }) {
			w.t.Errorf("%s: no fault %q, but %q", within(hole[:min(len(hole), 60)]), want, got)
		}
	}
	if most, ok := n["maximum"].(float64); ok {
		ask(strconv.FormatInt(int64(most)+1, 10), fmt.Sprintf("must be a whole number from %v to %d", n["minimum"], int64(most)))
	}
	if most, ok := n["maxItems"].(float64); ok && n["uniqueItems"] == nil {
		ask("["+strings.Repeat("~, ", int(most)+1)+"]", fmt.Sprintf("has more than %v entries", most))
	}
	if n["minItems"] != nil {
		if got := faults(within("[]")); !slices.ContainsFunc(got, func(fault string) bool { return strings.Contains(fault, "is empty; ") }) {
			w.t.Errorf("%s: an empty list is taken", within("[]"))
		}
	}
	if most, ok := n["maxProperties"].(float64); ok {
		var b strings.Builder
		for i := range int(most) + 1 {
			fmt.Fprintf(&b, "k%d: ~, ", i)
		}
		ask("{"+b.String()+"}", fmt.Sprintf("has more than %v entries", most))
	}
	if most, ok := n["maxLength"].(float64); ok {
		ask(strings.Repeat("x", int(most)+1), fmt.Sprintf("is longer than %v characters", most))
	}
	if values, ok := n["enum"].([]any); ok {
		var taken []string
		for _, fault := range faults(within("qqqqqqqqqqqqqqqqqqqq")) {
			if _, set, found := strings.Cut(fault, ": must be "); found {
				taken = strings.Split(strings.ReplaceAll(set, " or ", ", "), ", ")
			}
		}
		var want []string
		for _, v := range values {
			want = append(want, v.(string))
		}
		slices.Sort(taken)
		slices.Sort(want)
		w.bounds++
		if !slices.Equal(taken, want) {
			w.t.Errorf("%s: Decode takes %v, the schema %v", within("…"), taken, want)
		}
	}
}

// faults returns the faults of a document, one text for each.
func faults(text string) (lines []string) {
	_, list := document.Decode("policy.yaml", []byte(text))
	for _, fault := range list {
		lines = append(lines, fault.Error())
	}
	return lines
}
