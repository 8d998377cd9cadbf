package jsonschema

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec/schema/schematest"
)

// TestSchemaCases: the verdicts were written by hand from the specifications of the drafts.
func TestSchemaCases(t *testing.T) {
	written, judged := 0, 0
	keywords := map[Draft]map[string]bool{}
	for _, c := range schematest.Cases() {
		written += len(c.Good) + len(c.Wrong)
		for d := c.From; d <= c.To; d++ {
			s, err := Compile(c.Document(d))
			if err != nil {
				t.Errorf("line %d, %s: %v", c.Line, Draft(d), err)
				continue
			}
			if s.Draft() != Draft(d) {
				t.Errorf("line %d: read as %s, not as %s", c.Line, s.Draft(), Draft(d))
			}
			for _, value := range c.Good {
				judged++
				if problems := s.Validate(c.Instance(value)); problems != nil {
					t.Errorf("line %d, %s: %s is valid under %s, got %v", c.Line, Draft(d), value, c.Schema, problems)
				}
			}
			for _, value := range c.Wrong {
				judged++
				if problems := s.Validate(c.Instance(value)); len(problems) == 0 {
					t.Errorf("line %d, %s: %s is not valid under %s", c.Line, Draft(d), value, c.Schema)
				}
			}
			if keywords[Draft(d)] == nil {
				keywords[Draft(d)] = map[string]bool{}
			}
			_ = s.root.Walk(func(n *Node) error {
				for name := range n.Object {
					keywords[Draft(d)][name] = true
				}
				return nil
			})
		}
	}
	if written < 300 {
		t.Errorf("%d cases", written)
	}
	t.Logf("%d cases, %d verdicts over the drafts", written, judged)
	// The table must have a case for every keyword of a draft.
	for d := Draft04; d <= newest; d++ {
		for name, k := range vocabulary {
			if k.in(d) && k.role != Unserved && !keywords[d][name] && name != "$id" && name != "id" {
				t.Errorf("no case of %s for %s", d, name)
			}
		}
	}
}
