package activities_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/activities/approval"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/strictjson"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestRemembered: a remembered approval is no wider than its approver asks for and policy allows.
func TestRemembered(t *testing.T) {
	args := json.RawMessage(`{"path":"notes/a.md","text":"a"}`)
	exact, err := strictjson.Digest(args)
	if err != nil {
		t.Fatal(err)
	}
	covered := hook.GrantedApproval{Digest: "d", ToolDigest: "tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, RuleDigest: "rule"}
	rule := policy.ApprovalRule{Enabled: true, AllowUnsigned: true, RememberForMs: 60_000, RememberAnyArgs: true, RememberAnyActor: true}
	narrow := rule
	narrow.RememberAnyArgs, narrow.RememberAnyActor = false, false
	none := rule
	none.RememberForMs = 0
	notes := []toolspec.ArgMatch{{Pointer: "/path", Pattern: "notes/*"}}
	grant := func(change func(*approval.GrantRow)) *approval.GrantRow {
		g := &approval.GrantRow{For: time.Minute, Grant: approval.Grant{Granted: covered, Approver: "user:bob", ActorID: "user:ann", ArgsDigest: exact}}
		change(g)
		return g
	}
	for _, tc := range []struct {
		name  string
		rule  policy.ApprovalRule
		verb  toolspec.Verb
		scope *toolspec.Scope
		want  *approval.GrantRow
		why   string
	}{
		{"the narrowest", narrow, toolspec.Approve, nil, grant(func(*approval.GrantRow) {}), "remembered for 1m0s"},
		{"for less", narrow, toolspec.Approve, &toolspec.Scope{ForMs: 1000}, grant(func(g *approval.GrantRow) { g.For = time.Second }), "remembered for 1s"},
		{"for more than policy lets be", narrow, toolspec.Approve, &toolspec.Scope{ForMs: 1e9}, grant(func(*approval.GrantRow) {}), "remembered for 1m0s"},
		{"in this session", narrow, toolspec.Approve, &toolspec.Scope{Session: toolspec.Same}, grant(func(g *approval.GrantRow) { g.SessionID = "s-1" }), ""},
		{"any arguments", rule, toolspec.Approve, &toolspec.Scope{Args: toolspec.Any}, grant(func(g *approval.GrantRow) { g.ArgsDigest = "" }), ""},
		{"any actor", rule, toolspec.Approve, &toolspec.Scope{Actor: toolspec.Any}, grant(func(g *approval.GrantRow) { g.ActorID = "" }), ""},
		{"some arguments", rule, toolspec.Approve, &toolspec.Scope{Args: toolspec.Match, Match: notes}, grant(func(g *approval.GrantRow) { g.ArgsDigest, g.Match = "", notes }), ""},
		{"any arguments, where policy does not let", narrow, toolspec.Approve, &toolspec.Scope{Args: toolspec.Any}, nil, "same arguments only"},
		{"some arguments, where policy does not let", narrow, toolspec.Approve, &toolspec.Scope{Args: toolspec.Match, Match: notes}, nil, "same arguments only"},
		{"any actor, where policy does not let", narrow, toolspec.Approve, &toolspec.Scope{Actor: toolspec.Any}, nil, "same actor only"},
		{"a pattern that the approved call does not match", rule, toolspec.Approve,
			&toolspec.Scope{Args: toolspec.Match, Match: []toolspec.ArgMatch{{Pointer: "/path", Pattern: "logs/*"}}}, nil, "do not match the scope"},
		{"where policy remembers nothing", none, toolspec.Approve, nil, nil, "policy lets nobody remember"},
		{"a denial", rule, toolspec.Deny, nil, nil, "only an approval is remembered"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.records.open = approval.OpenRequest{Rule: tc.rule, RequestedBy: "user:ann", Granted: covered}
			w.records.state = contract.RequestOpen
			d := toolspec.Decision{ApprovalID: "inv.1", Decision: tc.verb, Approver: "user:bob", Remember: true, Scope: tc.scope}
			got, err := w.Review(t.Context(), contract.ReviewIn{TenantID: "acme", ToolID: "core__tool", ApprovalID: "inv.1", Decision: &d, Args: args, SessionID: "s-1"})
			if err != nil || !got.Answer.Counted || !strings.Contains(got.Answer.Reason, tc.why) {
				t.Errorf("got %+v, %v, want %q", got.Answer, err, tc.why)
			}
			if !reflect.DeepEqual(w.records.grant, tc.want) {
				t.Errorf("left behind %+v, want %+v", w.records.grant, tc.want)
			}
		})
	}
}

