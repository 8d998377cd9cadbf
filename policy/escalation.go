package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// MaxEscalations bounds the steps by which a request goes to further people.
const MaxEscalations = 4

// Escalation lets further people decide on a request that nobody has decided on.
type Escalation struct {
	// AfterMs is how long the request has waited by then, in milliseconds, MinExpiry
	// to MaxExpiry, whole seconds.
	AfterMs int64 `json:"afterMs"`
	// Approvers are as in ApprovalRule, and never empty.
	Approvers []Pattern `json:"approvers"`
}

// After is how long the request has waited by then.
func (e Escalation) After() time.Duration { return time.Duration(e.AfterMs) * time.Millisecond }

// Describe says in words to whom the request goes.
func (e Escalation) Describe() string { return Seat{Approvers: e.Approvers}.describe() }

// RemindAfter is how long a request waits until its approvers are reminded of it; 0
// where they are not.
func (a ApprovalRule) RemindAfter() time.Duration {
	return time.Duration(a.RemindAfterMs) * time.Millisecond
}

// At is the rule for a request that has waited so long: whom the steps name that are
// reached by then sits in every seat too. How many have to approve, in which order, and
// that nobody counts twice stays as it is. The other steps are still to come.
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

// Escalations are the steps of a request by its clock, those that it lives to see; nil
// where there are none.
func (a ApprovalRule) Escalations(opened, expires time.Time) (steps []toolspec.Escalation) {
	for _, e := range a.Escalate {
		if at := opened.Add(e.After()); at.Before(expires) {
			steps = append(steps, toolspec.Escalation{AtMs: at.UnixMilli(), Approvers: e.Describe()})
		}
	}
	return steps
}

// widened adds people to a set. One that is empty has everybody.
func widened(set, more []Pattern) []Pattern {
	if len(set) == 0 {
		return set
	}
	return append(slices.Clip(set), more...)
}

// comes returns the first step still to come that names the voter.
func (a ApprovalRule) comes(v Voter) (Escalation, bool) {
	i := slices.IndexFunc(a.Escalate, func(e Escalation) bool { return Seat{Approvers: e.Approvers}.has(v) })
	if i < 0 {
		return Escalation{}, false
	}
	return a.Escalate[i], true
}

// describeEscalations says in words who may decide later: "; after 2h also role:x".
func (a ApprovalRule) describeEscalations() string {
	var b strings.Builder
	for _, e := range a.Escalate {
		fmt.Fprintf(&b, "; after %s also %s", brief(e.After()), e.Describe())
	}
	return b.String()
}

// brief is Go's notation without the zeros at the end: 2h, not 2h0m0s.
func brief(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
