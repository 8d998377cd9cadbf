package review

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/policy"
)

func TestWarnings(t *testing.T) {
	none := []string{"no policy is active: every call is denied"}
	if got := Warnings(nil); !slices.Equal(got, none) {
		t.Errorf("%q", got)
	}
	p := mustParse(t, `
version: 1
tenants:
  b: {allowedTools: ["*"], mode: yolo, approvals: {allowSelfApproval: true}}
  a: {allowedTools: [core__*], mode: auto}
  c: {allowedTools: [core__*], approvals: {enabled: false, allowUnsigned: true, allowSelfApproval: true}}
`)
	want := []string{
		"tenant b: requesters may approve their own calls",
		"tenant b: mode yolo asks nobody, whatever the risk",
		"tenant b: allowedTools holds *: tools that are added later are allowed too",
	}
	if got := Warnings(p); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	want = []string{"tenant acme: unsigned approval decisions count; do not use in production"}
	if got := Warnings(policy.Development()); !slices.Equal(got, want) {
		t.Errorf("of the development policy: %q", got)
	}
}