// TestNothingToRemember: a grant for the session of a call without a session would cover every session. A
// decision about a parked call, whose request has no arguments, answers another question. Neither is
// remembered.
func TestNothingToRemember(t *testing.T) {
	for _, tc := range []struct {
		scope toolspec.Scope
		args  string
		why   string
	}{{toolspec.Scope{Session: toolspec.Same}, `{}`, "the call has no session"}, {toolspec.Scope{Args: toolspec.Any}, "", "an answer to another question"}} {
		w := newWorld(t, setup{})
		rule := policy.ApprovalRule{Enabled: true, AllowUnsigned: true, RememberForMs: 60_000, RememberAnyArgs: true}
		w.records.open, w.records.state = approval.OpenRequest{Rule: rule, RequestedBy: "user:ann"}, contract.RequestOpen
		in := contract.ReviewIn{TenantID: "acme", ToolID: "core__tool", ApprovalID: "inv.1", Decision: &toolspec.Decision{
			ApprovalID: "inv.1", Decision: toolspec.Approve, Approver: "user:bob", Remember: true, Scope: &tc.scope,
		}}
		if tc.args != "" {
			in.Args = json.RawMessage(tc.args)
		}
		got, err := w.Review(t.Context(), in)
		if err != nil || !got.Answer.Counted || !strings.Contains(got.Answer.Reason, tc.why) || w.records.grant != nil {
			t.Errorf("%s: %+v, %v, left behind %+v", tc.why, got.Answer, err, w.records.grant)
		}
	}
}

