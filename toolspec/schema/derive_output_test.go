package schema_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema"
)

func TestDeriveOutput(t *testing.T) {
	type named string
	for _, tc := range []struct {
		of      reflect.Type
		accepts []string
		refuses []string
	}{
		{reflect.TypeFor[string](), []string{`""`, `"a\nb"`}, []string{`1`, `null`, `{}`, `["a"]`}},
		{reflect.TypeFor[named](), []string{`"x"`}, []string{`1`}},
		{reflect.TypeFor[int8](), []string{`-128`, `127`}, []string{`128`, `"1"`, `1.5`}},
		{reflect.TypeFor[bool](), []string{`true`}, []string{`null`}},
		{reflect.TypeFor[json.Number](), []string{`1e3`}, []string{`"1"`}},
		{reflect.TypeFor[[]string](), []string{`[]`, `["a"]`, `null`}, []string{`[1]`, `"a"`}},
		{reflect.TypeFor[map[string]int](), []string{`{"a":1}`, `null`}, []string{`{"a":"b"}`, `[]`}},
		{reflect.TypeFor[json.RawMessage](), []string{`1`, `"a"`, `[{}]`, `null`}, nil},
		{reflect.TypeFor[time.Time](), []string{`"2026-01-02T03:04:05Z"`}, []string{`1`}},
		{reflect.TypeFor[toolspec.Parts](), []string{`[]`, `null`, `[{"type":"text","text":"a"}]`, `[{"type":"image","mediaType":"image/png","data":"AAAA"}]`},
			[]string{`[{"type":"video"}]`, `[{"text":"a"}]`, `[{"type":"text","more":1}]`, `{"type":"text"}`}},
		{reflect.TypeFor[*struct {
			A string `json:"a"`
		}](), []string{`{"a":""}`}, []string{`null`, `{}`, `"a"`}},
	} {
		doc, err := schema.DeriveOutput(tc.of)
		if err != nil {
			t.Errorf("%v: %v", tc.of, err)
			continue
		}
		compiled, err := jsonschema.CompileValue(doc)
		if err != nil {
			t.Errorf("%v: %v in %s", tc.of, err, doc)
			continue
		}
		for _, value := range tc.accepts {
			if problems := compiled.Validate([]byte(value)); len(problems) > 0 {
				t.Errorf("%v refuses %s: %v", tc.of, value, problems)
			}
		}
		for _, value := range tc.refuses {
			if len(compiled.Validate([]byte(value))) == 0 {
				t.Errorf("%v accepts %s by %s", tc.of, value, doc)
			}
		}
	}
	for _, refused := range []reflect.Type{nil, reflect.TypeFor[func()](), reflect.TypeFor[**string](), reflect.TypeFor[chan int](), reflect.TypeFor[map[int]string]()} {
		if doc, err := schema.DeriveOutput(refused); err == nil {
			t.Errorf("%v has the schema %s", refused, doc)
		}
	}
}

// TestPartsSchema compares the document in package toolspec, which cannot derive it, with the derived
// document.
func TestPartsSchema(t *testing.T) {
	doc, err := schema.DeriveOutput(reflect.TypeFor[toolspec.Parts]())
	if err != nil || string(doc) != string(toolspec.PartsSchema()) {
		t.Errorf("derived %s, %v", doc, err)
	}
}
