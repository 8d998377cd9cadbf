package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// shortDrafts are the drafts as testdata/cases.txt writes them.
var shortDrafts = map[string]Draft{"04": Draft04, "06": Draft06, "07": Draft07, "19": Draft2019, "20": Draft2020}

// schemaCase is one line of testdata/cases.txt.
type schemaCase struct {
	line        int
	from, to    Draft
	whole       bool
	schema      string
	good, wrong []json.RawMessage
}

func schemaCases(t *testing.T) []schemaCase {
	raw, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases []schemaCase
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 {
			t.Fatalf("line %d has %d parts", i+1, len(parts))
		}
		c := schemaCase{line: i + 1, schema: parts[1]}
		parts[0], c.whole = strings.CutPrefix(parts[0], "!")
		from, to, _ := strings.Cut(parts[0], "-")
		var known, knownTo bool
		c.from, known = shortDrafts[from]
		c.to, knownTo = shortDrafts[to]
		if !known || !knownTo {
			t.Fatalf("line %d: drafts %s", i+1, parts[0])
		}
		for j, list := range []*[]json.RawMessage{&c.good, &c.wrong} {
			if err := json.Unmarshal([]byte(parts[2+j]), list); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// document is the case as a document of draft d.
func (c schemaCase) document(d Draft) string {
	if c.whole {
		return fmt.Sprintf(`{"$schema":%q,%s`, d.URI(), c.schema[1:])
	}
	return fmt.Sprintf(`{"$schema":%q,"type":"object","properties":{"v":%s}}`, d.URI(), c.schema)
}

func (c schemaCase) instance(value json.RawMessage) string {
	if c.whole {
		return string(value)
	}
	return `{"v":` + string(value) + `}`
}

// Every verdict was written by hand from the drafts' specifications.
func TestSchemaCases(t *testing.T) {
	written, judged := 0, 0
	keywords := map[Draft]map[string]bool{}
	for _, c := range schemaCases(t) {
		written += len(c.good) + len(c.wrong)
		for d := c.from; d <= c.to; d++ {
			s, err := Compile(json.RawMessage(c.document(d)))
			if err != nil {
				t.Errorf("line %d, %s: %v", c.line, d, err)
				continue
			}
			if s.Draft() != d {
				t.Errorf("line %d: read as %s, not as %s", c.line, s.Draft(), d)
			}
			for _, value := range c.good {
				judged++
				if problems := s.Validate(json.RawMessage(c.instance(value))); problems != nil {
					t.Errorf("line %d, %s: %s is valid under %s, got %v", c.line, d, value, c.schema, problems)
				}
			}
			for _, value := range c.wrong {
				judged++
				if problems := s.Validate(json.RawMessage(c.instance(value))); len(problems) == 0 {
					t.Errorf("line %d, %s: %s is not valid under %s", c.line, d, value, c.schema)
				}
			}
			if keywords[d] == nil {
				keywords[d] = map[string]bool{}
			}
			_ = s.root.walk(func(n *node) error {
				for name := range n.object {
					keywords[d][name] = true
				}
				return nil
			})
		}
	}
	if written < 300 {
		t.Errorf("%d cases", written)
	}
	t.Logf("%d cases, %d verdicts over the drafts", written, judged)
	// No keyword of a draft may be missing from the table.
	for d := Draft04; d <= newest; d++ {
		for name, k := range vocabulary {
			if k.in(d) && k.role != unserved && !keywords[d][name] && name != "$id" && name != "id" {
				t.Errorf("no case of %s for %s", d, name)
			}
		}
	}
}
