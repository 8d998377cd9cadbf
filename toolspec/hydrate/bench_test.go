package hydrate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// benchCall is a call of 2 KiB for a tool of 20 properties.
func benchCall(b *testing.B) (hydrate.Target, json.RawMessage) {
	b.Helper()
	var properties, required, members []string
	for i := range 20 {
		name := fmt.Sprintf("field_%02d", i)
		kind, value := `{"type":"string","maxLength":400}`, fmt.Sprintf("%q", strings.Repeat("text ", 30))
		switch i % 4 {
		case 1:
			kind, value = `{"type":"integer","minimum":0}`, fmt.Sprint(i*1000)
		case 2:
			kind, value = `{"type":"array","items":{"type":"string"}}`, `["one","two","three"]`
		case 3:
			kind, value = `{"type":"boolean"}`, "true"
		}
		if i%4 == 0 && i > 0 {
			value = fmt.Sprintf("%q", strings.Repeat("some words ", 34))
		}
		properties, members = append(properties, fmt.Sprintf("%q:%s", name, kind)), append(members, fmt.Sprintf("%q: %s", name, value))
		required = append(required, fmt.Sprintf("%q", name))
	}
	doc := `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	tool, err := hydrate.TargetOf(toolspec.Spec{Name: "core__bench", InputSchema: json.RawMessage(doc)})
	if err != nil {
		b.Fatal(err)
	}
	args := json.RawMessage("{" + strings.Join(members, ", ") + "}")
	if len(args) < 2<<10 {
		b.Fatalf("the call has %d bytes", len(args))
	}
	return tool, args
}

// BenchmarkHydrate measures a call of 2 KiB: parse, validate, instantiate.
func BenchmarkHydrate(b *testing.B) {
	tool, args := benchCall(b)
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		if r := tool.Hydrate(args); !r.Success {
			b.Fatalf("%+v", r.Errors)
		}
	}
}

// BenchmarkParse measures parse alone, without the validator.
func BenchmarkParse(b *testing.B) {
	tool, args := benchCall(b)
	tool.Validator, tool.AllowNoSchema = nil, true
	b.SetBytes(int64(len(args)))
	b.ReportAllocs()
	for b.Loop() {
		if r := tool.Hydrate(args); !r.Success {
			b.Fatalf("%+v", r.Errors)
		}
	}
}
