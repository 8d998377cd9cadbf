package authztest

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/authz"
)

// Fact is a relation of a tenant.
type Fact struct {
	TenantID string
	authz.Relation
}

// Facts returns the relations that an engine must have when Contract tests it.
func Facts() []Fact {
	acme := func(kind authz.Kind, subject, object, tools, graph string) Fact {
		return Fact{"acme", authz.Relation{Kind: kind, Subject: subject, Object: object, Tools: tools, GraphID: graph}}
	}
	return []Fact{
		acme(authz.Executes, "agent:direct", "", "core__read", ""),
		acme(authz.Executes, "agent:many", "", "core__*", ""),
		acme(authz.Executes, "agent:every", "", "*", ""),
		acme(authz.Executes, "agent:graphed", "", "core__read", "g-1"),
		acme(authz.Executes, "role:ops", "", "test__write", ""),
		acme(authz.Member, "user:ann", "role:ops", "", ""),
		acme(authz.Member, "agent:nested", "group:inner", "", ""),
		acme(authz.Member, "group:inner", "group:outer", "", ""),
		acme(authz.Member, "group:outer", "role:ops", "", ""),
		acme(authz.Member, "user:round", "group:a", "", ""),
		acme(authz.Member, "group:a", "group:b", "", ""),
		acme(authz.Member, "group:b", "group:a", "", ""),
		acme(authz.Executes, "group:b", "", "core__read", ""),
		acme(authz.Executes, "agent:one", "", "core__*", ""),
		acme(authz.Delegates, "agent:one", "user:sue", "core__read", ""),
		acme(authz.Delegates, "agent:one", "user:tom", "*", ""),
		acme(authz.Delegates, "agent:two", "user:sue", "*", ""),
		{"globex", authz.Relation{Kind: authz.Executes, Subject: "agent:other", Tools: "core__read"}},
		{"globex", authz.Relation{Kind: authz.Delegates, Subject: "agent:many", Object: "user:sue", Tools: "*"}},
	}
}

// Contract tests an engine that has Facts. submitter names a key that may vouch for subjects.
func Contract(t *testing.T, engine authz.Port, submitter string) {
	t.Helper()
	for _, tc := range []struct {
		name string
		// call is "tenant actor tool", and optionally "@subject" and "/graph".
		call string
		want authz.Lack
		yes  bool
	}{
		{"the tool", "acme agent:direct core__read", "", true},
		{"another tool", "acme agent:direct core__write", authz.Permission, false},
		{"a longer id", "acme agent:direct core__read_file", authz.Permission, false},
		{"an actor of whom nothing is known", "acme agent:nobody core__read", authz.Permission, false},
		{"an actor of another tenant", "acme agent:other core__read", authz.Permission, false},
		{"the same actor there", "globex agent:other core__read", "", true},
		{"an actor of this tenant elsewhere", "globex agent:direct core__read", authz.Permission, false},
		{"a tenant of which nothing is known", "initech agent:direct core__read", authz.Permission, false},
		{"a prefix", "acme agent:many core__write", "", true},
		{"outside of the prefix", "acme agent:many test__write", authz.Permission, false},
		{"every tool", "acme agent:every test__write", "", true},
		{"in the graph", "acme agent:graphed core__read /g-1", "", true},
		{"in another graph", "acme agent:graphed core__read /g-2", authz.Permission, false},
		{"in no graph", "acme agent:graphed core__read", authz.Permission, false},
		{"any graph", "acme agent:direct core__read /g-2", "", true},
		{"by a role", "acme user:ann test__write", "", true},
		{"another tool of a role", "acme user:ann core__read", authz.Permission, false},
		{"by a role through groups", "acme agent:nested test__write", "", true},
		{"by groups in a circle", "acme user:round core__read", "", true},
		{"groups in a circle that may not", "acme user:round test__write", authz.Permission, false},
		{"a role is not an actor", "acme role:ops test__write", authz.Permission, false},
		{"a group is not an actor", "acme group:b core__read", authz.Permission, false},
		{"everybody is not an actor", "acme agent:* core__read", authz.Permission, false},
		{"an actor of no kind", "acme direct core__read", authz.Permission, false},
		{"an actor whose name goes on", "acme agent:direct#member core__read", authz.Permission, false},
		{"delegated", "acme agent:one core__read @user:sue", "", true},
		{"delegated for every tool", "acme agent:one core__write @user:tom", "", true},
		{"permitted and not delegated", "acme agent:many core__read @user:sue", authz.Delegation, false},
		{"permitted and delegated for another tool", "acme agent:one core__write @user:sue", authz.Delegation, false},
		{"delegated and not permitted", "acme agent:two core__read @user:sue", authz.Permission, false},
		{"delegated elsewhere", "globex agent:one core__read @user:sue", authz.Permission, false},
		{"permitted by a role and not delegated", "acme user:ann test__write @user:sue", authz.Delegation, false},
		{"a subject of no kind", "acme agent:one core__read @sue", authz.Delegation, false},
		{"every subject", "acme agent:one core__read @user:*", authz.Delegation, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := request(tc.call, submitter)
			got, err := engine.Check(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			if got.Allowed != tc.yes || got.Lacks != tc.want {
				t.Errorf("%s: %+v, want %t %q", tc.call, got, tc.yes, tc.want)
			}
			r.Permission = "tool.own"
			if got, err := engine.Check(t.Context(), r); err != nil || got.Allowed {
				t.Errorf("%s, another permission: %+v, %v", tc.call, got, err)
			}
		})
	}
}

// request returns the request of a test case: call is "tenant actor tool", and optionally "@subject" and "/graph".
func request(call, submitter string) authz.Request {
	parts := strings.Fields(call)
	r := authz.Request{
		TenantID: parts[0], ActorID: parts[1], ToolID: parts[2], RunID: "run", Permission: authz.Execute, Basis: authz.ByRelations,
	}
	for _, part := range parts[3:] {
		switch part[0] {
		case '@':
			r.SubjectID, r.Submitter = part[1:], submitter
		case '/':
			r.GraphID = part[1:]
		}
	}
	return r
}
