package gate_test

import (
	"testing"

	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestGateChecksTheConnection: a call needs a connection that it requests and that a grant allows. The failure
// says which of the two is missing. Only a holder of a grant learns that the connection is revoked or has no credential.
func TestGateChecksTheConnection(t *testing.T) {
	p := judgetest.Parse(t, approvals+"    roles: {ops: [\"user:ann\"]}\n")
	connection := func(status string, requested bool, grantees ...string) *hook.Connection {
		n := &hook.Connection{Requested: requested, Status: status}
		for _, g := range grantees {
			n.Grants = append(n.Grants, hook.ConnectionGrant{Grantee: g})
		}
		return n
	}
	const reauth = "The connection conn must be authorised again: sign in (pawl connections signin conn), or replace its secret (pawl connections rotate conn)"
	const notRequested, noGrant = "the call does not list its connection in allowedConnectionIds", "no grant allows this connection"
	const revoked = "the connection is revoked, and stays revoked: use another connection"
	for _, tc := range []struct {
		name       string
		connection *hook.Connection
		code       toolspec.Code
		message    string
	}{
		{"requested and granted", connection("active", true, "user:ann"), "", ""},
		{"granted to a role of policy", connection("active", true, "role:ops"), "", ""},
		{"granted to another role", connection("active", true, "role:audit"), toolspec.CodePolicyDenied, noGrant},
		{"granted only", connection("active", false, "user:ann"), toolspec.CodePolicyDenied, notRequested},
		{"requested only", connection("active", true), toolspec.CodePolicyDenied, noGrant},
		{"unknown", &hook.Connection{Requested: true}, toolspec.CodePolicyDenied, noGrant},
		{"no state", nil, toolspec.CodePolicyDenied, notRequested},
		{"revoked", connection(broker.StatusRevoked, true, "user:ann"), toolspec.CodePolicyDenied, revoked},
		{"revoked, of a role of policy", connection(broker.StatusRevoked, true, "role:ops"), toolspec.CodePolicyDenied, revoked},
		{"revoked, of another role", connection(broker.StatusRevoked, true, "role:audit"), toolspec.CodePolicyDenied, noGrant},
		{"revoked, without a grant", connection(broker.StatusRevoked, true), toolspec.CodePolicyDenied, noGrant},
		{"revoked, not requested", connection(broker.StatusRevoked, false, "user:ann"), toolspec.CodePolicyDenied, notRequested},
		{"without a credential", connection(broker.StatusNeedsReauth, true, "user:ann"), toolspec.CodeNeedsReauth, reauth},
		{"without a credential and a grant", connection(broker.StatusNeedsReauth, true), toolspec.CodePolicyDenied, noGrant},
	} {
		v, _ := judge(t, p, hook.WillAuthorize.Stage(), func(f *hook.Facts) {
			f.Context.ConnectionID, f.Connection = "conn", tc.connection
		})
		var got hook.Failure
		if v.Failure != nil {
			got = *v.Failure
		}
		if got.Code != tc.code || got.SafeMessage != tc.message {
			t.Errorf("%s: %+v, want %q %q", tc.name, got, tc.code, tc.message)
		}
	}
}
