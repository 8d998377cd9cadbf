package openapi

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/toolspec/httptool"
)

// answer is a response of an operation that is a result.
type answer struct {
	mediaType string
	schema    place
}

// response maps the responses to the value. The results are those with a status 2XX. With plain, the
// value has no schema.
func (b *build) response(plain bool) error {
	answers, empty, err := b.answers()
	if err != nil {
		return err
	}
	r := &b.tool.Response
	r.Type, r.Empty = kindOf(answers), empty || b.op.method == "HEAD" || len(answers) == 0
	if b.op.method == "HEAD" {
		answers = nil
	}
	answers = slices.DeleteFunc(answers, func(a answer) bool { return typeOf(a.mediaType) != r.Type })
	if len(answers) > 0 && !strings.Contains(answers[0].mediaType, "*") {
		accept := answers[0].mediaType
		b.tool.Request.Parameters = append(b.tool.Request.Parameters, httptool.Parameter{In: httptool.InHeader, Name: "Accept", Value: &accept})
	}
	b.tool.Redaction.Allow = []string{""}
	if r.Type != httptool.ResponseJSON || len(answers) == 0 {
		return nil
	}
	return b.output(answers, plain)
}

// answers returns the results. empty says that one has no content.
func (b *build) answers() (all []answer, empty bool, err error) {
	produces := b.op.get("produces").texts()
	if !b.op.get("produces").there() {
		produces = b.d.root.get("produces").texts()
	}
	for _, wanted := range []string{"2", "default"} {
		for status, p := range b.op.get("responses").members() {
			if !strings.HasPrefix(status, wanted) {
				continue
			}
			if p, err = b.d.follow(p); err != nil {
				return nil, false, &fault{p.at, "a response " + err.Error()}
			}
			before := len(all)
			if schema := p.get("schema"); b.d.isSwagger() && schema.there() {
				all = append(all, answer{preferred(produces), schema})
			}
			for mediaType, m := range p.get("content").members() {
				all = append(all, answer{mediaType, m.get("schema").orAny()})
			}
			empty = empty || len(all) == before
		}
		if len(all) > 0 || empty {
			break
		}
	}
	return all, empty, nil
}

// preferred returns the media type that a tool takes of those of Swagger.
func preferred(produces []string) string {
	if i := slices.IndexFunc(produces, isJSON); i >= 0 {
		return produces[i]
	}
	if len(produces) > 0 {
		return produces[0]
	}
	return "application/json"
}

func typeOf(mediaType string) httptool.ResponseType {
	switch lower := strings.ToLower(mediaType); {
	case isJSON(lower):
		return httptool.ResponseJSON
	case strings.HasPrefix(lower, "text/"), strings.Contains(lower, "xml"):
		return httptool.ResponseText
	}
	return httptool.ResponseBytes
}

// kindOf returns the type of the value: JSON before a text before bytes.
func kindOf(answers []answer) httptool.ResponseType {
	for _, want := range []httptool.ResponseType{httptool.ResponseJSON, httptool.ResponseText} {
		if slices.ContainsFunc(answers, func(a answer) bool { return typeOf(a.mediaType) == want }) {
			return want
		}
	}
	if len(answers) == 0 {
		return httptool.ResponseJSON
	}
	return httptool.ResponseBytes
}

// output writes the schema of the value, and what of it may be shown. If the schema is too
// large, it accepts any value below a certain depth of references.
func (b *build) output(answers []answer, plain bool) error {
	for _, refs := range []int{0, 4, 2, 1} {
		s := b.d.schemas(false)
		s.maxRefs, s.plain = refs, true
		root, err := b.union(s, answers)
		if err != nil && refs != 1 { // with fewer references it may be small enough
			continue
		}
		if err != nil {
			return err
		}
		schema := object{{"$schema", draft}}
		schema = append(schema, *root...)
		if len(s.defs) > 0 {
			schema.add("$defs", s.defs)
		}
		text, err := encodeSchema(schema)
		if err != nil {
			return &fault{b.op.at, "the schema of its response " + err.Error()}
		}
		if len(text) > maxOutput && refs != 1 {
			continue
		}
		if b.tool.Redaction.Allow = s.allow(root); b.tool.Redaction.Allow == nil {
			return &fault{s.dropped[0], "the response has a field whose name looks like a credential, and no allowlist can leave it out"}
		}
		for _, at := range s.dropped {
			b.d.note(b.op, at, "the field of the response is left out: its name looks like a credential")
		}
		if plain {
			return nil
		}
		if len(text) > maxOutput {
			b.d.note(b.op, answers[0].schema.at, "the schema of the response is larger than %d KiB, so the value has none", maxOutput>>10)
			return nil
		}
		if s.pruned {
			b.d.note(b.op, answers[0].schema.at, "the schema of the response is larger than %d KiB: it accepts any value below %d references", maxOutput>>10, refs)
		}
		b.tool.Response.Schema = text
		return nil
	}
	return nil
}

// union returns the schema of all results, which also accepts null if a result has no content.
func (b *build) union(s *schemas, answers []answer) (*object, error) {
	var all []any
	for _, a := range answers {
		converted, err := s.inline(a.schema, 1)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(all, func(other any) bool { return same(other, converted) }) {
			all = append(all, converted)
		}
	}
	if b.tool.Response.Empty {
		all = append(all, &object{{"type", "null"}})
	}
	if root, ok := all[0].(*object); ok && len(all) == 1 {
		return root, nil
	}
	return &object{{"anyOf", all}}, nil
}

func same(a, b any) bool {
	x, errX := encode(a)
	y, errY := encode(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
