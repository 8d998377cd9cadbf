package policy

import (
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// Generators of documents and facts. The tools are few, so that rules meet.

func genEffect() *rapid.Generator[toolspec.Effect] {
	return rapid.SampledFrom([]toolspec.Effect{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect})
}

func genRisk() *rapid.Generator[toolspec.Risk] {
	return rapid.SampledFrom([]toolspec.Risk{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk})
}

func genTool() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"core__a", "core__ab", "core__b", "web__a", "web__b"})
}

func genPattern() *rapid.Generator[Pattern] {
	return rapid.SampledFrom([]Pattern{"core__a", "core__a*", "core__*", "web__*", "web__b", "*", "c*", "none__x"})
}

func genRule() *rapid.Generator[ruleDoc] {
	return rapid.Custom(func(t *rapid.T) ruleDoc {
		r := ruleDoc{
			Tool:     genPattern().Draw(t, "tool"),
			Decision: rapid.SampledFrom([]Verb{Deny, RequireApproval, Allow, ""}).Draw(t, "decision"),
		}
		if rapid.Bool().Draw(t, "narrow") {
			r.Effects = rapid.SliceOfN(genEffect(), 1, 2).Draw(t, "effects")
			r.Risks = rapid.SliceOfN(genRisk(), 1, 2).Draw(t, "risks")
		}
		if rapid.IntRange(0, 2).Draw(t, "conditional") == 0 {
			r.When = genWhen().Draw(t, "when")
		}
		if rapid.IntRange(0, 3).Draw(t, "of roles") == 0 {
			r.Roles = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"admin", "bot", "nobody"}), 1, 2, rapid.ID).Draw(t, "roles")
		}
		if r.Decision == "" || r.Decision == RequireApproval && rapid.Bool().Draw(t, "raise") {
			r.Risk = genRisk().Draw(t, "risk")
		}
		if r.Decision == RequireApproval && rapid.IntRange(0, 2).Draw(t, "by others") == 0 {
			r.Approvals = genApprovers().Draw(t, "of the rule")
		}
		if r.Decision != "" {
			r.Message = rapid.StringMatching(`[ -~é…]{0,12}`).Draw(t, "message")
		}
		return r
	})
}

// genWhen draws conditions that hold, do not, and fail for what genArgs draws.
func genWhen() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{
		`args.n > 1`, `args.n == 1 && args.s == "x"`, `has(args.n) && args.n > 1`, `args.s.startsWith("x")`, `args.l.exists(e, e == args.n)`,
		`actor == "user:ann"`, `actor == "user:bob" && args.n > 1`, `args.n > 1 || actor == "user:ann"`, `tool.id == "core__a"`, `args.s`,
		`tool.risk == "low" || args.?s.orValue("y") == "y"`, `1 / args.n > 0`, `true`, `false`,
	})
}

func genArgs() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{`{}`, `{"n":0}`, `{"n":1,"s":"x"}`, `{"n":2.5,"s":"y","l":[2.5]}`, `{"n":"1","s":1}`, `{"s":true}`})
}

func genDocument() *rapid.Generator[document] {
	return rapid.Custom(func(t *rapid.T) document {
		approvers := rapid.SliceOfN(rapid.SampledFrom([]Pattern{"user:*", "group:ops", "*"}), 0, 2).Draw(t, "approvers")
		return document{Version: 1, Tenants: map[string]tenantDoc{"acme": {
			AllowedTools: append([]Pattern{}, rapid.SliceOfN(genPattern(), 0, 3).Draw(t, "allowed")...),
			Mode:         rapid.SampledFrom([]Mode{Yolo, Auto, Ask}).Draw(t, "mode"),
			AskFor:       rapid.SliceOfN(genEffect(), 0, 2).Draw(t, "ask for"),
			Rules:        rapid.SliceOfN(genRule(), 0, 6).Draw(t, "rules"),
			Budgets:      Budgets{MaxRuntimeMs: rapid.Int64Range(0, 5).Draw(t, "runtime"), DeadlineMs: rapid.Int64Range(0, 5).Draw(t, "deadline")},
			Limits:       rapid.SliceOfNDistinct(genLimit(), 0, 3, limitDoc.counts).Draw(t, "limits"),
			Basis:        rapid.SampledFrom([]authz.Basis{"", authz.ByRelations}).Draw(t, "basis"),
			Repair:       rapid.SliceOfN(genPattern(), 0, 2).Draw(t, "repair"),
			NoSchema:     rapid.SampledFrom([]toolspec.NoSchemaMode{"", toolspec.NoSchemaAsk}).Draw(t, "no schema mode"),
			Roles:        map[string][]Pattern{"admin": {"user:ann"}, "bot": {"agent:*"}, "nobody": {}},
			Features:     rapid.MapOfN(rapid.SampledFrom([]string{"one", "two"}), genFeature(), 0, 2).Draw(t, "features"),
			Overrides:    rapid.SliceOfNDistinct(genOverride(), 0, 3, func(o overrideDoc) Pattern { return o.Tool }).Draw(t, "overrides"),
			Cache:        rapid.SliceOfNDistinct(genCache(), 0, 3, func(c cacheDoc) Pattern { return c.Tool }).Draw(t, "cache"),
			Approvals: approvalsDoc{
				approversDoc: approversDoc{ExpiresAfter: rapid.SampledFrom([]string{"1s", "24h0m0s", "720h0m0s"}).Draw(t, "expiry"), Approvers: approvers},
				Enabled:      rapid.Bool().Draw(t, "enabled"), AllowSelfApproval: rapid.Bool().Draw(t, "self"), AllowUnsigned: rapid.Bool().Draw(t, "unsigned"),
			}.waiting(rapid.IntRange(0, 3).Draw(t, "waiting")),
		}}}
	})
}

