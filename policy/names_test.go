package policy_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
)

// TestNamesOfPeople: a policy names nobody in a way that could be read as another name, or as more than one; one that was applied before that
// rule still loads.
func TestNamesOfPeople(t *testing.T) {
	doc := func(pattern string) []byte {
		return []byte("version: 1\ntenants: {acme: {allowedTools: [core__*], mode: ask, approvals: {approvers: ['" + pattern + "']}}}\n")
	}
	for _, ok := range []string{"user:ann", "user:*", "*", "team lead", "team *", "role:security"} {
		if _, err := policy.Parse("p", doc(ok)); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"user:ann ", " user:ann", "user:ann  or user:ceo", "team  *", "user:\u3164"} {
		if _, err := policy.Parse("p", doc(bad)); err == nil || !strings.Contains(err.Error(), "approvers[0]") {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := policy.ParseRecorded("p", doc(bad)); err != nil {
			t.Errorf("%q, recorded: %v", bad, err)
		}
	}
}

// TestRecordedFaults: a policy that an earlier release has accepted still loads.
func TestRecordedFaults(t *testing.T) {
	for _, doc := range []string{
		"version: 1\ntenants: {acme: {allowedTools: [core__*], roles: {ops: ['role:sre']}}}\n",
		"version: 1\ntenants: {acme: {allowedTools: ['*'], approvals: {approvers: ['user:a', 'user:b']}, overrides: [{tool: a__*, approvals: {approvers: ['user:a']}}], " +
			"rules: [{tool: a__b, decision: require_approval, approvals: {quorum: 2}}]}}\n",
	} {
		if _, err := policy.Parse("p", []byte(doc)); err == nil {
			t.Errorf("%s is accepted", doc)
		}
		if _, err := policy.ParseRecorded("p", []byte(doc)); err != nil {
			t.Errorf("%s, recorded: %v", doc, err)
		}
	}
}

// TestDescribeQuotes: the words that say who may decide are told from the names in them.
func TestDescribeQuotes(t *testing.T) {
	rule := policy.ApprovalRule{Enabled: true, Approvers: []document.Pattern{"user:ann", "user:*", "team lead*", "a or b"}}
	const want = `user:ann or user:* or "team lead*" or "a or b", but not the requester "agent:x or user:ceo"; only signed decisions count`
	if got := rule.Describe("agent:x or user:ceo"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
