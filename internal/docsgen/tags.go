package docsgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec/schema"
)

// tag is an item of the struct tag jsonschema, with a field that has it.
type tag struct {
	name, meaning string
	field         reflect.Type
	example       string
}

var (
	aText    = reflect.TypeFor[string]()
	aNumber  = reflect.TypeFor[float64]()
	anAmount = reflect.TypeFor[int]()
	aList    = reflect.TypeFor[[]string]()
)

var tags = []tag{
	{"required", "The field must be there, although it has `omitempty` or is a pointer.", aText, "required"},
	{"title", "The title of the field, for people.", aText, "title=City"},
	{"description", "The description of the field. A comma ends it: the tag `jsonschema_description` takes any text.", aText, "description=The city"},
	{"default", "The value of the field if it is absent. A field with a default is not required. Booleans may have one too.", anAmount, "default=10"},
	{"example", "A value for people and models. It may be given several times.", aText, "example=Oslo"},
	{"enum", "A value that the field may have. It is given once for each value; on a list, for the elements.", aText, "enum=low,enum=high"},
	{"minLength", "The least number of characters.", aText, "minLength=1"},
	{"maxLength", "The greatest number of characters.", aText, "maxLength=64"},
	{"pattern", "A regular expression that the text must match, in the syntax of RE2.", aText, "pattern=^[a-z]+$"},
	{"format", "A format that JSON Schema defines, such as `email`, `uri` or `uuid`. It is enforced.", aText, "format=email"},
	{"readOnly", "A note for people that the value is not to be written.", aText, "readOnly=true"},
	{"writeOnly", "A note for people that the value is not to be read.", aText, "writeOnly=true"},
	{"minimum", "The least value.", anAmount, "minimum=1"},
	{"maximum", "The greatest value.", anAmount, "maximum=100"},
	{"exclusiveMinimum", "A bound that the value must be above.", aNumber, "exclusiveMinimum=0"},
	{"exclusiveMaximum", "A bound that the value must be below.", aNumber, "exclusiveMaximum=1"},
	{"multipleOf", "The value is a multiple of the number.", anAmount, "multipleOf=5"},
	{"minItems", "The least number of elements.", aList, "minItems=1"},
	{"maxItems", "The greatest number of elements.", aList, "maxItems=16"},
	{"uniqueItems", "No two elements are equal. The value is always `true`.", aList, "uniqueItems=true"},
}

// kinds are the types that a tag may have, by the lists of package schema.
var kinds = map[string]string{"stringTags": "text", "numberTags": "numbers", "arrayTags": "lists"}

// tagTables writes the items of the tag jsonschema, each with the schema that it
// makes, and where package schema takes it.
func tagTables(root string) (map[string]string, error) {
	on, err := readTags(root)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	known := map[string]bool{"required": true, "title": true, "description": true}
	for _, t := range tags {
		if !known[t.name] && len(on[t.name]) == 0 {
			return nil, fmt.Errorf("package schema does not know the tag %s", t.name)
		}
		known[t.name] = true
		made, err := derived(t)
		if err != nil {
			return nil, fmt.Errorf("the tag %s: %w", t.name, err)
		}
		where := strings.Join(on[t.name], ", ")
		if where == "" {
			where = "all fields"
		}
		rows = append(rows, []string{code(t.name), where, t.meaning, code(t.field.String()) + " " + code(t.example), code(made)})
	}
	for name := range on {
		if !known[name] {
			return nil, fmt.Errorf("the tag %s of package schema has no row: add it to tags.go", name)
		}
	}
	return map[string]string{"tags": table([]string{"item", "on", "meaning", "example", "the schema of the example"}, rows)}, nil
}

// readTags reads the lists of package schema: for each tag, where it has an effect.
func readTags(root string) (on map[string][]string, err error) {
	on, found := map[string][]string{}, 0
	err = eachFile(filepath.Join(root, "toolspec", "schema"), func(f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 || kinds[v.Names[0].Name] == "" {
				return true
			}
			list, ok := v.Values[0].(*ast.CompositeLit)
			if !ok {
				return true
			}
			found++
			for _, element := range list.Elts {
				if literal, ok := element.(*ast.BasicLit); ok {
					if name, err := strconv.Unquote(literal.Value); err == nil {
						on[name] = append(on[name], kinds[v.Names[0].Name])
					}
				}
			}
			return true
		})
	})
	if err == nil && found != len(kinds) {
		err = fmt.Errorf("package schema has %d of the %d lists of tags", found, len(kinds))
	}
	for _, where := range on {
		slices.Sort(where)
	}
	return on, err
}

// derived is the schema of a field with the tag.
func derived(t tag) (string, error) {
	raw, err := schema.Derive(reflect.StructOf([]reflect.StructField{{
		Name: "Field", Type: t.field, Tag: reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q", "field", t.example)),
	}}))
	if err != nil {
		return "", err
	}
	var document struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return "", err
	}
	var b bytes.Buffer
	err = json.Compact(&b, document.Properties["field"])
	return b.String(), err
}
