package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

// The price of compiling and of an everyday validation.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(json.RawMessage(ruleDoc)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s := compiled(b, ruleDoc)
	instance := json.RawMessage(`{"n":1,"a.b":"ok","l":[{"id":1},{"id":2}],"o":{"k":true},"z":null}`)
	for b.Loop() {
		if s.Validate(instance) != nil {
			b.Fatal("invalid")
		}
	}
}

// The longest validation that maxEffort lets through.
func BenchmarkValidateAtTheBound(b *testing.B) {
	s := compiled(b, `{"type":"object","properties":{"x":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)
	for depth := 20; ; depth-- {
		instance := json.RawMessage(strings.Repeat(`{"x":`, depth) + `{}` + strings.Repeat(`}`, depth))
		if s.Validate(instance) != nil {
			continue
		}
		for b.Loop() {
			s.Validate(instance)
		}
		return
	}
}
