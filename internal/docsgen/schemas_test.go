package docsgen

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// TestInvocationSchemaAgrees: the bounds of the schema are those of the decoder,
// on both sides of each.
func TestInvocationSchemaAgrees(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t, "invocation")
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	ascii := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	actor := func(n int) string { return `"user:` + strings.Repeat("é", n-len("user:")) + `"` }
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"c__t",`, n), ",") + "]" }
	for _, c := range []struct {
		field, value string
		want         bool
	}{
		{"toolId", `"a__b"`, true},
		{"toolId", `"a__"`, false},
		{"toolId", `"core"`, false},
		{"toolId", `"core__a b"`, false},
		{"toolId", `"a__` + strings.Repeat("b", 61) + `"`, true},
		{"toolId", `"a__` + strings.Repeat("b", 62) + `"`, false},
		{"toolCallId", `""`, false},
		{"toolCallId", long(toolspec.MaxToolCallID), true},
		{"toolCallId", long(toolspec.MaxToolCallID + 1), false},
		{"context.tenantId", ascii(toolspec.MaxTenantID), true},
		{"context.tenantId", ascii(toolspec.MaxTenantID + 1), false},
		{"context.tenantId", `"a/b"`, false},
		{"context.runId", ascii(toolspec.MaxRunID), true},
		{"context.runId", ascii(toolspec.MaxRunID + 1), false},
		{"context.runId", `"ü"`, false},
		{"context.actorId", `""`, false},
		{"context.actorId", `"ann"`, false},
		{"context.actorId", `"user:"`, false},
		{"context.actorId", `"role:ops"`, false},
		{"context.actorId", `"service:a b"`, true},
		{"context.actorId", actor(looseID), true},
		{"context.actorId", actor(looseID + 1), false},
		{"context.subjectId", long(looseID), true},
		{"context.subjectId", long(looseID + 1), false},
		{"context.virtualKeyId", long(looseID + 1), false},
		{"context.toolIds", list(toolspec.MaxToolIDs), true},
		{"context.toolIds", list(toolspec.MaxToolIDs + 1), false},
		{"allowedConnectionIds", list(toolspec.MaxConnections), true},
		{"allowedConnectionIds", list(toolspec.MaxConnections + 1), false},
		{"args", `{"a":[1,null]}`, true},
		{"args", `"{}"`, true},
		{"args", `null`, true},
		{"provider", `{"name":"x","toolCall":[1]}`, true},
		{"provider", `{"names":"x"}`, false},
		{"submitterProof", `"x"`, true},
		{"more", `1`, false},
		{"context.more", `1`, false},
	} {
		doc := invocationWith(t, c.field, c.value)
		if problems := s.Validate(doc); (problems == nil) != c.want {
			t.Errorf("%s = %.40s: the schema says %v, want %v", c.field, c.value, problems, c.want)
		}
		if _, fault := hydrate.Decode(doc); (fault == nil) != c.want {
			t.Errorf("%s = %.40s: the decoder says %v, want %v", c.field, c.value, fault, c.want)
		}
	}
}

// invocationWith is a good invocation with one field set.
func invocationWith(t *testing.T, field, value string) []byte {
	t.Helper()
	context := map[string]json.RawMessage{"tenantId": json.RawMessage(`"t"`), "runId": json.RawMessage(`"r"`), "actorId": json.RawMessage(`"agent:a"`)}
	doc := map[string]any{"toolId": "core__ls", "toolCallId": "c", "context": context}
	if name, inContext := strings.CutPrefix(field, "context."); inContext {
		context[name] = json.RawMessage(value)
	} else {
		doc[field] = json.RawMessage(value)
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestDecisionSchemaAgrees(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t, "decision")
	id := toolspec.Identity{TenantID: "t", RunID: "r", ToolCallID: "c"}.InvocationID()
	good := toolspec.Decision{ApprovalID: toolspec.ApprovalID(id, 1), Decision: toolspec.Approve, Approver: "user:ann"}
	for _, c := range []struct {
		change func(*toolspec.Decision)
		want   bool
	}{
		{func(*toolspec.Decision) {}, true},
		{func(d *toolspec.Decision) { d.ApprovalID = id }, false},
		{func(d *toolspec.Decision) { d.ApprovalID = id + ".0" }, false},
		{func(d *toolspec.Decision) { d.ApprovalID = id + ".12" }, true},
		{func(d *toolspec.Decision) { d.ApprovalID = strings.ToUpper(id) + ".1" }, false},
		{func(d *toolspec.Decision) { d.Decision = "allow" }, false},
		{func(d *toolspec.Decision) { d.Approver = "" }, false},
		{func(d *toolspec.Decision) { d.Approver = strings.Repeat("é", looseID) }, true},
		{func(d *toolspec.Decision) { d.Approver = strings.Repeat("é", looseID+1) }, false},
		{func(d *toolspec.Decision) { d.Reason = strings.Repeat("a", reason) }, true},
		{func(d *toolspec.Decision) { d.Reason = strings.Repeat("a", reason+1) }, false},
	} {
		d := good
		c.change(&d)
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if problems := s.Validate(raw); (problems == nil) != c.want {
			t.Errorf("%.200s: the schema says %v, want %v", raw, problems, c.want)
		}
		if err := d.Check(); (err == nil) != c.want {
			t.Errorf("%.200s: Check says %v, want %v", raw, err, c.want)
		}
	}
}

// TestSchemasTakeWhatIsWritten: a value with every field set, and one with none,
// are what the schema describes; a field of a later version disturbs readers of
// results and states only.
func TestSchemasTakeWhatIsWritten(t *testing.T) {
	t.Parallel()
	src, err := readSource(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range documents {
		s := compiledSchema(t, doc.name)
		full := reflect.New(doc.typ).Elem()
		setAll(src, full, "")
		raw, err := json.Marshal(full.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if problems := s.Validate(raw); problems != nil {
			t.Errorf("%s: %v in %s", doc.name, problems, raw)
		}
		later := append([]byte(`{"fieldOfALaterVersion":1,`), raw[1:]...)
		if problems := s.Validate(later); (problems == nil) != doc.open {
			t.Errorf("%s with a new field: %v", doc.name, problems)
		}
	}
	for name, v := range map[string]any{
		"result": toolspec.Failure(toolspec.CodePolicyDenied, "", nil),
		"state":  toolspec.State{Status: toolspec.StatusRunning, Stage: "admit"},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if problems := compiledSchema(t, name).Validate(raw); problems != nil {
			t.Errorf("%s: %v in %s", name, problems, raw)
		}
	}
}

// setAll gives every field a value that its rules allow.
func setAll(src *source, v reflect.Value, field string) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"any":["JSON",1,null]}`))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		setAll(src, v.Elem(), field)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		setAll(src, v.Index(0), field)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			setAll(src, v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name)
		}
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(7)
	case v.Kind() == reflect.String:
		v.SetString(textFor(src, v.Type(), field))
	}
}

