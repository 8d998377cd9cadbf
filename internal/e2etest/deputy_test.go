package e2etest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const deputyPolicy = `
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

// TestConfusedDeputy: of every tenant, grant, request and delegation only the intersection passes. In every other row nothing is leased, and
// the service hears nothing (CN-04, CN-05, CN-12, CN-13, CN-16; GRANT_INTERSECTION_REQUIRED).
func TestConfusedDeputy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deputyPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	var asked ledger
	w.workWith(v.config(), worker.Tools(tool("test__read", asked.counted(fetch(s)), connected, fast, func(d *toolspec.Definition) { d.Scopes = []string{"mail.read"} })))
	const all = "*"
	for _, r := range []authz.Relation{
		{Kind: authz.Delegates, Subject: actor, Object: sue, Tools: all},
		{Kind: authz.Member, Subject: actor, Object: "role:mailers"}, {Kind: authz.Member, Subject: sue, Object: "group:staff"},
		{Kind: authz.Member, Subject: "group:staff", Object: "role:staff"}, {Kind: authz.Member, Subject: "user:bob", Object: "role:others"},
	} {
		w.relate("acme", r)
		w.relate("globex", r)
	}
	grant := func(connectionID, grantee string, lasts time.Duration, scopes ...string) {
		if _, err := w.store.GrantConnection(t.Context(), "acme", connectionID, grantee, scopes, lasts, "user:root"); err != nil {
			t.Fatal(err)
		}
	}
	key, _ := w.submitter()
	// Who holds a grant that covers the tool: the actor alone, the subject alone, both or nobody.
	holders := map[string][]string{
		"actor": {actor}, "subject": {sue}, "policy-role": {actor, sue}, "relation-role": {actor}, "nested-role": {sue}, "scoped": {actor}, "twice": {actor},
		"none": nil, "other": nil, "other-role": nil, "expired": nil, "revoked": nil, "unscoped": nil, "no-scopes": nil, "role-as-name": nil, "gone": nil, "missing": nil,
	}
	for id := range holders {
		if id != "missing" {
			scopes := []string{"mail.read", "mail.send"}
			if id == "no-scopes" {
				scopes = nil
			}
			v.add(id, s.provider(), s.token, scopes...)
		}
	}
	grant("actor", actor, 0, all)
	grant("subject", sue, 0, all)
	grant("policy-role", "role:ops", time.Hour, all)
	grant("relation-role", "role:mailers", 0, all)
	grant("nested-role", "role:staff", 0, all)
	grant("scoped", actor, 0, "mail.read")
	grant("twice", actor, 0, "mail.send")
	grant("twice", "role:mailers", 0, "mail.read")
	grant("other", "user:bob", 0, all)
	grant("other-role", "role:others", 0, all)
	grant("other-role", "role:night", 0, all)
	grant("expired", actor, time.Millisecond, all)
	grant("revoked", actor, 0, all)
	v.revoke("revoked", actor)
	grant("unscoped", actor, 0, "mail.send")
	grant("no-scopes", actor, 0, all)
	grant("role-as-name", "ops", 0, all)
	grant("gone", actor, 0, all)
	if _, err := w.store.RevokeConnection(t.Context(), "acme", "gone", "user:root"); err != nil {
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
				for behalf, subject := range map[string]string{"itself": "", "delegated": sue, "not-delegated": "user:tom", "not-vouched": sue} {
					name := fmt.Sprintf("%s.%s.%s.%s", connection, tenant, request, behalf)
					inv := invocation(name, "test__read", `{}`)
					inv.Context.TenantID, inv.Context.SubjectID, inv.Context.ConnectionID, inv.AllowedConnectionIDs = tenant, subject, connection, listed
					if subject != "" && behalf != "not-vouched" {
						if err := pawl.Vouch(&inv, key, time.Hour); err != nil {
							t.Fatal(err)
						}
					}
					holder := actor
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
		rows[i].call = w.start(rows[i].inv)
	}
	// A tool that may be repeated may come again on a busy machine: what counts is for which calls.
	var passed []string
	runs := 0
	for _, r := range rows {
		result := w.result(r.call)
		want := toolspec.CodePolicyDenied
		switch {
		case !r.trusted:
			want = toolspec.CodeAuthzDenied
		case r.inv.Context.TenantID == "acme" && r.requested && slices.Contains(holders[r.connection], r.holder):
			want = ""
			passed = append(passed, r.name)
		}
		if n := asked.of(r.name); (n > 0) != (want == "") {
			t.Errorf("the tool of %s ran %d times", r.name, n)
		} else {
			runs += n
		}
		if result.ErrorCode != want {
			t.Errorf("%s ended with %q %s, want %q", r.name, result.ErrorCode, result.SafeMessage, want)
		}
		if want == toolspec.CodePolicyDenied && result.SafeMessage != "no grant allows this connection" {
			t.Errorf("%s: %q tells something", r.name, result.SafeMessage)
		}
	}
	t.Logf("%d rows, %d pass", len(rows), len(passed))
	used := query[string](w, `SELECT DISTINCT tool_call_id FROM events JOIN invocations USING (invocation_id) WHERE events.kind = 'connection_used' ORDER BY 1`)
	if slices.Sort(passed); len(passed) == 0 || s.requests() < len(passed) || s.requests() > runs || !slices.Equal(used, passed) {
		t.Errorf("%d runs of the tool, and %d requests that the service heard; leases were taken for %v, want %v", runs, s.requests(), used, passed)
	}
}
