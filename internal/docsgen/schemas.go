package docsgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/remotetool"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// document is a type of the contract with its schema.
type document struct {
	name  string
	title string
	about string
	typ   reflect.Type
	// open is set for what Pawl writes: a reader must take fields of later
	// versions. What Pawl reads is closed.
	open bool
}

var documents = []document{
	{
		"invocation", "Invocation", "The input of the workflow InvokeTool: one tool call. Unknown and secret-shaped fields are refused.",
		reflect.TypeFor[toolspec.Invocation](), false,
	},
	{
		"result", "Result", "The result of the workflow InvokeTool. Later versions may add fields: readers ignore those they do not know.",
		reflect.TypeFor[toolspec.Result](), true,
	},
	{
		"decision", "Decision", "The payload of the signal and of the update decide.",
		reflect.TypeFor[toolspec.Decision](), false,
	},
	{
		"state", "State", "The answer to the query state. Later versions may add fields: readers ignore those they do not know.",
		reflect.TypeFor[toolspec.State](), true,
	},
	{
		"remote-request", "RemoteRequest", "The body of a request to a remote worker. Later versions may add fields: readers ignore those they do not know.",
		reflect.TypeFor[remotetool.ToolRequest](), true,
	},
	{
		"remote-answer", "RemoteAnswer", "The body of an answer of a remote worker.",
		reflect.TypeFor[remotetool.ToolAnswer](), false,
	},
}

// schemas returns the files of docs/schema.
func schemas(src *source) (map[string]string, error) {
	files := map[string]string{}
	d := &describer{src: src, used: map[string]bool{}}
	for _, doc := range documents {
		described, err := d.describe(doc.typ)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", doc.title, err)
		}
		raw, err := schema.Derive(described)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", doc.title, err)
		}
		if files[schemaPath(doc.name)], err = written(doc, raw); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", doc.title, err)
		}
	}
	for field := range bounds {
		if !d.used[field] {
			return nil, fmt.Errorf("bounds: there is no field %s", field)
		}
	}
	return files, nil
}

// written names the document, opens it where readers must be tolerant, and
// indents it.
func written(doc document, raw json.RawMessage) (string, error) {
	head, err := json.Marshal(map[string]string{"title": doc.title, "description": doc.about})
	if err != nil {
		return "", err
	}
	// The derived text has no string that could hold these: both are syntax.
	const first, closed = `{"$schema":"http://json-schema.org/draft-07/schema#",`, `,"additionalProperties":false`
	text := string(raw)
	if !strings.HasPrefix(text, first) {
		return "", fmt.Errorf("the derived schema begins with %.60s", text)
	}
	text = first + strings.Trim(string(head), "{}") + "," + strings.TrimPrefix(text, first)
	if doc.open {
		text = strings.ReplaceAll(text, closed, "")
	}
	if _, err := jsonschema.Compile(json.RawMessage(text)); err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
		return "", err
	}
	return b.String() + "\n", nil
}

// describer builds types like those of toolspec whose fields carry, as tags,
// their descriptions, bounds and closed sets.
type describer struct {
	src  *source
	used map[string]bool
}

func (d *describer) describe(t reflect.Type) (reflect.Type, error) {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return t, nil
	case t.Kind() == reflect.Pointer:
		element, err := d.describe(t.Elem())
		if err != nil {
			return nil, err
		}
		return reflect.PointerTo(element), nil
	case t.Kind() == reflect.Slice:
		element, err := d.describe(t.Elem())
		if err != nil {
			return nil, err
		}
		return reflect.SliceOf(element), nil
	case t.Kind() != reflect.Struct:
		return t, nil
	}
	fields := make([]reflect.StructField, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name := t.Name() + "." + f.Name
		d.used[name] = true
		meaning, err := d.src.meaning(t, f.Name)
		if err != nil {
			return nil, err
		}
		typ, err := d.describe(f.Type)
		if err != nil {
			return nil, err
		}
		rules := bounds[name]
		for _, value := range d.src.values(f.Type.Name()) {
			rules = append(rules[:len(rules):len(rules)], "enum="+value)
		}
		fields = append(fields, reflect.StructField{
			Name: f.Name, Type: typ,
			Tag: reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q jsonschema_description:%q",
				f.Tag.Get("json"), strings.Join(rules, ","), meaning)),
		})
	}
	return reflect.StructOf(fields), nil
}
