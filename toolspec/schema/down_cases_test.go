package schema

import (
	"encoding/json"
	"slices"
	"testing"
)

func tightened(list []Finding) bool {
	return slices.ContainsFunc(list, func(f Finding) bool { return f.Effect == Tightened })
}

// unnull says nullable in the words of JSON Schema, as Gemini means it.
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

// What is sent never refuses a valid call without a finding that says so.
func TestSentAcceptsWhatIsValid(t *testing.T) {
	judged := 0
	for _, c := range schemaCases(t) {
		for d := c.from; d <= c.to; d++ {
			for _, target := range Targets() {
				sent, err := Down(json.RawMessage(c.document(d)), target)
				if err != nil {
					t.Errorf("line %d, %s, %s: %v", c.line, d, target, err)
					continue
				}
				if tightened(sent.Findings) {
					continue
				}
				doc := sent.Document
				if target == Gemini {
					value, err := decode(doc)
					if err != nil {
						t.Fatal(err)
					}
					root, _ := unnull(value).(map[string]any)
					if doc, err = encode(root); err != nil {
						t.Fatal(err)
					}
				}
				s, err := Compile(doc)
				if err != nil {
					t.Errorf("line %d, %s, %s: %s: %v", c.line, d, target, doc, err)
					continue
				}
				for _, value := range c.good {
					args := json.RawMessage(c.instance(value))
					if sent.Mapping != nil {
						args = strictArgs(t, c.document(d), target, sent.Mapping, c.instance(value))
					}
					judged++
					if problems := s.Validate(args); problems != nil {
						t.Errorf("line %d, %s, %s: %s is refused by %s: %v; %v", c.line, d, target, args, sent.Document, problems, sent.Findings)
					}
					if sent.Mapping == nil {
						continue
					}
					back, err := sent.Mapping.Restore(args)
					if err != nil {
						t.Errorf("line %d, %s, %s: %v", c.line, d, target, err)
						continue
					}
					got, _ := Digest(back)
					want, _ := Digest(json.RawMessage(c.instance(value)))
					if got != want && exact(back) {
						t.Errorf("line %d, %s, %s: %s came back as %s", c.line, d, target, c.instance(value), back)
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

// A closed document refuses whatever the document refuses.
func TestClosedAcceptsNoMore(t *testing.T) {
	for _, c := range schemaCases(t) {
		for d := c.from; d <= c.to; d++ {
			s, err := Compile(json.RawMessage(c.document(d)), Closed)
			if err != nil {
				t.Errorf("line %d, %s: %v", c.line, d, err)
				continue
			}
			for _, value := range c.wrong {
				if s.Validate(json.RawMessage(c.instance(value))) == nil {
					t.Errorf("line %d, %s: %s is accepted by %s", c.line, d, value, s.Effective())
				}
			}
		}
	}
}
