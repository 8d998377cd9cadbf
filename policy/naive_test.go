package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// A second evaluator, written from docs/policy-reference.md alone: it has no CEL, no
// classes and no early end, and finds what is undetermined by trying both.

// guess is a condition's answer: a pointer to whether it holds, nil where it
// fails; open where the arguments decide.
type guess struct {
	holds *bool
	open  bool
}

func is(b bool) guess { return guess{holds: &b} }

var fails, opens = guess{}, guess{open: true}

func both(a, b guess) guess {
	for _, g := range []guess{a, b} {
		if g.holds != nil && !*g.holds {
			return g
		}
	}
	return worse(a, b, true)
}

func oneOf2(a, b guess) guess {
	for _, g := range []guess{a, b} {
		if g.holds != nil && *g.holds {
			return g
		}
	}
	return worse(a, b, false)
}

func worse(a, b guess, otherwise bool) guess {
	switch {
	case a.open || b.open:
		return opens
	case a.holds == nil || b.holds == nil:
		return fails
	}
	return is(otherwise)
}

// naiveWhen are the conditions of genWhen in Go.
func naiveWhen(text string, f Facts) guess {
	var args map[string]any
	if f.HasArgs {
		_ = json.Unmarshal(f.Args, &args)
	}
	arg := func(name string, of func(v any) guess) guess {
		if !f.HasArgs {
			return opens
		}
		v, ok := args[name]
		if !ok {
			return fails
		}
		return of(v)
	}
	more := func() guess {
		return arg("n", func(v any) guess {
			if n, ok := v.(float64); ok {
				return is(n > 1)
			}
			return fails
		})
	}
	switch text {
	case `args.n > 1`:
		return more()
	case `args.n == 1 && args.s == "x"`:
		return both(arg("n", func(v any) guess { return is(v == float64(1)) }), arg("s", func(v any) guess { return is(v == "x") }))
	case `has(args.n) && args.n > 1`:
		if !f.HasArgs {
			return opens
		}
		_, has := args["n"]
		return both(is(has), more())
	case `args.s.startsWith("x")`:
		return arg("s", func(v any) guess {
			if s, ok := v.(string); ok {
				return is(strings.HasPrefix(s, "x"))
			}
			return fails
		})
	case `args.l.exists(e, e == args.n)`:
		return arg("l", func(v any) guess { return is(slices.Contains(v.([]any), args["n"])) })
	case `actor == "user:ann"`:
		return is(f.ActorID == "user:ann")
	case `actor == "user:bob" && args.n > 1`:
		return both(is(f.ActorID == "user:bob"), more())
	case `args.n > 1 || actor == "user:ann"`:
		return oneOf2(more(), is(f.ActorID == "user:ann"))
	case `tool.id == "core__a"`:
		return is(f.ToolID == "core__a")
	case `args.s`:
		return arg("s", func(v any) guess {
			if b, ok := v.(bool); ok {
				return is(b)
			}
			return fails
		})
	case `tool.risk == "low" || args.?s.orValue("y") == "y"`:
		if f.HasArgs && args["s"] == nil {
			args["s"] = "y"
		}
		return oneOf2(is(f.Risk == toolspec.LowRisk), arg("s", func(v any) guess { return is(v == "y") }))
	case `1 / args.n > 0`:
		return arg("n", func(v any) guess {
			n, ok := v.(float64)
			if !ok || n == 0 || n != float64(int64(n)) {
				return fails
			}
			return is(1/int64(n) > 0)
		})
	case `true`, ``:
		return is(true)
	case `false`:
		return is(false)
	}
	panic("a condition that the second evaluator does not know: " + text)
}

func naiveMatch(p document.Pattern, id string) bool {
	if i := strings.IndexByte(string(p), '*'); i >= 0 {
		return strings.HasPrefix(id, string(p)[:i])
	}
	return id == string(p)
}

type naiveVerdict struct {
	verb Verb
	rule string
	risk toolspec.Risk
	// who are the people of the request, in words, and life is how long it stays open.
	who  string
	life time.Duration
}

