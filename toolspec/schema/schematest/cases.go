package schematest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// uris are the drafts, oldest first, as $schema names them.
var uris = []string{
	"http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
}

// shortDrafts are the drafts as cases.txt writes them.
var shortDrafts = []string{"04", "06", "07", "19", "20"}

// Case is a schema with values that it accepts and values that it refuses. The verdicts were
// written by hand from the specifications of the drafts.
type Case struct {
	// Line is the line of cases.txt.
	Line int
	// From and To are the first and the last draft with these verdicts: 0 is draft-04, 4 is
	// 2020-12.
	From, To    int
	Schema      string
	Good, Wrong []json.RawMessage
	whole       bool
}

//go:embed cases.txt
var cases string

// Cases returns the cases of cases.txt.
func Cases() []Case {
	var list []Case
	for i, line := range strings.Split(cases, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 {
			panic(fmt.Sprintf("cases.txt:%d has %d parts", i+1, len(parts)))
		}
		c := Case{Line: i + 1, Schema: parts[1]}
		parts[0], c.whole = strings.CutPrefix(parts[0], "!")
		from, to, _ := strings.Cut(parts[0], "-")
		if c.From, c.To = slices.Index(shortDrafts, from), slices.Index(shortDrafts, to); c.From < 0 || c.To < 0 {
			panic(fmt.Sprintf("cases.txt:%d: drafts %s", i+1, parts[0]))
		}
		for j, into := range []*[]json.RawMessage{&c.Good, &c.Wrong} {
			if err := json.Unmarshal([]byte(parts[2+j]), into); err != nil {
				panic(fmt.Sprintf("cases.txt:%d: %v", i+1, err))
			}
		}
		list = append(list, c)
	}
	return list
}

// Document returns the schema as a document of a draft.
func (c Case) Document(draft int) json.RawMessage {
	if c.whole {
		return json.RawMessage(fmt.Sprintf(`{"$schema":%q,%s`, uris[draft], c.Schema[1:]))
	}
	return json.RawMessage(fmt.Sprintf(`{"$schema":%q,"type":"object","properties":{"v":%s}}`, uris[draft], c.Schema))
}

// Instance returns a value of the case as an instance of the document.
func (c Case) Instance(value json.RawMessage) json.RawMessage {
	if c.whole {
		return value
	}
	return json.RawMessage(`{"v":` + string(value) + `}`)
}
