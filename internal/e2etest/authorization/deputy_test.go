package authorization

import (
	"fmt"
	"slices"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const delegationPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    roles: {ops: ["agent:one", "user:sue"], night: ["user:bob"]}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    roles: {ops: ["agent:one", "user:sue"]}
`

// TestConfusedDeputy: a call gets a connection only if its tenant, a grant, its request and its delegation all allow it. In every other row no secret is
// leased, and the service gets no request (CN-04, CN-05, CN-12, CN-13, CN-16; GRANT_INTERSECTION_REQUIRED).
func TestConfusedDeputy(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, delegationPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	var asked e2etest.Ledger
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", asked.Counted(e2etest.Fetch(s)), e2etest.Connected, e2etest.Fast,
		func(d *toolspec.Definition) { d.Scopes = []string{"mail.read"} })))
	const all = "*"
	for _, r := range []authz.Relation{
		{Kind: authz.Delegates, Subject: e2etest.Actor, Object: e2etest.Sue, Tools: all},
		{Kind: authz.Member, Subject: e2etest.Actor, Object: "role:mailers"}, {Kind: authz.Member, Subject: e2etest.Sue, Object: "group:staff"},
		{Kind: authz.Member, Subject: "group:staff", Object: "role:staff"}, {Kind: authz.Member, Subject: "user:bob", Object: "role:others"},
	} {
		w.Relate("acme", r)
		w.Relate("globex", r)
	}
	grant := func(connectionID, grantee string, lasts time.Duration, scopes ...string) {
		if _, err := w.Store.GrantConnection(t.Context(), "acme", connectionID, grantee, scopes, lasts, "user:root"); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := w.Submitter()
	// holders has, for each connection, who has a grant that covers the tool: the actor, the subject, both or nobody.
	holders := map[string][]string{
		"actor": {e2etest.Actor}, "subject": {e2etest.Sue}, "policy-role": {e2etest.Actor, e2etest.Sue}, "relation-role": {e2etest.Actor},
		"nested-role": {e2etest.Sue}, "scoped": {e2etest.Actor}, "twice": {e2etest.Actor},
		"none": nil, "other": nil, "other-role": nil, "expired": nil, "revoked": nil, "unscoped": nil, "no-scopes": nil, "role-as-name": nil, "gone": nil, "missing": nil,
	}
	for id := range holders {
		if id != "missing" {
			scopes := []string{"mail.read", "mail.send"}
			if id == "no-scopes" {
				scopes = nil
			}
			v.Add(id, s.Provider(), s.Token, scopes...)
		}
	}
	grant("actor", e2etest.Actor, 0, all)
	grant("subject", e2etest.Sue, 0, all)
	grant("policy-role", "role:ops", time.Hour, all)
	grant("relation-role", "role:mailers", 0, all)
	grant("nested-role", "role:staff", 0, all)
	grant("scoped", e2etest.Actor, 0, "mail.read")
	grant("twice", e2etest.Actor, 0, "mail.send")
	grant("twice", "role:mailers", 0, "mail.read")
	grant("other", "user:bob", 0, all)
	grant("other-role", "role:others", 0, all)
	grant("other-role", "role:night", 0, all)
	grant("expired", e2etest.Actor, time.Millisecond, all)
	grant("revoked", e2etest.Actor, 0, all)
	v.Revoke("revoked", e2etest.Actor)
	grant("unscoped", e2etest.Actor, 0, "mail.send")
	grant("no-scopes", e2etest.Actor, 0, all)
	grant("role-as-name", "ops", 0, all)
	grant("gone", e2etest.Actor, 0, all)
	if _, err := w.Store.RevokeConnection(t.Context(), "acme", "gone", "user:root"); err != nil {
		t.Fatal(err)
	}

	type row struct {
		name, connection, holder string
		trusted                  bool
		inv                      toolspec.Invocation
		requested                bool
		call                     *pawl.Call
	}
	var rows []row
	for connection := range holders {
		for _, tenant := range []string{"acme", "globex"} {
			for request, listed := range map[string][]string{"listed": {"x", connection}, "unlisted": {"x"}, "empty": nil} {
				for behalf, subject := range map[string]string{"itself": "", "delegated": e2etest.Sue, "not-delegated": "user:tom",
					"not-vouched": e2etest.Sue} {
					if len(holders[connection]) == 0 && (request != "listed" || behalf == "not-delegated" || behalf == "not-vouched") {
						continue // two reasons to deny the call show less than one
					}
					name := fmt.Sprintf("%s.%s.%s.%s", connection, tenant, request, behalf)
					inv := e2etest.Invocation(name, "test__read", `{}`)
					inv.Context.TenantID, inv.Context.SubjectID, inv.Context.ConnectionID, inv.AllowedConnectionIDs = tenant, subject, connection, listed
					if subject != "" && behalf != "not-vouched" {
						if err := pawl.Vouch(&inv, key, time.Hour); err != nil {
							t.Fatal(err)
						}
					}
					holder := e2etest.Actor
					if subject != "" {
						holder = subject
					}
					rows = append(rows, row{
						name: name, connection: connection, holder: holder, inv: inv, requested: request == "listed",
						trusted: behalf == "itself" || behalf == "delegated" && tenant == "acme",
					})
				}
			}
		}
	}
	for i := range rows {
		rows[i].call = w.Start(rows[i].inv)
	}
	// On a busy machine a tool that may be repeated may run twice, so the test compares which calls have run it.
	var passed []string
	runs := 0
	for _, r := range rows {
		result := w.Result(r.call)
		want := toolspec.CodePolicyDenied
		switch {
		case !r.trusted:
			want = toolspec.CodeAuthzDenied
		case r.inv.Context.TenantID == "acme" && r.requested && slices.Contains(holders[r.connection], r.holder):
			want = ""
			passed = append(passed, r.name)
		}
		if n := asked.Of(r.name); (n > 0) != (want == "") {
			t.Errorf("the tool of %s ran %d times", r.name, n)
		} else {
			runs += n
		}
		if result.ErrorCode != want {
			t.Errorf("%s ended with %q %s, want %q", r.name, result.ErrorCode, result.SafeMessage, want)
		}
		message := "no grant allows this connection"
		if (r.connection == "unscoped" || r.connection == "no-scopes") && r.inv.Context.TenantID == "acme" && r.holder == e2etest.Actor {
			message = "no grant covers the scopes that the tool needs: missing mail.read" // the holder has a grant
		}
		if r.connection == "gone" && r.inv.Context.TenantID == "acme" && r.holder == e2etest.Actor {
			message = "the connection is revoked, and stays revoked: use another connection" // the holder has a grant
		}
		if !r.requested {
			message = "the call does not list its connection in allowedConnectionIds"
		}
		if want == toolspec.CodePolicyDenied && result.SafeMessage != message {
			t.Errorf("%s: it says %q, want %q", r.name, result.SafeMessage, message)
		}
	}
	t.Logf("%d rows, %d pass", len(rows), len(passed))
	used := e2etest.Query[string](w, `SELECT DISTINCT tool_call_id FROM events JOIN invocations USING (invocation_id) WHERE events.kind = 'connection_used' ORDER BY 1`)
	if slices.Sort(passed); len(passed) == 0 || s.Requests() < len(passed) || s.Requests() > runs || !slices.Equal(used, passed) {
		t.Errorf("%d runs of the tool, and %d requests that the service heard; leases were taken for %v, want %v", runs, s.Requests(), used,
			passed)
	}
}
