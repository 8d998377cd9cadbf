package policy

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// Cases are calls with the verdicts that their author wants of a policy.
type Cases struct {
	// Policy is the file to test, relative to that of the cases; `active` is the
	// active version, and empty leaves the choice to who runs them.
	Policy string
	// Tools are what the author says of tools, before what workers say.
	Tools []toolspec.Spec
	List  []Case
}

// Case is one call and what is wanted.
type Case struct {
	Name string
	// Facts lack what the tool declares.
	Facts Facts
	// Verdict is a Verb, or undetermined where the arguments are not given.
	Verdict string
	// Rule and Risk are wanted where they are not empty. The rule may leave out
	// its tenant: rules[0].
	Rule string
	Risk toolspec.Risk
	// Line is where it stands.
	Line int
}

// Undetermined is the verdict of a call that depends on its arguments.
const Undetermined = "undetermined"

// Difference is something that is not as it is wanted.
type Difference struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Compare returns what a decision lacks of what is wanted, nil where it is that.
func (c Case) Compare(d Decision) []Difference {
	var list []Difference
	verdict := string(d.Verb)
	if d.Undetermined {
		verdict = Undetermined
	}
	if verdict != c.Verdict {
		list = append(list, Difference{"verdict", c.Verdict, verdict})
	}
	if rule := d.Rule; c.Rule != "" && rule != c.Rule {
		if short := strings.TrimPrefix(rule, join("tenants", c.Facts.TenantID)+"."); short != c.Rule {
			list = append(list, Difference{"rule", c.Rule, short})
		}
	}
	if c.Risk != "" && d.Risk != c.Risk {
		list = append(list, Difference{"risk", string(c.Risk), string(d.Risk)})
	}
	return list
}

// Spec finds a tool, among those of the cases first.
func (c Cases) Spec(toolID string, specs []toolspec.Spec) (toolspec.Spec, bool) {
	for _, list := range [][]toolspec.Spec{c.Tools, specs} {
		for _, s := range list {
			if s.Name == toolID {
				return s, true
			}
		}
	}
	return toolspec.Spec{}, false
}

// anyInput is the schema of a tool of which the author says nothing more.
var anyInput = json.RawMessage(`{"type":"object","additionalProperties":true}`)