// naivePeople says who approves: the people of one rule, or those of several one after the other.
func naivePeople(rules []document.RuleApprovals, others ...document.RuleApprovals) (who string, life time.Duration) {
	var entries []document.ChainEntry
	for _, rule := range rules {
		var one document.RuleApprovals
		for _, doc := range append([]document.RuleApprovals{rule}, others...) {
			if len(one.Approvers)+len(one.Chain) == 0 {
				one.Approvers, one.Quorum, one.Chain = doc.Approvers, doc.Quorum, doc.Chain
			}
			if one.ExpiresAfter == "" {
				one.ExpiresAfter = doc.ExpiresAfter
			}
		}
		lasts, _ := time.ParseDuration(string(one.ExpiresAfter))
		if life == 0 || lasts < life {
			life = lasts
		}
		if len(one.Chain) == 0 {
			one.Chain = []document.ChainEntry{{Approvers: one.Approvers, Quorum: one.Quorum}}
		}
		entries = append(entries, one.Chain...)
	}
	var named, anybody []document.ChainEntry
	for _, s := range entries {
		if len(s.Approvers) > 0 {
			named = append(named, s)
		} else {
			anybody = append(anybody, s)
		}
	}
	if len(rules) > 1 {
		entries = slices.Concat(named, anybody)
	}
	var words []string
	for _, s := range entries {
		words = append(words, fmt.Sprintf("%s %d of %v", s.Name, max(s.Quorum, 1), s.Approvers))
	}
	return strings.Join(words, ", then "), life
}

// peopleOf says the same of an ApprovalRule.
func peopleOf(a ApprovalRule) string {
	var words []string
	for _, s := range a.entries() {
		words = append(words, fmt.Sprintf("%s %d of %v", s.Name, s.quorum(), s.Approvers))
	}
	return strings.Join(words, ", then ")
}

// naive judges a call by acme's entry of the document. Where open conditions are
// left it tries each of them both ways; open says that the verdict differs.
func naive(d document.Document, f Facts) (v naiveVerdict, open bool) {
	t := d.Tenants["acme"]
	unreviewed := false
	if f.Discovered != nil {
		server, tool, _ := strings.Cut(strings.TrimPrefix(f.ToolID, "mcp__"), "__")
		review, ok := d.MCP[server][tool]
		if unreviewed = !ok || review.Digest != f.Discovered.Digest || !strings.HasPrefix(f.ToolID, "mcp__"); !unreviewed {
			f.Effect, f.Risk = review.Effect, review.Risk
		}
	}
	guesses := make([]guess, len(t.Rules))
	var unknown []int
	for i, r := range t.Rules {
		if guesses[i] = naiveWhen(r.When, f); guesses[i].open && naiveScope(t, r, f) {
			unknown = append(unknown, i)
		}
	}
	var seen []Verb
	for bits := range 1 << len(unknown) {
		tried := slices.Clone(guesses)
		for j, i := range unknown {
			tried[i] = is(bits>>j&1 == 1)
		}
		one := naiveDecide(t, f, tried, unreviewed)
		if bits == 0 {
			v = one
		}
		if !slices.Contains(seen, one.verb) {
			seen = append(seen, one.verb)
		}
	}
	return v, len(seen) > 1
}

// naiveScope is everything of a rule but its condition.
func naiveScope(t document.Tenant, r document.Rule, f Facts) bool {
	has := len(r.Roles) == 0
	for _, name := range r.Roles {
		for _, p := range t.Roles[name] {
			has = has || f.ActorID != "" && naiveMatch(p, f.ActorID)
		}
	}
	return has && naiveMatch(r.Tool, f.ToolID) && (len(r.Effects) == 0 || slices.Contains(r.Effects, f.Effect)) &&
		(len(r.Risks) == 0 || slices.Contains(r.Risks, f.Risk))
}

