package policytest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// Effects draws effects.
func Effects() *rapid.Generator[toolspec.Effect] {
	return rapid.SampledFrom([]toolspec.Effect{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect})
}

// Risks draws risks.
func Risks() *rapid.Generator[toolspec.Risk] {
	return rapid.SampledFrom([]toolspec.Risk{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk})
}

// Tools draws ids of tools. There are few ids, so that several rules match the same tool.
func Tools() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"core__a", "core__ab", "core__b", "web__a", "web__b", "mcp__web__a"})
}

func genPattern() *rapid.Generator[document.Pattern] {
	return rapid.SampledFrom([]document.Pattern{"core__a", "core__a*", "core__*", "web__*", "web__b", "mcp__*", "*", "c*", "none__x"})
}

// Rules draws rules.
func Rules() *rapid.Generator[document.Rule] {
	return rapid.Custom(func(t *rapid.T) document.Rule {
		r := document.Rule{
			Tool:     genPattern().Draw(t, "tool"),
			Decision: rapid.SampledFrom([]document.Verb{document.Deny, document.RequireApproval, document.Allow, ""}).Draw(t, "decision"),
		}
		if rapid.Bool().Draw(t, "narrow") {
			r.Effects = rapid.SliceOfN(Effects(), 1, 2).Draw(t, "effects")
			r.Risks = rapid.SliceOfN(Risks(), 1, 2).Draw(t, "risks")
		}
		if rapid.IntRange(0, 2).Draw(t, "conditional") == 0 {
			r.When = genWhen().Draw(t, "when")
		}
		if rapid.IntRange(0, 3).Draw(t, "of roles") == 0 {
			r.Roles = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"admin", "bot", "nobody"}), 1, 2, rapid.ID).Draw(t, "roles")
		}
		if r.Decision == "" || r.Decision == document.RequireApproval && rapid.Bool().Draw(t, "raise") {
			r.Risk = Risks().Draw(t, "risk")
		}
		if r.Decision == document.RequireApproval && rapid.IntRange(0, 2).Draw(t, "by others") == 0 {
			r.Approvals = genApprovers().Draw(t, "of the rule")
		}
		if r.Decision != "" {
			r.Message = document.Message(rapid.StringMatching(`[ -~é…]{0,12}`).Draw(t, "message"))
		}
		return r
	})
}

// genWhen draws conditions. With the arguments that Args draws, some are true, some are false and
// some fail.
func genWhen() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		`args.n > 1`, `args.n == 1 && args.s == "x"`, `has(args.n) && args.n > 1`, `args.s.startsWith("x")`, `args.l.exists(e, e == args.n)`,
		`actor == "user:ann"`, `actor == "user:bob" && args.n > 1`, `args.n > 1 || actor == "user:ann"`, `tool.id == "core__a"`, `args.s`,
		`tool.risk == "low" || args.?s.orValue("y") == "y"`, `1 / args.n > 0`, `true`, `false`,
	})
}

// Args draws arguments.
func Args() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{`{}`, `{"n":0}`, `{"n":1,"s":"x"}`, `{"n":2.5,"s":"y","l":[2.5]}`, `{"n":"1","s":1}`, `{"s":true}`})
}

// Documents draws documents of the tenant acme.
func Documents() *rapid.Generator[document.Document] {
	return rapid.Custom(func(t *rapid.T) document.Document {
		approvers := rapid.SliceOfN(rapid.SampledFrom([]document.Pattern{"user:*", "group:ops", "*"}), 0, 2).Draw(t, "approvers")
		return document.Document{Version: 1, MCP: genMCP().Draw(t, "mcp"), Tenants: map[string]document.Tenant{"acme": {
			AllowedTools: append([]document.Pattern{}, rapid.SliceOfN(genPattern(), 0, 3).Draw(t, "allowed")...),
			Mode:         rapid.SampledFrom([]document.Mode{document.Yolo, document.Auto, document.Ask}).Draw(t, "mode"),
			AskFor:       rapid.SliceOfN(Effects(), 0, 2).Draw(t, "ask for"),
			Rules:        rapid.SliceOfN(Rules(), 0, 6).Draw(t, "rules"),
			Budgets:      document.Budgets{MaxRuntimeMs: rapid.Int64Range(0, 5).Draw(t, "runtime"), DeadlineMs: rapid.Int64Range(0, 5).Draw(t, "deadline")},
			Limits:       rapid.SliceOfNDistinct(genLimit(), 0, 3, func(l document.Limit) string { return fmt.Sprint(l.Tool, l.Kind(), l.Per) }).Draw(t, "limits"),
			Basis:        rapid.SampledFrom([]authz.Basis{"", authz.ByRelations}).Draw(t, "basis"),
			Repair:       rapid.SliceOfN(genPattern(), 0, 2).Draw(t, "repair"),
			NoSchema:     rapid.SampledFrom([]toolspec.NoSchemaMode{"", toolspec.NoSchemaAsk}).Draw(t, "no schema mode"),
			Roles:        map[string]document.Members{"admin": {"user:ann"}, "bot": {"agent:*"}, "nobody": {}},
			Features:     rapid.MapOfN(rapid.SampledFrom([]string{"one", "two"}), genFeature(), 0, 2).Draw(t, "features"),
			Overrides:    rapid.SliceOfNDistinct(genOverride(), 0, 3, func(o document.Override) document.Pattern { return o.Tool }).Draw(t, "overrides"),
			Cache:        rapid.SliceOfNDistinct(genCache(), 0, 3, func(c document.Cache) document.Pattern { return c.Tool }).Draw(t, "cache"),
			Approvals: waiting(document.Approvals{
				RuleApprovals: document.RuleApprovals{ExpiresAfter: rapid.SampledFrom([]document.Duration{"1s", "24h0m0s", "720h0m0s"}).Draw(t, "expiry"), Approvers: approvers},
				Enabled:       rapid.Bool().Draw(t, "enabled"), AllowSelfApproval: rapid.Bool().Draw(t, "self"), AllowUnsigned: rapid.Bool().Draw(t, "unsigned"),
			}, rapid.IntRange(0, 3).Draw(t, "waiting")),
		}}}
	})
}

