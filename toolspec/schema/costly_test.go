package schema

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
)

// TestStrictFormVisitsOnce: the strict form visits each schema once, even if many references lead
// to it.
func TestStrictFormVisitsOnce(t *testing.T) {
	doc := strings.ReplaceAll(schematest.Doubling(16, `{"type":"string"}`), "allOf", "anyOf")
	doc = strings.Replace(doc, `"v":`, schematest.Listed(4000, `"%s":{"$ref":"#/$defs/d0"}`)+`,"v":`, 1)
	start := time.Now()
	if _, err := Down(json.RawMessage(doc), OpenAIStrict); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Error(took)
	}
}

// TestStrictFormListsOnce: the strict form lists alternatives once, even if many fields refer to
// them.
func TestStrictFormListsOnce(t *testing.T) {
	doc := `{"type":"object","properties":{` + schematest.Listed(2000, `"%s":{"$ref":"#/$defs/d"}`) + `},"$defs":{"d":{"anyOf":[` + schematest.Listed(2900, `{"const":"%s"}`) + `]}}}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Down(json.RawMessage(doc), OpenAIStrict); err != nil {
		t.Error(err)
	}
	runtime.ReadMemStats(&after)
	if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 200 {
		t.Errorf("%d MiB", mb)
	}
}

// TestLongNamesAreNotCopied: places with long names need no more memory than the document.
func TestLongNamesAreNotCopied(t *testing.T) {
	long := strings.Repeat("n", 100_000)
	for name, doc := range map[string]string{
		"pointers": `{"type":"object","properties":{"` + long + `":{"properties":{` + schematest.Listed(8000, `"%s":{}`) + `}},"r":{"$ref":"#/properties/s"},"s":{}}}`,
		"anchors": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","allOf":[{"properties":{"q":{}}}],` +
			`"properties":{"` + long + `":{"$id":"#a"},` + schematest.Listed(5000, `"%s":{"$ref":"#a"}`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := Close(json.RawMessage(doc))
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 {
				t.Errorf("%d MiB", mb)
			}
			if (err == nil) != (name == "pointers") {
				t.Errorf("err = %v", err)
			}
		})
	}
}

// TestWrittenOutHasABound: a document with its references written out has at most the size of a
// document.
func TestWrittenOutHasABound(t *testing.T) {
	long := strings.Repeat("d", 20_000)
	var inEachOther strings.Builder // references to the schemas of a chain
	for i := range 25 {
		inEachOther.WriteString(`{"$ref":"#/$defs/x` + strings.Repeat("/properties/p", i) + `"},`)
	}
	for name, doc := range map[string]string{
		"a description": `{"type":"object","$defs":{"x":{"type":"string","description":"` + long + `"}},"properties":{` + schematest.Listed(2400, `"%s":{"$ref":"#/$defs/x"}`) + `}}`,
		"an enum":       `{"type":"object","$defs":{"x":{"type":"string","enum":["` + long + `"]}},"properties":{` + schematest.Listed(2400, `"%s":{"$ref":"#/$defs/x"}`) + `}}`,
		"a name":        `{"type":"object","$defs":{"x":{"properties":{"` + long + `":{"type":"null"}}}},"properties":{` + schematest.Listed(2000, `"%s":{"$ref":"#/$defs/x"}`) + `}}`,
		"alternatives": `{"type":"object","$defs":{"x":{"type":"string","description":"` + long + `"}},"properties":{` +
			schematest.Listed(1200, `"%[1]s":{"anyOf":[{"$ref":"#/$defs/x"},{"type":"string","enum":["%[1]s"]}]}`) + `}}`,
		"a rule beside alternatives": `{"type":"object","$defs":{"x":{"type":"string","description":"` + long + `"}},"properties":{` +
			schematest.Listed(1200, `"%[1]s":{"type":"string","anyOf":[{"$ref":"#/$defs/x"},{"enum":["%[1]s"]}]}`) + `}}`,
		"parts": `{"type":"object","$defs":{"x":{"type":"string","description":"` + long + `"}},"properties":{` +
			schematest.Listed(1200, `"%[1]s":{"allOf":[{"$ref":"#/$defs/x"},{"enum":["%[1]s"]}]}`) + `}}`,
		"parts of the root": `{"type":"object","$defs":{"x":{"properties":{` + schematest.Listed(10_000, `"%s":{}`) + `}}},"allOf":[` +
			strings.Repeat(`{"$ref":"#/$defs/x"},`, 6000) + `{}]}`,
		"alternatives of the root": `{"type":"object","$defs":{"x":{"properties":{` + schematest.Listed(10_000, `"%s":{}`) + `}}},"anyOf":[` +
			strings.Repeat(`{"$ref":"#/$defs/x"},`, 6000) + `{}]}`,
		"parts in each other": `{"type":"object","$defs":{"x":` + strings.Repeat(`{"properties":{"p":`, 25) +
			`{"description":"` + long + `","properties":{` + schematest.Listed(2000, `"%s":{}`) + `}}` + strings.Repeat(`}}`, 25) + `},"allOf":[` + inEachOther.String() + `{}]}`,
	} {
		for _, target := range allTargets() {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			sent, err := Down(json.RawMessage(doc), target)
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 100 || took > 10*time.Second {
				t.Errorf("%s, %s: %d MiB, %v", name, target, mb, took)
			}
			if err == nil && len(sent.Document) > 5*len(doc) {
				t.Errorf("%s, %s: %d bytes for %d", name, target, len(sent.Document), len(doc))
			}
			inlines := target == Gemini || target == Ollama || name == "parts in each other" && dialects[target].words == nil
			if inlines && (err == nil || !strings.Contains(err.Error(), "written out")) {
				t.Errorf("%s, %s: got %v", name, target, err)
			}
		}
	}
}
