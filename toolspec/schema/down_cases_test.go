package schema

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/toolspec/jsonschema"
	"github.com/pawl-run/pawl/toolspec/schema/schematest"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

func tightened(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Effect == Tightened })
}

// unnull rewrites nullable in JSON Schema, with Gemini's meaning.
func unnull(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, v := range value {
			if k == "properties" {
				fields := map[string]any{}
				for name, field := range v.(map[string]any) { //nolint:forcetypeassert // a table of schemas
					fields[name] = unnull(field)
				}
				out[k] = fields
				continue
			}
			if k != "nullable" {
				out[k] = unnull(v)
			}
		}
		if value["nullable"] == true {
			return map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = unnull(value[i])
		}
		return out
	}
	return value
}

// TestSentAcceptsWhatIsValid: a sent document refuses a valid call only if a finding says so.
func TestSentAcceptsWhatIsValid(t *testing.T) {
	judged := 0
	for _, c := range schematest.Cases() {
		for d := c.From; d <= c.To; d++ {
			for _, target := range allTargets() {
				sent, err := Down(c.Document(d), target)
				if err != nil {
					t.Errorf("line %d, %s, %s: %v", c.Line, jsonschema.Draft(d), target, err)
					continue
				}
				if tightened(sent.Findings) {
					continue
				}
				doc := sent.Document
				if target == Gemini {
					value, err := strictjson.Decode(doc)
					if err != nil {
						t.Fatal(err)
					}
					root, _ := unnull(value).(map[string]any)
					if doc, err = strictjson.Encode(root); err != nil {
						t.Fatal(err)
					}
				}
				s, err := jsonschema.Compile(doc)
				if err != nil {
					t.Errorf("line %d, %s, %s: %s: %v", c.Line, jsonschema.Draft(d), target, doc, err)
					continue
				}
				for _, value := range c.Good {
					args := c.Instance(value)
					if sent.Mapping != nil {
						args = strictArgs(t, string(c.Document(d)), target, sent.Mapping, string(c.Instance(value)))
					}
					judged++
					if problems := s.Validate(args); problems != nil {
						t.Errorf("line %d, %s, %s: %s is refused by %s: %v; %v", c.Line, jsonschema.Draft(d), target, args, sent.Document, problems, sent.Findings)
					}
					if sent.Mapping == nil {
						continue
					}
					back, err := sent.Mapping.Restore(args)
					if err != nil {
						t.Errorf("line %d, %s, %s: %v", c.Line, jsonschema.Draft(d), target, err)
						continue
					}
					got, _ := strictjson.Digest(back)
					want, _ := strictjson.Digest(c.Instance(value))
					if got != want && exact(t, back) {
						t.Errorf("line %d, %s, %s: %s came back as %s", c.Line, jsonschema.Draft(d), target, c.Instance(value), back)
					}
				}
			}
		}
	}
	t.Logf("%d verdicts", judged)
	if judged < 3000 {
		t.Errorf("%d verdicts: the table tests too little", judged)
	}
}

// TestClosedAcceptsNoMore: a closed document refuses all that the document refuses.
func TestClosedAcceptsNoMore(t *testing.T) {
	for _, c := range schematest.Cases() {
		for d := c.From; d <= c.To; d++ {
			closed, _, err := Close(c.Document(d))
			if err != nil {
				t.Errorf("line %d, %s: %v", c.Line, jsonschema.Draft(d), err)
				continue
			}
			s, err := jsonschema.Compile(closed)
			if err != nil {
				t.Errorf("line %d, %s: %v", c.Line, jsonschema.Draft(d), err)
				continue
			}
			for _, value := range c.Wrong {
				if s.Validate(c.Instance(value)) == nil {
					t.Errorf("line %d, %s: %s is accepted by %s", c.Line, jsonschema.Draft(d), value, closed)
				}
			}
		}
	}
}

// exact reports whether every number in raw keeps its value in canonical form.
func exact(t *testing.T, raw []byte) bool {
	t.Helper()
	tape, fault := strictjson.Read(raw)
	defer tape.Release()
	if fault != nil {
		t.Fatal(fault)
	}
	for i := range tape.Items {
		if tape.Items[i].Kind == '0' && !strictjson.ExactNumber(string(tape.Bytes(i))) {
			return false
		}
	}
	return true
}
