package e2etest

import (
	"strings"
	"testing"
)

// RelationsPolicy is PlainPolicy with permissions by relations.
var RelationsPolicy = strings.ReplaceAll(PlainPolicy, "    mode: auto\n", "    mode: auto\n    permissions: relations\n")

// ParkingPolicy lets calls with an unknown outcome wait for a person: for an hour in the tenant acme, and for a second in the tenant globex.
const ParkingPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, parkUnknown: 1h, allowUnsigned: true}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {enabled: true, expiresAfter: 1h, parkUnknown: 1s, allowUnsigned: true}
`

// PlainPolicyWith returns PlainPolicy with the first occurrence of old replaced by by.
func PlainPolicyWith(t *testing.T, old, by string) string {
	t.Helper()
	if !strings.Contains(PlainPolicy, old) {
		t.Fatalf("the policy has no %q", old)
	}
	return strings.Replace(PlainPolicy, old, by, 1)
}
