package hydrate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const readSchema = `{
	"type": "object", "additionalProperties": false, "required": ["path"],
	"properties": {
		"path": {"type": "string", "maxLength": 20}, "limit": {"type": "integer", "minimum": 1}, "deep": {"type": "boolean"},
		"lines": {"type": "array", "items": {"type": "integer"}}, "where": {"$ref": "#/$defs/where"}
	},
	"$defs": {"where": {"type": "object", "additionalProperties": false, "properties": {"root": {"type": "string"}, "n": {"type": "number"}}}}
}`

func target(t testing.TB, change ...func(*toolspec.Spec)) hydrate.Target {
	t.Helper()
	spec := toolspec.Spec{Name: "core__read_file", InputSchema: json.RawMessage(readSchema), Digest: "tool-digest", SchemaHash: "schema-hash"}
	for _, c := range change {
		c(&spec)
	}
	tool, err := hydrate.TargetOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func quoted(t testing.TB, s string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestTolerances: each tolerance is recorded by name. The parser refuses everything else, and alters nothing.
func TestTolerances(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string // text is the content of a JSON string
		tolerances       []string
		kind             string
	}{
		{"strict", `{"path":"a"}`, `{"path":"a"}`, []string{"string_wrapped"}, ""},
		{"white space of JSON", "  {\"path\":\"a\"}\n", `{"path":"a"}`, []string{"string_wrapped"}, ""},
		{"white space that JSON does not know", "\u00a0{\"path\":\"a\"}\u2003\v", `{"path":"a"}`, []string{"string_wrapped", "white_space"}, ""},
		{"single quotes", `{'path':'a'}`, `{"path":"a"}`, []string{"string_wrapped", "single_quotes"}, ""},
		{"both", "\u00a0{'path':'a'}", `{"path":"a"}`, []string{"string_wrapped", "white_space", "single_quotes"}, ""},
		{"quotes inside", `{'path':'a "b" \'c\''}`, `{"path":"a \"b\" 'c'"}`, []string{"string_wrapped", "single_quotes"}, ""},
		{"an apostrophe in double quotes is none", `{"path":"it's"}`, `{"path":"it's"}`, []string{"string_wrapped"}, ""},
		{"mixed quotes with an apostrophe", `{'path':"it's"}`, `{"path":"it's"}`, []string{"string_wrapped", "single_quotes"}, ""},
		{"an apostrophe in a text", `it's {"path":1}`, "", []string{"string_wrapped"}, "invalid_json"},
		{"a quote that is not closed", `{'path':'a}`, "", []string{"string_wrapped"}, "invalid_json"},
		{"text behind single quotes", `{'path':'a'} and so on`, "", []string{"string_wrapped", "single_quotes"}, "trailing_text"},
		{"NaN in single quotes", `{'limit':NaN}`, "", []string{"string_wrapped", "single_quotes"}, "not_finite"},
		{"a key twice in single quotes", `{'path':'a','path':'b'}`, "", []string{"string_wrapped", "single_quotes"}, "repeated_key"},
		{"a trailing comma is not overlooked", `{"path":"a",}`, "", []string{"string_wrapped"}, "invalid_json"},
		{"a fence is not overlooked", "```json\n{}\n```", "", []string{"string_wrapped"}, "invalid_json"},
		{"wrapped twice", `"{\"path\":\"a\"}"`, "", []string{"string_wrapped"}, "type_mismatch"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := target(t).Hydrate(quoted(t, tc.text))
			if !slices.Equal(r.Provenance.Tolerances, tc.tolerances) {
				t.Errorf("overlooked %q, want %q", r.Provenance.Tolerances, tc.tolerances)
			}
			got, ok := r.Instance()
			switch {
			case tc.kind == "" && (!ok || string(got.Args()) != tc.want):
				t.Errorf("got %s, %+v", got.Args(), r.Errors)
			case tc.kind != "" && (ok || r.Errors[0].Detail.Kind != tc.kind || r.Errors[0].Stage != toolspec.HydrationParse):
				t.Errorf("got %s, %+v, want %s", got.Args(), r.Errors, tc.kind)
			}
		})
	}
	if r := target(t).Hydrate(json.RawMessage(`{"path":"a"}`)); !r.Success || r.Provenance.Tolerances != nil {
		t.Errorf("an object: %+v", r)
	}
}

