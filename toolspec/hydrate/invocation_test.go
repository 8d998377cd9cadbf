package hydrate_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// text returns a minimal invocation with more fields at its root and in its context.
func text(root, context string) string {
	return fmt.Sprintf(`{"toolId":"core__ls","toolCallId":"call-1","context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann"%s}%s}`, context, root)
}

func TestDecode(t *testing.T) {
	secret := "sk-" + strings.Repeat("a", 20)
	long := strings.Repeat("n", 300)
	for _, tc := range []struct {
		name, input, kind, path string
	}{
		{"the least", text("", ""), "", ""},
		{"with a line end", text("", "") + "\n", "", ""},
		{"names of secrets inside args are the schema's matter", text(`,"args":{"token":"x"}`, ""), "", ""},
		{"names of secrets inside the provider's call", text(`,"provider":{"toolCall":{"token":"x"}}`, ""), "", ""},
		{"null for what may be absent", text(`,"args":null,"allowedConnectionIds":null,"provider":null`, `,"subjectId":null`), "", ""},
		{"nothing", "", "undecodable", ""},
		{"an array", "[]", "type_mismatch", ""},
		{"null", "null", "invalid_field", "/context/tenantId"},
		{"a string", `"{}"`, "type_mismatch", ""},
		{"no JSON", "canary", "invalid_json", ""},
		{"cut off", text("", "")[:50], "invalid_json", ""},
		{"two values", text("", "") + text("", ""), "trailing_text", ""},
		{"bad UTF-8", text(`,"args":{"a":"`+"\xff"+`"}`, ""), "invalid_utf8", "/args/a"},
		{"a lone surrogate", text(`,"args":{"a":"\ud800"}`, ""), "lone_surrogate", "/args/a"},
		{"a key twice", text(`,"toolId":"core__ls"`, ""), "repeated_key", "/toolId"},
		{"a key twice in the context", text("", `,"tenantId":"other"`), "repeated_key", "/context/tenantId"},
		{"a key twice in args", text(`,"args":{"a":1,"a":2}`, ""), "repeated_key", "/args/a"},
		{"an unknown field", text(`,"tool":"x"`, ""), "unknown_field", "/tool"},
		{"an unknown field in the context", text("", `,"userId":"x"`), "unknown_field", "/context/userId"},
		{"an unknown field in the provider", text(`,"provider":{"id":"x"}`, ""), "unknown_field", "/provider/id"},
		{"another case", text(`,"ToolID":"x"`, ""), "unknown_field", "/ToolID"},
		{"a long unknown field", text(`,"`+long+`":1`, ""), "unknown_field", "/" + long[:199] + "…"},
		{"the wrong type", text("", `,"subjectId":7`), "type_mismatch", "/context/subjectId"},
		{"the wrong type of an element", text(`,"allowedConnectionIds":["c",7]`, ""), "type_mismatch", "/allowedConnectionIds/1"},
		{"a number beyond float64", text(`,"args":{"a":1e400}`, ""), "inexact_number", "/args/a"},
		{"65 deep", text(`,"args":`+strings.Repeat("[", 65)+strings.Repeat("]", 65), ""), "too_complex", ""},
		{"the name of a secret", text(`,"apiKey":"canary"`, ""), "secret_shaped", "/apiKey"},
		{"the name of a secret in the context", text("", `,"access_token":"canary"`), "secret_shaped", "/context/access_token"},
		{"the name of a secret in the provider", text(`,"provider":{"Authorization":"canary"}`, ""), "secret_shaped", "/provider/Authorization"},
		{"the name of a secret, escaped", text(`,"\u0070assword":"canary"`, ""), "secret_shaped", "/password"},
		{"a secret in args", text(`,"args":{"a":[{"b":"`+secret+`"}]}`, ""), "secret_shaped", "/args/a/0/b"},
		{"a secret in args as a string", text(`,"args":"{\"a\":\"`+secret+`\"}"`, ""), "secret_shaped", "/args"},
		{"a secret in the provider's call", text(`,"provider":{"toolCall":"`+secret+`"}`, ""), "secret_shaped", "/provider/toolCall"},
		{"a secret for an actor", text("", `,"subjectId":"`+secret+`"`), "secret_shaped", "/context/subjectId"},
		{"a secret, escaped", text(`,"args":{"a":"\u0073k-`+strings.Repeat("a", 20)+`"}`, ""), "secret_shaped", "/args/a"},
		{"a secret for a name", text(`,"args":{"`+secret+`":1}`, ""), "secret_shaped", "/args"},
		{"a secret for an unknown name", text(`,"`+secret+`":1`, ""), "secret_shaped", ""},
		{"a secret for a name, twice", text(`,"args":{"`+secret+`":1,"`+secret+`":1}`, ""), "invalid_json", "/args"},
		{"a secret for a name with a bad value", text(`,"args":{"`+secret+`":x}`, ""), "invalid_json", "/args"},
		{"no tenant", strings.Replace(text("", ""), `"acme"`, `""`, 1), "invalid_field", "/context/tenantId"},
		{"no actor", strings.Replace(text("", ""), `"user:ann"`, `""`, 1), "invalid_field", "/context/actorId"},
		{"no call id", strings.Replace(text("", ""), `"call-1"`, `""`, 1), "invalid_field", "/toolCallId"},
		{"a tool without namespace", strings.Replace(text("", ""), `core__ls`, `ls`, 1), "invalid_field", "/toolId"},
		{"args as large as they may be", text(`,"args":"`+strings.Repeat("x", toolspec.MaxInline-2)+`"`, ""), "", ""},
		{"args too large", text(`,"args":"`+strings.Repeat("x", toolspec.MaxInline-1)+`"`, ""), "invalid_field", "/args"},
		{"as large as it may be", text("", "") + strings.Repeat(" ", toolspec.MaxInvocation-len(text("", ""))), "", ""},
		{"too large", text("", "") + strings.Repeat(" ", toolspec.MaxInvocation+1-len(text("", ""))), "too_large", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inv, fault := hydrate.Decode([]byte(tc.input))
			if tc.kind == "" {
				if fault != nil || inv.ToolCallID != "call-1" {
					t.Fatalf("refused: %v", fault)
				}
				return
			}
			if fault == nil {
				t.Fatal("accepted")
			}
			if fault.Problem.Kind != tc.kind || fault.Problem.Path != tc.path || fault.Code != toolspec.CodeValidation {
				t.Errorf("got %+v, want %s at %q", fault, tc.kind, tc.path)
			}
			if !reflect.DeepEqual(inv, toolspec.Invocation{}) {
				t.Errorf("a refused invocation was returned: %+v", inv)
			}
			if s := fault.Error(); s == "" || strings.Contains(s, secret) || strings.Contains(s, "canary") || len(s) > 500 {
				t.Errorf("the fault says %s", s)
			}
		})
	}
}