// Digests draws digests of definitions. They are few, so that some match.
func Digests() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{strings.Repeat("a", 64), strings.Repeat("b", 64)})
}

// genMCP draws reviews of the tools a and b of the server web, of which Tools draws only a.
func genMCP() *rapid.Generator[map[string]document.MCPServer] {
	return rapid.Custom(func(t *rapid.T) map[string]document.MCPServer {
		tools := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), rapid.Custom(func(t *rapid.T) document.MCPReview {
			return document.MCPReview{
				Digest: Digests().Draw(t, "reviewed"), Effect: Effects().Draw(t, "reviewed effect"), Risk: Risks().Draw(t, "reviewed risk"),
				Idempotent: rapid.Bool().Draw(t, "idempotent"), Allow: []string{"/text"},
			}
		}), 0, 2).Draw(t, "reviews")
		if len(tools) == 0 {
			return nil
		}
		return map[string]document.MCPServer{"web": tools}
	})
}

func genFeature() *rapid.Generator[document.Feature] {
	return rapid.Custom(func(t *rapid.T) document.Feature {
		return document.Feature{Tools: []document.Pattern{genPattern().Draw(t, "of")}, Enabled: rapid.Bool().Draw(t, "on")}
	})
}

func genOverride() *rapid.Generator[document.Override] {
	return rapid.Custom(func(t *rapid.T) document.Override {
		return document.Override{Tool: genPattern().Draw(t, "overridden"), Mode: rapid.SampledFrom([]document.Mode{document.Yolo, document.Auto, document.Ask}).Draw(t, "other mode"),
			Budgets: document.Budgets{MaxRuntimeMs: rapid.Int64Range(0, 5).Draw(t, "other runtime")}, Approvals: genApprovers().Draw(t, "other approvals")}
	})
}

// genApprovers draws the approvals of a rule or an override; the zero value is none.
func genApprovers() *rapid.Generator[document.RuleApprovals] {
	return rapid.SampledFrom([]document.RuleApprovals{
		{}, {Approvers: []document.Pattern{"*"}, Quorum: 1}, {Approvers: []document.Pattern{"user:*"}}, {ExpiresAfter: "2s"}, {ExpiresAfter: "1m0s", Approvers: []document.Pattern{"role:finance"}, Quorum: 2},
		{Chain: []document.ChainEntry{{Name: "lead", Approvers: []document.Pattern{"user:ann"}}, {Quorum: 2}}},
	})
}

func genCache() *rapid.Generator[document.Cache] {
	return rapid.Custom(func(t *rapid.T) document.Cache {
		return document.Cache{Tool: genPattern().Draw(t, "kept"), For: rapid.SampledFrom([]document.CacheTime{document.Never, "1s", "1h0m0s"}).Draw(t, "for")}
	})
}

func genLimit() *rapid.Generator[document.Limit] {
	return rapid.Custom(func(t *rapid.T) document.Limit {
		l := document.Limit{Tool: genPattern().Draw(t, "limited"), Then: rapid.SampledFrom([]document.Then{document.ThenFail, document.ThenWait}).Draw(t, "then")}
		for _, s := range []document.Scope{document.PerTool, document.PerActor, document.PerConnection} {
			if rapid.Bool().Draw(t, string(s)) {
				l.Per = append(l.Per, s)
			}
		}
		if rapid.Bool().Draw(t, "quota") {
			l.Quota = document.Quota{Tokens: rapid.Int64Range(1, 1_000_000).Draw(t, "tokens"), Every: rapid.SampledFrom([]document.Duration{"1s", "1h0m0s"}).Draw(t, "every")}
		} else {
			l.Concurrent = rapid.Int64Range(1, 10_000).Draw(t, "concurrent")
		}
		if l.Then == document.ThenWait && rapid.Bool().Draw(t, "for a time") {
			l.WaitFor = "1m30s"
		}
		return l
	})
}

// WithRule returns the document with one more rule at the index at.
func WithRule(d document.Document, at int, r document.Rule) document.Document {
	t := d.Tenants["acme"]
	t.Rules = slices.Insert(slices.Clone(t.Rules), min(at, len(t.Rules)), r)
	return document.Document{Version: 1, MCP: d.MCP, Tenants: map[string]document.Tenant{"acme": t}}
}

// waiting adds a reminder and escalations, unless the request expires after one second or has no
// approvers.
func waiting(a document.Approvals, steps int) document.Approvals {
	if a.ExpiresAfter == "1s" || len(a.Approvers) == 0 || steps == 0 {
		return a
	}
	a.RemindAfter = "30m0s"
	for i := range steps {
		a.Escalate = append(a.Escalate, document.Escalation{After: document.Duration(fmt.Sprintf("%dh0m0s", i+1)), Approvers: []document.Pattern{"role:admin", "user:chief"}})
	}
	return a
}