// TestCovered: an earlier approval covers exactly the calls that its approver meant. A grant that matches too
// much would allow calls that nobody has seen. A grant that never matches would ask again for each call.
func TestCovered(t *testing.T) {
	const rules = "version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: auto\n    approvals: {allowUnsigned: true, remember: {for: 1h, anyArgs: %ARGS, anyActor: true}}\n"
	wide, narrow := strings.Replace(rules, "%ARGS", "true", 1), strings.Replace(rules, "%ARGS", "false", 1)
	type given struct {
		policy string
		grant  approval.Grant
		facts  hook.Facts
		edited string
		ask    hook.Ask
	}
	// matched gives a grant for texts that match a pattern, and the arguments of a call.
	matched := func(pattern, args string) func(*given) {
		return func(g *given) {
			g.grant.ArgsDigest, g.grant.Match, g.facts.Args = "", []toolspec.ArgMatch{{Pointer: "/text", Pattern: pattern}}, json.RawMessage(args)
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*given)
		want   bool
	}{
		{"the same", func(*given) {}, true},
		{"other arguments", func(g *given) { g.facts.Args = json.RawMessage(`{"text":"other"}`) }, false},
		{"the same arguments, written otherwise", func(g *given) { g.facts.Args = json.RawMessage(`{ "text" : "notes/a" }`) }, true},
		{"another actor", func(g *given) { g.facts.Context.ActorID = "user:cid" }, false},
		{"any actor", func(g *given) { g.grant.ActorID, g.facts.Context.ActorID = "", "user:cid" }, true},
		{"another session", func(g *given) { g.grant.SessionID, g.facts.Context.SessionID = "s-1", "s-2" }, false},
		{"its session", func(g *given) { g.grant.SessionID, g.facts.Context.SessionID = "s-1", "s-1" }, true},
		{"any arguments", func(g *given) { g.grant.ArgsDigest, g.facts.Args = "", json.RawMessage(`{"text":"x"}`) }, true},
		{"any arguments, which policy has narrowed since", func(g *given) { g.policy, g.grant.ArgsDigest = narrow, "" }, false},
		{"some arguments", matched("notes/*", `{"text":"notes/b"}`), true},
		{"arguments beside the pattern", matched("notes/*", `{"text":"notesb"}`), false},
		{"out of the pattern by way of ..", matched("notes/*", `{"text":"notes/../secrets"}`), false},
		{"out of the pattern by way of .. that begins in its prefix", matched("notes/.*", `{"text":"notes/../secrets"}`), false},
		{"out of the pattern by way of .. in percent-encoding", matched("notes/*", `{"text":"notes/%2E%252e%2Fsecrets"}`), false},
		{"out of the pattern by way of .. with a parameter", matched("notes/*", `{"text":"notes/..;a/secrets"}`), false},
		{"out of the pattern by way of .. before a query", matched("notes/*", `{"text":"notes/..?all=1"}`), false},
		{"out of the pattern by way of .. before a fragment", matched("notes/*", `{"text":"notes/..#a"}`), false},
		{"out of the pattern by way of .. with characters that readers of URLs remove", matched("notes/*", `{"text":"notes/.\t.\n/secrets"}`), false},
		{"out of the pattern by way of .. and a space", matched("notes/*", `{"text":"notes/.. "}`), false},
		{"a query that is no path", matched("notes/*", `{"text":"notes/b?from=..&to=c"}`), true},
		{"percent-encoding that leads nowhere", matched("notes/*", `{"text":"notes/b%2Fc%2e"}`), true},
		{"a hidden file, with a pattern for these", matched("notes/.*", `{"text":"notes/.draft"}`), true},
		{"below a directory that the pattern names by way of ..", matched("../notes/*", `{"text":"../notes/b"}`), true},
		{"a member that is no text", matched("notes/*", `{"text":["notes/b"]}`), false},
		{"a member that is not there", func(g *given) {
			g.grant.ArgsDigest, g.grant.Match = "", []toolspec.ArgMatch{{Pointer: "/other", Pattern: "notes/*"}}
		}, false},
		{"arguments that were mended", func(g *given) { g.facts.Repaired = true }, false},
		{"another version of the tool", func(g *given) { g.grant.Granted.ToolDigest = "older" }, false},
		{"another effect", func(g *given) { g.grant.Granted.Effect = toolspec.ReadOnly }, false},
		{"another risk", func(g *given) { g.grant.Granted.Risk = toolspec.HighRisk }, false},
		{"another rule of who may decide", func(g *given) { g.grant.Granted.RuleDigest = "older" }, false},
		{"the approver's own call", func(g *given) { g.grant.ActorID, g.facts.Context.ActorID = "", "user:bob" }, false},
		{"the approver's own call, where requesters may decide", func(g *given) {
			g.policy = strings.Replace(wide, "allowUnsigned: true", "allowUnsigned: true, allowSelfApproval: true", 1)
			g.grant.ActorID, g.facts.Context.ActorID, g.grant.Granted.RuleDigest = "", "user:bob", ""
		}, true},
		{"the same call on behalf of somebody", func(g *given) { g.facts.Context.SubjectID = "user:sue" }, false},
		{"a call for nobody, after one on behalf of somebody", func(g *given) { g.grant.Granted.SubjectID = "user:sue" }, false},
		{"the same subject", func(g *given) { g.grant.Granted.SubjectID, g.facts.Context.SubjectID = "user:sue", "user:sue" }, true},
		{"any actor for any subject", func(g *given) { g.grant.ActorID, g.facts.Context.SubjectID = "", "user:sue" }, true},
		{"a call on behalf of the approver", func(g *given) { g.facts.Context.SubjectID = "user:bob" }, false},
		{"arguments that the approver has edited", func(g *given) { g.edited = "user:bob" }, false},
		{"a grant without the rule that asked", func(g *given) { g.grant.Granted.Asked = "" }, false},
		{"a rule that asks by now", func(g *given) {
			g.policy = strings.Replace(wide, "mode: auto\n", "mode: auto\n    rules: [{tool: \"core__*\", decision: require_approval}]\n", 1)
		}, false},
		{"a hook that asks", func(g *given) { g.ask.Hook = "amounts" }, false},
		{"where policy remembers nothing any more", func(g *given) {
			g.policy = strings.Replace(wide, "remember: {for: 1h, anyArgs: true, anyActor: true}", "enabled: true", 1)
		}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			base := newWorld(t, setup{policy: wide})
			f := base.facts()
			f.Args = json.RawMessage(`{"text":"notes/a"}`)
			digest, err := strictjson.Digest(f.Args)
			if err != nil {
				t.Fatal(err)
			}
			// The scope that a request for this call records.
			if _, err := base.Request(t.Context(), contract.RequestIn{Facts: f}); err != nil {
				t.Fatal(err)
			}
			covered := base.records.requests[0].Granted
			g := given{policy: wide, grant: approval.Grant{ID: "grant-1", Granted: covered, ArgsDigest: digest, ActorID: "user:ann", Approver: "user:bob"}, facts: f}
			tc.change(&g)
			w := newWorld(t, setup{policy: g.policy})
			g.facts.PolicyDigest = w.policy.Digest()
			if g.grant.Granted.RuleDigest == "" { // the grant was given under the rule that counts now
				g.grant.Granted.RuleDigest = w.policy.Decide(judge.PolicyFacts(g.facts, true)).Approval.Digest()
			}
			w.records.grants = []approval.Grant{g.grant}
			if _, err := w.Request(t.Context(), contract.RequestIn{Facts: g.facts, EditedBy: g.edited, Ask: g.ask}); err != nil {
				t.Fatal(err)
			}
			if got := w.records.requests[0].Remembered; (got == "grant-1") != tc.want {
				t.Errorf("answered by %q, want that: %v", got, tc.want)
			}
		})
	}
}
