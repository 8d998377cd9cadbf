package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/schema"
	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

const schemaFile = "../docs/schema/policy.schema.json"

func published(t testing.TB) *schema.Schema {
	t.Helper()
	doc, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(doc)
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

// What Parse accepts the published schema accepts, be it shipped, shown or tested.
func TestSchemaAcceptsPolicies(t *testing.T) {
	s := published(t)
	documents := map[string][]byte{
		"development": []byte(DevelopmentYAML()), "plain": []byte(plainDoc), "roles": []byte(withRoles), "many": []byte(manyRules()),
	}
	for _, file := range []string{"testdata/check.txtar", "testdata/lint.txtar"} {
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
	pages, err := filepath.Glob("../docs/*.md")
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
		p := mustParse(t, string(doc))
		for _, form := range [][]byte{asJSON(t, doc), p.Source()} {
			if problems := s.Validate(form); len(problems) > 0 {
				t.Errorf("%s: %v in\n%s", name, problems, form)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		p := parsed(t, genDocument().Draw(t, "doc"))
		if problems := s.Validate(p.Source()); len(problems) > 0 {
			t.Fatalf("%v in\n%s", problems, p.Source())
		}
	})
}

// What the schema refuses Parse refuses too, and much of what is plainly wrong
// the schema finds by itself.
func TestSchemaRefuses(t *testing.T) {
	s := published(t)
	archive, err := txtar.ParseFile("testdata/errors.txtar")
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

// TestSchemaHasTheKeysOfTheParser: each mapping takes the same keys from both.
// The parser is asked with a key that is like none.
func TestSchemaHasTheKeysOfTheParser(t *testing.T) {
	doc, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root any
	if err := json.Unmarshal(doc, &root); err != nil {
		t.Fatal(err)
	}
	const odd = "qqqqqqqqqqqqqqqqqqqq"
	compared := 0
	// walk goes through the objects of the schema with a document that has a hole
	// where the object stands.
	var walk func(node map[string]any, document func(hole string) string, depth int)
	walk = func(node map[string]any, document func(hole string) string, depth int) {
		if ref, ok := node["$ref"].(string); ok {
			node, _ = (&schemaReader{root: root}).resolve(ref).(map[string]any)
		}
		if depth > 12 || node == nil {
			return
		}
		if items, ok := node["items"].(map[string]any); ok {
			walk(items, func(hole string) string { return document("[" + hole + "]") }, depth+1)
		}
		if members, ok := node["additionalProperties"].(map[string]any); ok {
			walk(members, func(hole string) string { return document("{x: " + hole + "}") }, depth+1)
		}
		properties, ok := node["properties"].(map[string]any)
		if !ok {
			return
		}
		compared++
		text := document("{" + odd + ": 1}")
		_, err := Parse("policy.yaml", []byte(text))
		var keys []string
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if m := knownKeys.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
					keys = strings.Split(m[1], ", ")
				}
			}
		}
		slices.Sort(keys)
		if want := sortedKeys(properties); !slices.Equal(keys, want) {
			t.Errorf("%s: the parser takes %v, the schema %v", text, keys, want)
		}
		for name, property := range properties {
			if child, ok := property.(map[string]any); ok {
				walk(child, func(hole string) string { return document("{" + name + ": " + hole + "}") }, depth+1)
			}
		}
	}
	walk(root.(map[string]any), func(hole string) string { return hole }, 0)
	if compared < 10 {
		t.Errorf("only %d mappings were compared", compared)
	}
}
