package review

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/policy"
)

// Text returns the explanation for people: the verdict and the deciding rule, the risk, the approvers, the rules that also apply, and the
// reasons why the other rules do not apply.
func (x Explanation) Text() string {
	var b strings.Builder
	d := x.Decision
	verdict := string(d.Verb)
	if d.Undetermined {
		verdict = "it depends on the arguments"
	}
	fmt.Fprintf(&b, "%s  by %s\n", verdict, d.Rule)
	if d.Message != "" {
		fmt.Fprintf(&b, "  %s\n", d.Message)
	}
	if d.Risk != "" {
		fmt.Fprintf(&b, "  risk   %s", d.Risk)
		if d.Risk != x.DeclaredRisk {
			fmt.Fprintf(&b, ", raised from %s", x.DeclaredRisk)
		}
		b.WriteString("\n")
	}
	if d.Verb == policy.RequireApproval && !d.Undetermined {
		fmt.Fprintf(&b, "  asks   %s\n", d.Approval.Describe(""))
		if d.OtherApprovers {
			b.WriteString("         unless a rule decides that needs the arguments and names other approvers\n")
		}
	}
	if len(x.Roles) > 0 {
		fmt.Fprintf(&b, "  roles  %s\n", strings.Join(x.Roles, ", "))
	}
	beats := "beats"
	if d.Undetermined {
		beats = "applies, where none of these does"
	}
	for _, part := range []struct {
		part  Part
		title string
	}{
		{Decides, "decides"}, {Raises, "raises the risk"}, {Open, "needs the arguments, which are not known"},
		{Beaten, beats}, {Passed, "does not apply"},
	} {
		x.section(&b, part.part, part.title)
	}
	for _, f := range x.Off {
		fmt.Fprintf(&b, "and yet the call is stopped by %s: %s\n", f.Source, f.Message)
	}
	return b.String()
}

// section writes the rules that have one part in the decision, as a table with a title. It writes nothing if there
// are none.
func (x Explanation) section(b *strings.Builder, part Part, title string) {
	var rules []Considered
	ruleWidth, saysWidth := 0, 0
	for _, c := range x.Rules {
		if c.Role == part {
			rules = append(rules, c)
			ruleWidth, saysWidth = max(ruleWidth, len([]rune(c.Rule))), max(saysWidth, len(c.Says))
		}
	}
	if len(rules) == 0 {
		return
	}
	fmt.Fprintf(b, "%s\n", title)
	for _, c := range rules {
		line := fmt.Sprintf("  %-*s  %-*s  %s", ruleWidth, c.Rule, saysWidth, c.Says, c.Why)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}
