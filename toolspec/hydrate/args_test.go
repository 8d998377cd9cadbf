package hydrate_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

func TestArgs(t *testing.T) {
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	secret := "sk-" + strings.Repeat("a", 20)
	const invalid, bad = toolspec.CodeInvalidJSON, toolspec.CodeValidation
	for _, tc := range []struct {
		name, args, want string
		code             toolspec.Code
		kind, path       string
	}{
		{name: "an object", args: `{"b": 1.0, "a": "\u0061"}`, want: `{"a":"a","b":1}`},
		{name: "a string that holds one", args: quote(`{"b": 1e3}`), want: `{"b":1000}`},
		{name: "absent", want: `{}`},
		{name: "null", args: `null`, want: `{}`},
		{name: "empty", args: `{}`, want: `{}`},
		{name: "-0 is 0", args: `{"a":-0}`, want: `{"a":0}`},
		{name: "64 deep", args: deep(64), want: deep(64)},
		{name: "an array", args: `[1]`, code: bad, kind: "type_mismatch"},
		{name: "a number", args: `1`, code: bad, kind: "type_mismatch"},
		{name: "a string that holds an array", args: quote(`[1]`), code: bad, kind: "type_mismatch"},
		{name: "a string that holds null", args: quote(`null`), code: bad, kind: "type_mismatch"},
		{name: "a string twice wrapped", args: quote(quote(`{}`)), code: bad, kind: "type_mismatch"},
		{name: "a text", args: quote("list the files"), code: invalid, kind: "invalid_json"},
		{name: "an empty string", args: `""`, code: invalid, kind: "invalid_json"},
		{name: "a string cut off", args: quote(`{"a":`), code: invalid, kind: "invalid_json"},
		{name: "a string with text behind", args: quote(`{"a":1}, ok?`), code: invalid, kind: "trailing_text"},
		{name: "a key twice", args: quote(`{"x":{"a":1,"a":2}}`), code: invalid, kind: "repeated_key", path: "/x/a"},
		{name: "a number that float64 rounds", args: `{"x":[1,9007199254740993]}`, code: bad, kind: "inexact_number", path: "/x/1"},
		{name: "a number beyond float64", args: quote(`{"x":1e400}`), code: bad, kind: "inexact_number", path: "/x"},
		{name: "65 deep", args: deep(65), code: bad, kind: "too_complex"},
		{name: "a credential", args: `{"x":["` + secret + `"]}`, code: bad, kind: "secret_shaped", path: "/x/0"},
		{name: "a credential in a string", args: quote(`{"x":"\u0073k-` + strings.Repeat("a", 20) + `"}`), code: bad, kind: "secret_shaped", path: "/x"},
		{name: "a credential for a name", args: `{"x":{"` + secret + `":1}}`, code: bad, kind: "secret_shaped", path: "/x"},
		{name: "a credential for a name, twice", args: quote(`{"x":{"` + secret + `":1,"` + secret + `":1}}`), code: bad, kind: "secret_shaped", path: "/x"},
		{name: "a credential for a name of a bad number", args: `{"` + secret + `":1e400}`, code: bad, kind: "secret_shaped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, fault := hydrate.Args(json.RawMessage(tc.args))
			if tc.code == "" {
				if fault != nil || string(got) != tc.want {
					t.Errorf("got %s, %v, want %s", got, fault, tc.want)
				}
				return
			}
			if fault == nil {
				t.Fatalf("accepted as %s", got)
			}
			if got != nil || fault.Code != tc.code || fault.Problem.Kind != tc.kind || fault.Problem.Path != tc.path {
				t.Errorf("got %+v, want %s, %s at %q", fault, tc.code, tc.kind, tc.path)
			}
			if strings.Contains(fault.Error(), secret) {
				t.Errorf("the fault quotes the credential: %v", fault)
			}
		})
	}
	if _, fault := hydrate.Args(json.RawMessage(quote(`{`))); fault.Problem.Message != "Invalid tool arguments JSON" {
		t.Errorf("the message is %q (ER-08)", fault.Problem.Message)
	}
}