func naiveDecide(t document.Tenant, f Facts, guesses []guess, unreviewed bool) naiveVerdict {
	allowed := false
	for _, p := range t.AllowedTools {
		allowed = allowed || naiveMatch(p, f.ToolID)
	}
	switch {
	case !allowed:
		return naiveVerdict{verb: Deny, rule: "allowedTools", risk: f.Risk}
	case len(f.ToolIDs) > 0 && !slices.Contains(f.ToolIDs, f.ToolID):
		return naiveVerdict{verb: Deny, rule: "toolIds", risk: f.Risk}
	case unreviewed:
		return naiveVerdict{verb: Deny, rule: "mcp", risk: f.Risk}
	}
	rank := map[toolspec.Risk]int{toolspec.LowRisk: 0, toolspec.MediumRisk: 1, toolspec.HighRisk: 2}
	risk := f.Risk
	first := map[Verb]string{}
	// certain is the first rule that asks and names people, and unclear are those before it
	// whose condition fails. plain is the first rule that asks and names nobody.
	var certain, plain *document.RuleApprovals
	var unclear []document.RuleApprovals
	var unclearNames []string
	certainName := ""
	note := func(verb Verb, rule string) {
		if _, taken := first[verb]; !taken {
			first[verb] = rule
		}
	}
	for i, r := range t.Rules {
		g := guesses[i]
		if !naiveScope(t, r, f) || g.open || g.holds != nil && !*g.holds {
			continue
		}
		name := fmt.Sprintf("tenants.acme.rules[%d]", i)
		if r.Risk != "" && rank[r.Risk] > rank[risk] {
			risk = r.Risk
		}
		if g.holds == nil && r.Decision != Allow {
			name += " (its condition failed)"
		}
		names := len(r.Approvals.Approvers)+len(r.Approvals.Chain) > 0
		switch {
		case r.Decision == RequireApproval && names && g.holds == nil:
			if certain == nil {
				unclear, unclearNames = append(unclear, r.Approvals), append(unclearNames, name)
			}
		case r.Decision == RequireApproval && names:
			if certain == nil {
				certain, certainName = &r.Approvals, name
			}
		case g.holds != nil || r.Decision != Allow:
			if r.Decision == RequireApproval && plain == nil {
				plain = &r.Approvals
			}
			note(r.Decision, name)
		}
	}
	if slices.Contains(t.AskFor, f.Effect) {
		note(RequireApproval, "requireApprovalForEffects")
	}
	if f.Repaired {
		note(RequireApproval, "repaired call")
	}
	switch {
	case f.NoSchema && t.NoSchema == toolspec.NoSchemaAsk:
		note(RequireApproval, "call without schema")
	case f.NoSchema:
		note(Deny, "noSchemaMode")
	}
	mode := t.Mode
	for _, o := range slices.Backward(t.Overrides) {
		if o.Mode != "" && naiveMatch(o.Tool, f.ToolID) {
			mode = o.Mode
		}
	}
	v := naiveVerdict{verb: RequireApproval, rule: fmt.Sprintf("mode %s, risk %s", mode, risk), risk: risk}
	others := []document.RuleApprovals{t.Approvals.RuleApprovals}
	for _, o := range t.Overrides {
		if naiveMatch(o.Tool, f.ToolID) && (len(o.Approvals.Approvers)+len(o.Approvals.Chain) > 0 || o.Approvals.ExpiresAfter != "") {
			others = append([]document.RuleApprovals{o.Approvals}, others...)
			break
		}
	}
	decides := document.RuleApprovals{} // a rule of Pawl's own, or the mode
	switch {
	case certain != nil:
		decides, first[RequireApproval] = *certain, certainName
	case plain != nil:
		decides = *plain
	case first[RequireApproval] == "" && unclear != nil:
		first[RequireApproval] = unclearNames[0]
	}
	rules := append([]document.RuleApprovals{decides}, unclear...)
	v.who, v.life = naivePeople(rules, others...)
	if mode == document.Yolo || mode == document.Auto && risk == toolspec.LowRisk {
		v.verb = Allow
	}
	for _, verb := range []Verb{Allow, RequireApproval, Deny} {
		if rule, ok := first[verb]; ok {
			v.verb, v.rule = verb, rule
		}
	}
	if v.verb == RequireApproval && !t.Approvals.Enabled {
		v.verb = Deny
	}
	return v
}

func TestDecideAgreesWithASecondEvaluator(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		if rapid.IntRange(0, 2).Draw(t, "before hydration") == 0 {
			f.Args, f.HasArgs = nil, false
		}
		got := parsed(t, d).Decide(f)
		want, open := naive(d, f)
		switch {
		case got.Undetermined != open:
			t.Fatalf("undetermined %v by %s, want %v", got.Undetermined, got.Rule, open)
		case open:
			if got.Verb != RequireApproval {
				t.Fatalf("open and %s", got.Verb)
			}
		case got.Verb != want.verb:
			t.Fatalf("%s by %s, want %s by %s", got.Verb, got.Rule, want.verb, want.rule)
		case f.HasArgs && (got.Rule != want.rule || got.Risk != want.risk):
			t.Fatalf("by %s, risk %s; want by %s, risk %s", got.Rule, got.Risk, want.rule, want.risk)
		}
		if !open && f.HasArgs && want.verb == RequireApproval && (peopleOf(got.Approval) != want.who || got.Approval.ExpiresAfter() != want.life) {
			t.Fatalf("%s asks %s for %s, want %s for %s", got.Rule, peopleOf(got.Approval), got.Approval.ExpiresAfter(), want.who, want.life)
		}
	})
}
