package jsonschema

import (
	"encoding/json"
	"flag"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

func compiled(t testing.TB, doc string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(doc))
	if err != nil {
		t.Fatalf("compile %s: %v", doc, err)
	}
	return s
}

// first returns the message of the first problem, "" for a valid instance.
func first(s *Schema, instance string) string {
	if problems := s.Validate(json.RawMessage(instance)); problems != nil {
		return problems[0].Message
	}
	return ""
}
