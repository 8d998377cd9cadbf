package schema

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
)

// TestCloseCompiles: a valid document stays valid when it is closed, even if the newer draft has a
// rule for a word that has no meaning in the draft of the document.
func TestCloseCompiles(t *testing.T) {
	words := []string{
		"title", "description", "default", "examples", "$comment", "readOnly", "writeOnly", "deprecated", "contentMediaType",
		"contentEncoding", "contentSchema", "x-own", "own", "id",
	}
	judged := 0
	for d := jsonschema.Draft04; d <= jsonschema.Draft2020; d++ {
		for _, word := range words {
			for _, value := range []string{`"x"`, `"base64"`, `1`, `true`, `[]`, `{}`, `null`} {
				annotated := `"` + word + `":` + value
				doc := `{"$schema":"` + d.URI() + `","type":"object",` + annotated + `,"properties":{"a":{"type":"string",` + annotated + `}},"allOf":[{"properties":{"b":{}}}]}`
				open, err := jsonschema.Compile(json.RawMessage(doc))
				if err != nil {
					continue
				}
				judged++
				document, _, err := Close(json.RawMessage(doc))
				if err != nil {
					t.Errorf("%s: %v", doc, err)
					continue
				}
				closed, err := jsonschema.Compile(document)
				if err != nil {
					t.Errorf("%s is closed to %s: %v", doc, document, err)
					continue
				}
				if args := `{"a":"?"}`; (first(open, args) == "") != (first(closed, args) == "") {
					t.Errorf("%s gives %s another verdict than %s", document, args, doc)
				}
				for _, target := range allTargets() {
					sent, err := Down(json.RawMessage(doc), target)
					if err != nil {
						t.Errorf("%s, %s: %v", doc, target, err)
					} else if _, err := jsonschema.Compile(sent.Document); err != nil {
						t.Errorf("%s is sent to %s as %s: %v", doc, target, sent.Document, err)
					}
				}
			}
		}
	}
	if judged < 200 {
		t.Errorf("%d documents: the table tests too little", judged)
	}
}