// TestDecodeKeepsEverything: Decode returns every field.
func TestDecodeKeepsEverything(t *testing.T) {
	want := invocation()
	encoded, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, fault := hydrate.Decode(encoded)
	if fault != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, fault)
	}
}

// TestFaultsHoldNoValues: the fault of a refused input contains no canary, wherever the input
// contains it.
func TestFaultsHoldNoValues(t *testing.T) {
	const canary = "canary4711"
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{
			`"` + canary + `"`, `["` + canary + `"]`, `{"a":"` + canary + `"}`, `"` + canary, `"` + canary + "\xff\"", canary,
			`"sk-` + canary + strings.Repeat("a", 20) + `"`, `{"a":1,"a":"` + canary + `"}`,
		})
		fields := rapid.MapOfN(rapid.SampledFrom([]string{
			"toolId", "toolCallId", "args", "context", "allowedConnectionIds", "provider", "submitterProof", "token", "unknown", "apiKey",
		}), value, 1, 6).Draw(t, "fields")
		var parts []string
		for name, v := range fields {
			parts = append(parts, `"`+name+`":`+v)
		}
		input := "{" + strings.Join(parts, ",") + "}"
		for _, in := range []string{input, text(","+input[1:len(input)-1], ""), text("", `,"graphId":`+fields["args"]+` `)} {
			if _, fault := hydrate.Decode([]byte(in)); fault != nil && strings.Contains(fmt.Sprintf("%+v", *fault), canary) {
				t.Fatalf("%s gives %+v", in, *fault)
			}
		}
		for _, v := range fields {
			if _, fault := hydrate.Args(json.RawMessage(v)); fault != nil && strings.Contains(fmt.Sprintf("%+v", *fault), canary) {
				t.Fatalf("arguments %s give %+v", v, *fault)
			}
		}
	})
}

// FuzzDecode: no input panics, and an accepted invocation is the same when it is written and read
// again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(text("", "")))
	f.Add([]byte(text(`,"args":{"a":[1,"x",null]},"provider":{"name":"p","toolCall":[]}`, `,"toolIds":["a__b"]`)))
	f.Add([]byte(text(`,"args":"{\"a\":1}"`, "")))
	f.Add([]byte(`{"toolId":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		inv, fault := hydrate.Decode(data)
		if fault != nil {
			if fault.Error() == "" || fault.Code == "" || fault.Problem.Kind == "" || len(fault.Error()) > 1000 {
				t.Fatalf("fault %+v", fault)
			}
			return
		}
		if err := inv.Check(); err != nil {
			t.Fatalf("accepted in spite of %v", err)
		}
		encoded, err := json.Marshal(inv)
		if err != nil {
			t.Fatal(err)
		}
		again, fault := hydrate.Decode(encoded)
		if len(encoded) <= toolspec.MaxInvocation && len(again.Args) <= toolspec.MaxInline && fault != nil {
			if fault.Problem.Path == "/args" && len(inv.Args) > toolspec.MaxInline/6 {
				t.Skip("escapes made it larger")
			}
			t.Fatalf("%s is not accepted again: %v", encoded, fault)
		}
		if fault != nil {
			return
		}
		first, err := hydrate.InputDigest(inv)
		if err != nil {
			t.Fatal(err)
		}
		second, err := hydrate.InputDigest(again)
		if err != nil || first != second || again.Identity() != inv.Identity() {
			t.Fatalf("%s became another call: %s", data, encoded)
		}
		if _, fault := hydrate.Args(inv.Args); fault != nil && fault.Error() == "" {
			t.Fatalf("fault %+v", fault)
		}
	})
}