func genFeature() *rapid.Generator[featureDoc] {
	return rapid.Custom(func(t *rapid.T) featureDoc {
		return featureDoc{Tools: []Pattern{genPattern().Draw(t, "of")}, Enabled: rapid.Bool().Draw(t, "on")}
	})
}

func genOverride() *rapid.Generator[overrideDoc] {
	return rapid.Custom(func(t *rapid.T) overrideDoc {
		return overrideDoc{Tool: genPattern().Draw(t, "overridden"), Mode: rapid.SampledFrom([]Mode{Yolo, Auto, Ask}).Draw(t, "other mode"),
			Budgets: Budgets{MaxRuntimeMs: rapid.Int64Range(0, 5).Draw(t, "other runtime")}, Approvals: genApprovers().Draw(t, "other approvals")}
	})
}

// genApprovers draws the approvals of a rule or an override; the zero value is none.
func genApprovers() *rapid.Generator[approversDoc] {
	return rapid.SampledFrom([]approversDoc{
		{}, {Approvers: []Pattern{"*"}, Quorum: 1}, {Approvers: []Pattern{"user:*"}}, {ExpiresAfter: "2s"}, {ExpiresAfter: "1m0s", Approvers: []Pattern{"role:finance"}, Quorum: 2},
		{Chain: []seatDoc{{Name: "lead", Approvers: []Pattern{"user:ann"}}, {Quorum: 2}}},
	})
}

func genCache() *rapid.Generator[cacheDoc] {
	return rapid.Custom(func(t *rapid.T) cacheDoc {
		return cacheDoc{Tool: genPattern().Draw(t, "kept"), For: rapid.SampledFrom([]string{never, "1s", "1h0m0s"}).Draw(t, "for")}
	})
}

func genLimit() *rapid.Generator[limitDoc] {
	return rapid.Custom(func(t *rapid.T) limitDoc {
		l := limitDoc{Tool: genPattern().Draw(t, "limited"), Then: rapid.SampledFrom([]Then{ThenFail, ThenWait}).Draw(t, "then")}
		for _, s := range []Scope{PerTool, PerActor, PerConnection} {
			if rapid.Bool().Draw(t, string(s)) {
				l.Per = append(l.Per, s)
			}
		}
		if rapid.Bool().Draw(t, "quota") {
			l.Quota = quotaDoc{Tokens: rapid.Int64Range(1, maxTokens).Draw(t, "tokens"), Every: rapid.SampledFrom([]string{"1s", "1h0m0s"}).Draw(t, "every")}
		} else {
			l.Concurrent = rapid.Int64Range(1, maxConcurrent).Draw(t, "concurrent")
		}
		if l.Then == ThenWait && rapid.Bool().Draw(t, "for a time") {
			l.WaitFor = "1m30s"
		}
		return l
	})
}

func genFacts() *rapid.Generator[Facts] {
	return rapid.Custom(func(t *rapid.T) Facts {
		f := Facts{
			TenantID: "acme", ActorID: rapid.SampledFrom([]string{"user:ann", "agent:a", ""}).Draw(t, "actor"), RunID: "r", ToolID: genTool().Draw(t, "call"),
			Effect: genEffect().Draw(t, "effect"), Risk: genRisk().Draw(t, "declared"), HasArgs: true, Args: []byte(genArgs().Draw(t, "args")),
			Repaired: rapid.IntRange(0, 4).Draw(t, "repaired") == 0, NoSchema: rapid.IntRange(0, 4).Draw(t, "no schema") == 0,
		}
		if rapid.IntRange(0, 3).Draw(t, "narrowed") == 0 {
			f.ToolIDs = rapid.SliceOf(genTool()).Draw(t, "tool ids")
		}
		return f
	})
}

// with returns the document with one more rule at a place.
func (d document) with(at int, r ruleDoc) document {
	t := d.Tenants["acme"]
	t.Rules = slices.Insert(slices.Clone(t.Rules), min(at, len(t.Rules)), r)
	return document{Version: 1, Tenants: map[string]tenantDoc{"acme": t}}
}

// waiting adds what happens to a request that waits long, where its life has room for it and somebody is named.
func (a approvalsDoc) waiting(steps int) approvalsDoc {
	if a.ExpiresAfter == "1s" || len(a.Approvers) == 0 || steps == 0 {
		return a
	}
	a.RemindAfter = "30m0s"
	for i := range steps {
		a.Escalate = append(a.Escalate, escalationDoc{After: fmt.Sprintf("%dh0m0s", i+1), Approvers: []Pattern{"role:admin", "user:chief"}})
	}
	return a
}
