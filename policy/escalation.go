package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
)

// Escalation is one step that lets further people decide on a request that is still open.
type Escalation struct {
	// AfterMs is the time from the opening of the request to the step, in milliseconds: whole
	// seconds from document.MinExpiry to document.MaxExpiry.
	AfterMs int64 `json:"afterMs"`
	// Approvers has the form of ApprovalRule.Approvers. It is never empty.
	Approvers []document.Pattern `json:"approvers"`
}

// After returns the time from the opening of the request to the step.
func (e Escalation) After() time.Duration { return time.Duration(e.AfterMs) * time.Millisecond }

// Describe returns a text that names the people of the step.
func (e Escalation) Describe() string { return ChainEntry{Approvers: e.Approvers}.describe() }

// RemindAfter returns how long a request waits before its approvers get a reminder. It is 0 if
// they get none.
func (a ApprovalRule) RemindAfter() time.Duration {
	return time.Duration(a.RemindAfterMs) * time.Millisecond
}

// At returns the rule for a request that has waited for the given time. It adds the people of the
// steps that are due to every entry. The quorum, the order of the entries and the limit of one vote
// per person do not change. The other steps stay in Escalate.
func (a ApprovalRule) At(waited time.Duration) ApprovalRule {
	reached := 0
	for reached < len(a.Escalate) && a.Escalate[reached].After() <= waited {
		reached++
	}
	if reached == 0 {
		return a
	}
	a = a.clone()
	for _, e := range a.Escalate[:reached] {
		a.Approvers = widened(a.Approvers, e.Approvers)
		for i := range a.Chain {
			a.Chain[i].Approvers = widened(a.Chain[i].Approvers, e.Approvers)
		}
	}
	a.Escalate = a.Escalate[reached:]
	return a
}

// Escalations returns the steps that are due before the request expires, with their times. It
// returns nil if there are none.
func (a ApprovalRule) Escalations(opened, expires time.Time) (steps []toolspec.Escalation) {
	for _, e := range a.Escalate {
		if at := opened.Add(e.After()); at.Before(expires) {
			steps = append(steps, toolspec.Escalation{AtMs: at.UnixMilli(), Approvers: e.Describe()})
		}
	}
	return steps
}

// widened returns the set with more people. An empty set already includes everybody and stays
// empty.
func widened(set, more []document.Pattern) []document.Pattern {
	if len(set) == 0 {
		return set
	}
	return append(slices.Clip(set), more...)
}

// laterStepFor returns the first step that is not yet due and names the voter, and false if there is none.
func (a ApprovalRule) laterStepFor(v Voter) (Escalation, bool) {
	i := slices.IndexFunc(a.Escalate, func(e Escalation) bool { return ChainEntry{Approvers: e.Approvers}.has(v) })
	if i < 0 {
		return Escalation{}, false
	}
	return a.Escalate[i], true
}

// describeEscalations returns a text that says who may decide later: "; after 2h also role:x".
func (a ApprovalRule) describeEscalations() string {
	var b strings.Builder
	for _, e := range a.Escalate {
		fmt.Fprintf(&b, "; after %s also %s", document.Brief(e.After()), e.Describe())
	}
	return b.String()
}
