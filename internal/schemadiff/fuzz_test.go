package schemadiff

import (
	"regexp"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// FuzzEvaluator holds verdicts about any document and any instance against the libraries,
// but for the keywords that differ names.
func FuzzEvaluator(f *testing.F) {
	for _, c := range schematest.Cases() {
		if len(c.Wrong) > 0 {
			f.Add([]byte(c.Document(c.To)), []byte(c.Instance(c.Wrong[0])))
		}
	}
	f.Fuzz(func(t *testing.T, doc, instance []byte) {
		s, err := jsonschema.Compile(doc)
		if err != nil || strictjson.Check(instance) != nil {
			return
		}
		problems := s.Validate(instance)
		if len(problems) > 0 && problems[0].Kind == jsonschema.KindTooComplex {
			return
		}
		doc = jsonschema.Declare(doc, s.Draft())
		for _, lib := range libraries {
			if lib.differs(doc, instance, s.Draft()) {
				continue
			}
			valid, compiles := lib.judge(doc, instance)
			if compiles && valid != (problems == nil) {
				t.Errorf("%s, %s under %s: we say %v, %s says %v", s.Draft(), instance, doc, problems, lib.name, valid)
			}
		}
	})
}

var (
	// formats are checked by functions of their own, which are not what is compared.
	formats = regexp.MustCompile(`"(format|content[A-Z][A-Za-z]*)"`)
	// fraction is a number that is no integer in draft-04, and one since draft-06.
	fraction = regexp.MustCompile(`[0-9](\.|[eE])`)
)

// differs reports whether a library is known to judge what stands in a document, or in an
// instance, otherwise than the specification.
func (lib library) differs(doc, instance []byte, d jsonschema.Draft) bool {
	switch {
	case formats.Match(doc),
		d == jsonschema.Draft04 && fraction.Match(instance):
		return true
	}
	return lib.name == "kaptinlin" && kaptinlinDiffers.Match(doc)
}

// kaptinlinDiffers are keywords about which kaptinlin/jsonschema is known to be wrong:
// it resolves references from the nearest enclosing schema, and counts the indices of
// an inner list as those of the outer list.
var kaptinlinDiffers = regexp.MustCompile(`"(\$ref|unevaluated[A-Z][a-z]*)"`)
