package review

import (
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Cases are calls with the verdicts that their author expects from a policy.
type Cases struct {
	// Policy is the file of the policy to test, relative to the file of the cases. `active` is
	// the active version. If it is empty, the caller chooses.
	Policy string
	// Tools are the author's declarations of tools that no worker has published. If a worker has
	// published a tool, the published declarations and schema count.
	Tools []toolspec.Spec
	List  []Case
}

// Case is one call with the expected decision.
type Case struct {
	Name string
	// Facts are the facts of the call without the declarations of the tool.
	Facts policy.Facts
	// Verdict is a policy.Verb, or Undetermined for a call without arguments.
	Verdict string
	// Rule and Risk are compared only if they are not empty. Rule may be without its tenant:
	// rules[0].
	Rule string
	Risk toolspec.Risk
	// Line is the line of the case in the file.
	Line int
}

// Undetermined is the verdict of a case without arguments, if the policy needs the arguments to decide.
const Undetermined = "undetermined"

// Difference is one difference between the expected decision and the decision.
type Difference struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// Compare returns the differences between the expected decision and d, or nil if there are none.
func (c Case) Compare(d policy.Decision) []Difference {
	var list []Difference
	verdict := string(d.Verb)
	if d.Undetermined {
		verdict = Undetermined
	}
	if verdict != c.Verdict {
		list = append(list, Difference{"verdict", c.Verdict, verdict})
	}
	if rule := d.Rule; c.Rule != "" && rule != c.Rule {
		if short := strings.TrimPrefix(rule, strictyaml.Join("tenants", c.Facts.TenantID)+"."); short != c.Rule {
			list = append(list, Difference{"rule", c.Rule, short})
		}
	}
	if c.Risk != "" && d.Risk != c.Risk {
		list = append(list, Difference{"risk", string(c.Risk), string(d.Risk)})
	}
	return list
}

// Spec finds a tool, first among specs, the published tools, and then among the tools of the
// cases.
func (c Cases) Spec(toolID string, specs []toolspec.Spec) (toolspec.Spec, bool) {
	for _, list := range [][]toolspec.Spec{specs, c.Tools} {
		for _, s := range list {
			if s.Name == toolID {
				return s, true
			}
		}
	}
	return toolspec.Spec{}, false
}

// anyInput is the input schema of a tool for which the author gives no schema.
var anyInput = json.RawMessage(`{"type":"object","additionalProperties":true}`)
