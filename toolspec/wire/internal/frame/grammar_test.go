package frame_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec/wire/internal/frame"
)

// edges are texts at the edges of the grammar.
var edges = []string{
	``, ` `, `0`, `-0`, `01`, `-`, `1.`, `.5`, `1.5e`, `1.5e+3`, `1E400`, `+1`, `NaN`, `Infinity`, `1e`, `0x1`, `- 1`,
	`true`, `tru`, `truee`, `null`, `false`, `nul`, `"`, `"a`, `"a"`, `"\`, `"\"`, `"\u12"`, `"\u12G4"`, `"\ud83d\ude00"`, `"\ud83d"`,
	"\"a\nb\"", "\"\x7f\"", "\"\xff\"", "\"\x00\"", `"\x41"`, `"\/\b\f\n\r\t\\"`, `'a'`,
	`{}`, `{ }`, `{"a":1}`, `{"a":1,}`, `{"a" : [1 , {"b":null}] }`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1}{}`, `{"a":1`, `{,}`,
	`[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[[[]]]`, `[1`, `[]]`, `[}`, "\ufeff{}", `{"a":1} x`, " {\"a\":1}\r\n\t", "{\"a\":1}\v",
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
}

func TestGrammar(t *testing.T) {
	for _, text := range edges {
		sameAsStandard(t, []byte(text))
	}
}

func FuzzGrammar(f *testing.F) {
	for _, text := range edges[:len(edges)-3] {
		f.Add([]byte(text))
	}
	f.Fuzz(sameAsStandard)
}

func sameAsStandard(t *testing.T, text []byte) {
	if _, err := frame.Parse(text); (err == nil) != json.Valid(text) {
		t.Errorf("Parse(%.100q) answers %v; encoding/json says valid: %v", text, err, json.Valid(text))
	}
}

func BenchmarkPick(b *testing.B) {
	event := []byte(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"location\": \"San Fra"}}`)
	var got [3]frame.Value
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		v, err := frame.Parse(event)
		if err == nil {
			err = v.Pick(got[:], "type", "index", "delta")
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