// TestStructuredErrors: every error has a path, a kind, an expectation, what came, and a sentence. The first error decides. The forms of
// VA-01 to VA-04 are kept.
func TestStructuredErrors(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		want       []toolspec.Problem
	}{
		{"missing and wrong", `{"limit":"7"}`, []toolspec.Problem{
			{Path: "/path", Kind: "missing_required", Message: "Missing required field: path", Expected: "string"},
			{Path: "/limit", Kind: "type_mismatch", Message: "Invalid type for field: limit", Expected: "integer", Got: "string"},
		}},
		{"behind a reference", `{"path":"a","where":{"n":"x"}}`, []toolspec.Problem{
			{Path: "/where/n", Kind: "type_mismatch", Message: "Invalid type for field: where/n", Expected: "number", Got: "string"},
		}},
		{"in an array", `{"path":"a","lines":[1,null]}`, []toolspec.Problem{
			{Path: "/lines/1", Kind: "type_mismatch", Message: "Invalid type for field: lines/1", Expected: "integer", Got: "null"},
		}},
		{"a value", `{"path":"a","limit":0}`, []toolspec.Problem{
			{Path: "/limit", Kind: "invalid_value", Message: "Invalid value for field: limit (must be ≥ 1)", Got: "number"},
		}},
		{"an unknown name", `{"path":"a","__proto__":1}`, []toolspec.Problem{
			{Path: "/__proto__", Kind: "unknown_property", Message: `Unknown field: "__proto__"`, Got: "number"},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := target(t).Hydrate(json.RawMessage(tc.args))
			if got := r.Problems(); r.Success || r.Code() != toolspec.CodeValidation || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			for _, e := range r.Errors {
				if e.Stage != toolspec.HydrationValidate || e.Message != e.Detail.Message {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// TestRefusedArgumentsLeaveNoValue: no result of refused arguments contains a canary, wherever the arguments contain it.
func TestRefusedArgumentsLeaveNoValue(t *testing.T) {
	const canary = "hunter2canary"
	tool := target(t)
	tool.Repairer = hydrate.Careful{}
	for _, args := range []json.RawMessage{
		json.RawMessage(`{"path":1,"password":"` + canary + `"}`), json.RawMessage(`{"where":{"root":["` + canary + `"]}}`), json.RawMessage(`["` + canary + `"]`),
		quoted(t, `{"path":"`+canary), quoted(t, canary), quoted(t, `{'path':'`+canary+`'}}`), quoted(t, `{path: "`+canary+`"`),
		quoted(t, `{"path":"`+canary+`","path":1}`), quoted(t, `{"path":NaN,"x":"`+canary+`"}`), quoted(t, "```\n"+canary+"\n```"),
	} {
		r := tool.Hydrate(args)
		if text, err := json.Marshal(r); r.Success || err != nil || bytes.Contains(text, []byte(canary)) || bytes.Contains(text, []byte("hunter")) {
			t.Errorf("%s gives %s, %v", args, text, err)
		}
		if r.Provenance.Original == "" || len(r.Provenance.OriginalDigest) != 64 || r.Provenance.OriginalBytes != len(args) {
			t.Errorf("%s: %+v", args, r.Provenance)
		}
	}
}

// TestRepair: a target without a repairer repairs nothing. With a repairer, repaired arguments are validated, marked and named, and
// arguments that would need a guess stay refused.
func TestRepair(t *testing.T) {
	for _, tc := range []struct {
		name    string
		args    json.RawMessage
		want    string
		repairs []string
	}{
		{"a text for a number", json.RawMessage(`{"path":"a","limit":"7"}`), `{"limit":7,"path":"a"}`, []string{"text_to_number"}},
		{"a text for a boolean", json.RawMessage(`{"path":"a","deep":"true"}`), `{"deep":true,"path":"a"}`, []string{"text_to_boolean"}},
		{"a number for a text", json.RawMessage(`{"path":7}`), `{"path":"7"}`, []string{"number_to_text"}},
		{"a number that text could be in two ways", json.RawMessage(`{"path":1.10}`), "", nil},
		{"a number that is written otherwise", json.RawMessage(`{"path":1e3}`), "", nil},
		{"a whole number with a point", json.RawMessage(`{"path":7.0}`), "", nil},
		{"minus nothing", json.RawMessage(`{"path":-0}`), "", nil},
		{"behind a reference", json.RawMessage(`{"path":"a","where":{"n":"1.5"}}`), `{"path":"a","where":{"n":1.5}}`, []string{"text_to_number"}},
		{"in an array", json.RawMessage(`{"path":"a","lines":["1",2,"3"]}`), `{"lines":[1,2,3],"path":"a"}`, []string{"text_to_number"}},
		{"an escape between single quotes", quoted(t, `{path: 'a\tb\'c'}`), `{"path":"a\tb'c"}`, []string{"single_quotes", "unquoted_key"}},
		{"an array as a text", json.RawMessage(`{"path":"a","lines":"[1,2]"}`), `{"lines":[1,2],"path":"a"}`, []string{"text_to_document"}},
		{"a trailing comma", quoted(t, `{"path":"a",}`), `{"path":"a"}`, []string{"trailing_comma"}},
		{"names without quotes", quoted(t, `{path: "a", limit: 1}`), `{"limit":1,"path":"a"}`, []string{"unquoted_key"}},
		{"a fence", quoted(t, "```json\n{\"path\":\"a\"}\n```"), `{"path":"a"}`, []string{"markdown_fence"}},
		{"words of Python", quoted(t, `{"path":"a","deep":True}`), `{"deep":true,"path":"a"}`, []string{"python_word"}},
		{"much at once", quoted(t, "```\n{path: 'True, None,}', deep: False, limit: '3',}\n```"), `{"deep":false,"limit":3,"path":"True, None,}"}`,
			[]string{"markdown_fence", "python_word", "single_quotes", "trailing_comma", "unquoted_key", "text_to_number"}},
		{"cut off", quoted(t, `{"path":"/etc/pas`), "", nil},
		{"cut off behind a value", quoted(t, `{"path":"a","limit":1`), "", nil},
		{"text behind it", quoted(t, `{"path":"a"} done`), "", nil},
		{"a key twice", quoted(t, `{"path":"a","path":"b"}`), "", nil},
		{"NaN", quoted(t, `{"path":"a","limit":NaN}`), "", nil},
		{"a missing field", json.RawMessage(`{"limit":"7"}`), "", nil},
		{"an unknown field", json.RawMessage(`{"path":"a","size":"7"}`), "", nil},
		{"no number", json.RawMessage(`{"path":"a","limit":"seven"}`), "", nil},
		{"a number that float64 rounds", json.RawMessage(`{"path":"a","where":{"n":"9007199254740993"}}`), "", nil},
		{"out of range once mended", json.RawMessage(`{"path":"a","limit":"0"}`), "", []string{"text_to_number"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tool := target(t)
			plain := tool.Hydrate(tc.args)
			if plain.Success || plain.Provenance.Repairer != "" {
				t.Fatalf("without a repairer: %+v", plain)
			}
			tool.Repairer = hydrate.Careful{}
			r := tool.Hydrate(tc.args)
			got, ok := r.Instance()
			if !slices.Equal(r.Provenance.Repairs, tc.repairs) || string(got.Args()) != tc.want {
				t.Errorf("got %s by %q: %+v", got.Args(), r.Provenance.Repairs, r.Errors)
			}
			if ok != (tc.want != "") || r.Provenance.Repaired != ok || ok && (r.Provenance.Repairer != "careful" || len(r.Provenance.Problems) == 0 || r.Provenance.Original == "") {
				t.Errorf("provenance %+v", r.Provenance)
			}
			if !ok && !reflect.DeepEqual(r.Errors, plain.Errors) {
				t.Errorf("the errors became %+v, from %+v", r.Errors, plain.Errors)
			}
		})
	}
}

// twice needs two passes, one for each of two fields.
type twice struct{ asked int }

func (*twice) Name() string { return "twice" }
func (r *twice) Repair(d hydrate.Damage) ([]byte, []string, bool) {
	r.asked++
	return bytes.Replace(d.Text, []byte(`"1"`), []byte(`1`), 1), []string{"one"}, true
}

// TestOneRepairOnly: a repairer that needs a second pass does not get it (HY-09).
func TestOneRepairOnly(t *testing.T) {
	tool, r := target(t), &twice{}
	tool.Repairer = r
	result := tool.Hydrate(json.RawMessage(`{"path":"a","limit":"1","where":{"n":"1"}}`))
	if result.Success || r.asked != 1 || !slices.Equal(result.Provenance.Repairs, []string{"one"}) || result.Provenance.Repaired {
		t.Errorf("asked %d times: %+v", r.asked, result)
	}
	if result = tool.Hydrate(json.RawMessage(`{"path":"a","limit":"1"}`)); !result.Success || !result.Provenance.Repaired || r.asked != 2 {
		t.Errorf("asked %d times: %+v", r.asked, result)
	}
}

// gives is a repairer that returns arguments which pass, with any ok and any names of repairs.
type gives struct {
	repairs []string
	ok      bool
}

func (gives) Name() string { return "gives" }
func (g gives) Repair(hydrate.Damage) ([]byte, []string, bool) {
	return []byte(`{"path":"a"}`), g.repairs, g.ok
}

// TestRepairNeedsARepair: a repair with ok false, or without names of repairs, is not used.
func TestRepairNeedsARepair(t *testing.T) {
	for name, repairer := range map[string]gives{"disowned": {[]string{"one"}, false}, "without a repair": {nil, true}} {
		tool := target(t)
		tool.Repairer = repairer
		if r := tool.Hydrate(json.RawMessage(`{"path":7}`)); r.Success || r.Provenance.Repaired || r.Provenance.Repairs != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestNoSchema: without a validator hydration fails, unless the tool is declared to need none
// (HY-19).
func TestNoSchema(t *testing.T) {
	forced := hydrate.Target{ToolID: "core__raw", Repairer: hydrate.Careful{}}
	if r := forced.Hydrate(json.RawMessage(`{}`)); r.Success || r.Errors[0].Detail.Kind != hydrate.KindNoSchema || r.Provenance.Outcome != toolspec.HydrationValidate {
		t.Errorf("%+v", r)
	}
	declared := target(t, func(s *toolspec.Spec) { s.NoSchema, s.NoSchemaMode = true, toolspec.NoSchemaAsk })
	r := declared.Hydrate(json.RawMessage(`{"anything":[1]}`))
	if got, ok := r.Instance(); !ok || string(got.Args()) != `{"anything":[1]}` || r.Provenance.Validator != nil {
		t.Errorf("%+v", r)
	}
}

// fake is another validator (VA-21).
type fake struct{}

func (fake) Info() toolspec.ValidatorInfo { return toolspec.ValidatorInfo{Name: "fake", Version: "9"} }
func (fake) Validate(json.RawMessage) []toolspec.Problem {
	return []toolspec.Problem{{Path: "/x", Kind: "fake_kind", Message: "no"}}
}

func TestAnotherValidator(t *testing.T) {
	tool := target(t)
	tool.Validator = fake{}
	r := tool.Hydrate(json.RawMessage(`{"path":"a"}`))
	if r.Success || r.Provenance.Validator.Name != "fake" || r.Problems()[0].Kind != "fake_kind" {
		t.Errorf("%+v", r)
	}
}

// TestResultGolden: the JSON of a success, of each of the three failures, and of a repair (HY-13).
func TestResultGolden(t *testing.T) {
	mending := target(t)
	mending.Repairer = hydrate.Careful{}
	tools := map[string]hydrate.Target{"read_file": target(t), "mended": mending}
	source := json.RawMessage(`{"id":"call_1","function":{"name":"read_file"}}`)
	var results []hydrate.Result
	for _, g := range []hydrate.Given{
		{Provider: "openai", ID: "call_1", Name: "read_file", Args: []byte(`{"path":"a.txt"}`), Source: source},
		{Provider: "openai", ID: "call_2", Name: "read_file", Args: []byte(`{"path":`)},
		{Provider: "openai", ID: "call_3", Name: "read_file", Args: []byte(`{"limit":"7"}`)},
		{Provider: "openai", ID: "call_4", Name: "delete_all", Args: []byte(`{}`)},
		{Provider: "openai", ID: "call_5", Name: "mended", Args: []byte(`{path: 7}`)},
		{Provider: "openai", ID: "call_6", Name: "read_file", Args: []byte(`{"path":"a`), Fault: toolspec.CodeIncomplete},
	} {
		tool, known := tools[g.Name]
		results = append(results, hydrate.Call(tool, known, g))
	}
	got, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "results.golden.json")
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("%v: got %s", err, got)
	}
	for i, code := range []toolspec.Code{"", "invalid_json", "validation", "unavailable", "", "incomplete"} {
		if results[i].Code() != code || results[i].Success != (code == "") {
			t.Errorf("call %d: %s", i+1, results[i].Code())
		}
	}
}

// TestOfText: the text of a provider is in the invocation byte for byte.
func TestOfText(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""}, {" \n", ""}, {`{"a":1.0}`, `{"a":1.0}`}, {`"{\"a\":1}"`, `"{\"a\":1}"`}, {`{'a':1}`, `"{'a':1}"`}, {`{"a":1`, `"{\"a\":1"`},
	} {
		if got, ok := hydrate.OfText([]byte(tc.text)); !ok || string(got) != tc.want {
			t.Errorf("%q gives %s, %v", tc.text, got, ok)
		}
	}
	if got, ok := hydrate.OfText([]byte("{\"a\":\"\xff\"}")); ok {
		t.Errorf("no UTF-8 gives %s", got)
	}
}

// TestInputsAreLeft: concurrent hydrations do not change their arguments, and a call does not affect the decoder of the next call.
func TestInputsAreLeft(t *testing.T) {
	tool := target(t)
	tool.Repairer = hydrate.Careful{}
	inputs := []string{`{"path":"a", "limit": 1}`, `{"path":`, `"{'path':'b'}"`, `"{path: 7,}"`, `{"path":"a","path":"b"}`, `{"limit":"x"}`, `{"path":"c","lines":[1,2,3]}`}
	var wants []string
	for _, in := range inputs {
		wants = append(wants, answer(t, tool, json.RawMessage(in)))
	}
	done := make(chan string)
	for range 4 {
		go func() {
			for i := range 500 {
				raw := json.RawMessage(inputs[i%len(inputs)])
				if got := answer(t, tool, raw); got != wants[i%len(inputs)] || string(raw) != inputs[i%len(inputs)] {
					done <- string(raw) + " gives " + got
					return
				}
			}
			done <- ""
		}()
	}
	for range 4 {
		if wrong := <-done; wrong != "" {
			t.Error(wrong)
		}
	}
}

func answer(t *testing.T, tool hydrate.Target, raw json.RawMessage) string {
	r := tool.Hydrate(raw)
	text, err := json.Marshal(r)
	if err != nil {
		t.Error(err)
	}
	i, _ := r.Instance()
	return string(text) + string(i.Args())
}
