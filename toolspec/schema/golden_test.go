package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// golden compares an indented document with testdata/name.
func golden(t *testing.T, name string, doc json.RawMessage) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, b.Bytes()) {
		t.Errorf("%s differs; got\n%s", file, b.Bytes())
	}
}

func compiled(t testing.TB, doc string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.Compile(json.RawMessage(doc))
	if err != nil {
		t.Fatalf("compile %s: %v", doc, err)
	}
	return s
}

// first returns the message of the first problem, "" for a valid instance.
func first(s *jsonschema.Schema, instance string) string {
	if problems := s.Validate(json.RawMessage(instance)); problems != nil {
		return problems[0].Message
	}
	return ""
}
