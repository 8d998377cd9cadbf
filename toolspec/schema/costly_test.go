package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
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

// TestProjectHasABound: the work of Project does not grow with the number of ways that lead to a schema. The document in "below each
// other" has 2^48 such ways.
func TestProjectHasABound(t *testing.T) {
	defs, at := []string{}, ""
	for _, name := range []string{"a", "b", "c"} {
		for i := range 16 {
			defs = append(defs, fmt.Sprintf(`"%[1]s%[2]d":{"allOf":[{"$ref":"#/$defs/%[1]s%[3]d"},{"$ref":"#/$defs/%[1]s%[3]d"}]}`, name, i, i+1))
		}
		defs = append(defs, fmt.Sprintf(`"%[1]s16":{"type":"object","properties":{"%[2]s":{"$ref":"#/$defs/%[2]s0"}}}`, name, string(name[0]+1)))
		at += "/" + name
	}
	defs = append(defs, `"d0":{"type":"string"}`)
	deep := `{"type":"object","properties":{"a":{"$ref":"#/$defs/a0"}},"$defs":{` + strings.Join(defs, ",") + `}}`
	wide := `{"type":"object","$defs":{"x":{"type":"object","properties":{"k":{"properties":{"m":{"properties":{` + schematest.Listed(4000, `"%s":{}`) + `}}}},"s":{}}}},"properties":{` +
		schematest.Listed(4000, `"%s":{"$ref":"#/$defs/x"}`) + `}}`
	for name, c := range map[string]struct{ doc, allow string }{
		"below each other": {deep, at + "/d"},
		"kept whole":       {wide, "/*/k"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := Project(json.RawMessage(c.doc), []string{c.allow})
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 400 || took > 10*time.Second {
				t.Errorf("%d MiB, %v", mb, took)
			}
			if err == nil || !strings.Contains(err.Error(), "written out") {
				t.Errorf("got %v", err)
			}
		})
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

// TestLintVisitsOnce: the time of Lint does not grow with the square of the number of references.
func TestLintVisitsOnce(t *testing.T) {
	t.Parallel()
	var fields strings.Builder
	for i := range 7000 {
		fmt.Fprintf(&fields, `"f%d":{"$ref":"#/$defs/a"},`, i)
	}
	doc := json.RawMessage(`{"type":"object","properties":{` + fields.String() + `"z":{"$ref":"#/$defs/loop"}},"$defs":{` +
		`"a":{"properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"type":"string"},"loop":{"properties":{"next":{"items":{"$ref":"#/$defs/loop"}}}}}}`)
	began := time.Now()
	findings, err := Lint(doc)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
	var recursive []string
	for _, f := range findings {
		if strings.Contains(f.Text, "recursive") {
			recursive = append(recursive, f.Pointer)
		}
	}
	if want := []string{"/$defs/loop/properties/next/items/$ref"}; !slices.Equal(recursive, want) {
		t.Errorf("recursive are %v, want %v", recursive, want)
	}
}