func textFor(src *source, t reflect.Type, field string) string {
	rules := fmt.Sprint(bounds[field])
	switch values := src.values(t.Name()); {
	case len(values) > 0:
		return values[len(values)-1]
	case strings.Contains(rules, approvalIDPattern):
		return toolspec.ApprovalID(toolspec.Identity{}.InvocationID(), 1)
	case strings.Contains(rules, actorPattern):
		return "agent:text"
	case strings.Contains(rules, digestPattern):
		return strings.Repeat("0a", 32)
	}
	return "core__text"
}

// TestSchemasNameTheirSets: every closed set of the vocabulary is one in the
// schemas, whole.
func TestSchemasNameTheirSets(t *testing.T) {
	t.Parallel()
	src, err := readSource(root)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(src.sets["Code"]), len(toolspec.Codes()); got != want {
		t.Errorf("%d codes were read from the source, the table has %d", got, want)
	}
	for name, set := range map[string]string{"result": "Code", "state": "Status", "decision": "Verb"} {
		text := read(t, "docs/schema/"+name+".schema.json")
		for _, value := range src.values(set) {
			if !strings.Contains(text, `"`+value+`"`) {
				t.Errorf("%s lacks %s", name, value)
			}
		}
	}
	if _, err := schema.Derive(reflect.TypeFor[toolspec.Invocation]()); err != nil {
		t.Error(err)
	}
}
