package policy

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// mustParse compiles a document whose correctness is not the question.
func mustParse(t testing.TB, doc string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte(doc))
	if err != nil {
		t.Fatalf("parse:\n%v\n%s", err, doc)
	}
	return p
}

// acme is a document for tenant acme, whose entry has the given lines.
func acme(lines string) string {
	return "version: 1\ntenants:\n  acme:\n" + lines
}

// call is a medium write of acme's, with its arguments.
func call() Facts {
	return Facts{
		TenantID: "acme", ActorID: "agent:a", RunID: "r1", ToolID: "core__write_file",
		Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, HasArgs: true, Args: []byte(`{}`),
	}
}

func wantVerb(t *testing.T, d Decision, verb Verb, rule string) {
	t.Helper()
	if d.Verb != verb || d.Rule != rule || d.Undetermined {
		t.Errorf("got %s by %q (undetermined %v), want %s by %q", d.Verb, d.Rule, d.Undetermined, verb, rule)
	}
	if (d.Message == "") != (verb == Allow) {
		t.Errorf("message of %s is %q", d.Verb, d.Message)
	}
}

func TestModeTable(t *testing.T) {
	risks := []toolspec.Risk{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk}
	for mode, want := range map[string][3]Verb{
		"yolo":     {Allow, Allow, Allow},
		"auto":     {Allow, RequireApproval, RequireApproval},
		"ask":      {RequireApproval, RequireApproval, RequireApproval},
		"(absent)": {RequireApproval, RequireApproval, RequireApproval},
	} {
		line, name := "    mode: "+mode+"\n", mode
		if mode == "(absent)" {
			line, name = "", "ask"
		}
		p := mustParse(t, acme("    allowedTools: [core__*]\n"+line))
		for i, risk := range risks {
			t.Run(mode+"/"+string(risk), func(t *testing.T) {
				f := call()
				f.Risk = risk
				wantVerb(t, p.Decide(f), want[i], fmt.Sprintf("mode %s, risk %s", name, risk))
			})
		}
	}
}

// Each step of the precedence, highest first, as it is brought about.
type step struct {
	name    string
	verb    Verb
	rule    string // with %d for the place of the rule
	allowed string
	written string // a line under rules
	effects string
	mode    string // noSchemaMode
	facts   func(f *Facts)
}

func steps() []step {
	return []step{
		{name: "allowedTools", verb: Deny, rule: "allowedTools", allowed: "[core__read_*]"},
		{name: "toolIds", verb: Deny, rule: "toolIds", facts: func(f *Facts) { f.ToolIDs = []string{"core__read_file"} }},
		{name: "deny rule", verb: Deny, rule: "tenants.acme.rules[%d]", written: `{tool: "core__write_*", decision: deny}`},
		{name: "no schema, denied", verb: Deny, rule: "noSchemaMode", mode: "deny", facts: func(f *Facts) { f.NoSchema = true }},
		{name: "ask rule", verb: RequireApproval, rule: "tenants.acme.rules[%d]", written: `{tool: core__write_file, decision: require_approval}`},
		{name: "ask for effect", verb: RequireApproval, rule: "requireApprovalForEffects", effects: "[state_change]"},
		{name: "repaired", verb: RequireApproval, rule: "repaired call", facts: func(f *Facts) { f.Repaired = true }},
		{name: "no schema", verb: RequireApproval, rule: "call without schema", mode: "ask", facts: func(f *Facts) { f.NoSchema = true }},
		{name: "allow rule", verb: Allow, rule: "tenants.acme.rules[%d]", written: `{tool: "*", decision: allow}`},
	}
}

func TestPrecedenceOfEveryPair(t *testing.T) {
	all := steps()
	for i, high := range all {
		for _, low := range all[i+1:] {
			// Below the pair stands a mode that says otherwise.
			mode := "yolo"
			if high.verb == Allow {
				mode = "ask"
			}
			t.Run(high.name+" over "+low.name, func(t *testing.T) {
				checkPair(t, high, low, mode)
			})
		}
		for _, mode := range []string{"yolo", "auto", "ask"} {
			t.Run(high.name+" over mode "+mode, func(t *testing.T) {
				checkPair(t, high, step{}, mode)
			})
		}
	}
}

// checkPair writes the lower one first, so that only the class can decide.
func checkPair(t *testing.T, high, low step, mode string) {
	t.Helper()
	f := call()
	allowed, effects, rules, place, noSchema := "[core__*]", "[]", "", 0, "deny"
	for _, s := range []step{low, high} {
		if s.allowed != "" {
			allowed = s.allowed
		}
		if s.effects != "" {
			effects = s.effects
		}
		if s.mode != "" {
			noSchema = s.mode
		}
		if s.facts != nil {
			s.facts(&f)
		}
	}
	for _, s := range []step{low, high} {
		if s.written == "" {
			continue
		}
		if rules != "" {
			place++
		}
		rules += "      - " + s.written + "\n"
	}
	if rules == "" {
		rules = "      []\n"
	}
	doc := acme("    allowedTools: " + allowed + "\n    mode: " + mode +
		"\n    noSchemaMode: " + noSchema + "\n    requireApprovalForEffects: " + effects + "\n    rules:\n" + rules)
	want := high.rule
	if high.written != "" {
		want = fmt.Sprintf(high.rule, place)
	}
	wantVerb(t, mustParse(t, doc).Decide(f), high.verb, want)
}

func TestFirstRuleOfAClassExplains(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    rules:
      - {tool: core__read_file, decision: deny, message: another tool}
      - {tool: "core__*", decision: deny, message: first}
      - {tool: core__write_file, decision: deny, message: second}
`))
	d := p.Decide(call())
	wantVerb(t, d, Deny, "tenants.acme.rules[1]")
	if d.Message != "first" {
		t.Errorf("message %q", d.Message)
	}
}

func TestMatchers(t *testing.T) {
	for _, c := range []struct {
		rule    string
		applies bool
	}{
		{`{tool: core__write_file, decision: deny}`, true},
		{`{tool: core__write_fil, decision: deny}`, false},
		{`{tool: core__write_file2, decision: deny}`, false},
		{`{tool: core__write_file*, decision: deny}`, true},
		{`{tool: core__*, decision: deny}`, true},
		{`{tool: Core__*, decision: deny}`, false},
		{`{tool: "*", decision: deny}`, true},
		{`{tool: "*", effects: [state_change], decision: deny}`, true},
		{`{tool: "*", effects: [read_only, external_side_effect], decision: deny}`, false},
		{`{tool: "*", risks: [medium, high], decision: deny}`, true},
		{`{tool: "*", risks: [low], decision: deny}`, false},
		{`{tool: "*", effects: [state_change], risks: [low], decision: deny}`, false},
		{`{tool: core__read_*, effects: [state_change], decision: deny}`, false},
	} {
		p := mustParse(t, acme("    allowedTools: [core__*]\n    mode: yolo\n    rules: ["+c.rule+"]\n"))
		if denied := p.Decide(call()).Verb == Deny; denied != c.applies {
			t.Errorf("%s: denied %v, want %v", c.rule, denied, c.applies)
		}
	}
}

func TestDenyByDefault(t *testing.T) {
	var none *Policy
	for name, c := range map[string]struct {
		policy        *Policy
		rule, message string
		change        func(f *Facts)
	}{
		"no policy":       {none, "no policy", "no policy is active", nil},
		"zero policy":     {&Policy{}, "no policy", "no policy is active", nil},
		"unknown tenant":  {Development(), "tenants", "the tenant has no policy", func(f *Facts) { f.TenantID = "other" }},
		"no tenant":       {Development(), "tenants", "the tenant has no policy", func(f *Facts) { f.TenantID = "" }},
		"nothing allowed": {mustParse(t, acme("    allowedTools: []\n    mode: yolo\n")), "allowedTools", "the tool is not allowed for this tenant", nil},
		"unlisted tool":   {Development(), "allowedTools", "the tool is not allowed for this tenant", func(f *Facts) { f.ToolID = "mcp__x" }},
		"allow rule alone": {mustParse(t, acme("    allowedTools: [core__read_file]\n    rules: [{tool: core__write_file, decision: allow}]\n")),
			"allowedTools", "the tool is not allowed for this tenant", nil},
		"not of the run": {Development(), "toolIds", "the tool is not among the tools of this run", func(f *Facts) { f.ToolIDs = []string{"core__*", "core__write"} }},
		"no effect":      {Development(), "facts", "the tool declares no valid effect and risk", func(f *Facts) { f.Effect = "" }},
		"unknown risk":   {Development(), "facts", "the tool declares no valid effect and risk", func(f *Facts) { f.Risk = "none" }},
	} {
		t.Run(name, func(t *testing.T) {
			f := call()
			if c.change != nil {
				c.change(&f)
			}
			d := c.policy.Decide(f)
			wantVerb(t, d, Deny, c.rule)
			if d.Message != c.message {
				t.Errorf("message %q, want %q", d.Message, c.message)
			}
		})
	}
}

func TestToolIDsNarrowOnlyWhereGiven(t *testing.T) {
	p := Development()
	f := call()
	f.Risk = toolspec.LowRisk
	wantVerb(t, p.Decide(f), Allow, "mode auto, risk low")
	f.ToolIDs = []string{"core__read_file", "core__write_file"}
	wantVerb(t, p.Decide(f), Allow, "mode auto, risk low")
}

func TestApprovalsOffMeansDeny(t *testing.T) {
	const off = "    allowedTools: [core__*]\n    approvals: {enabled: false}\n"
	for _, c := range []struct{ lines, rule, message string }{
		{"", "mode ask, risk medium", "it needs an approval, and approvals are off: mode ask asks for calls of risk medium"},
		{"    mode: yolo\n    requireApprovalForEffects: [state_change]\n", "requireApprovalForEffects",
			"it needs an approval, and approvals are off: calls with this effect need an approval"},
		{"    mode: yolo\n    rules: [{tool: \"*\", decision: require_approval, message: ask ops}]\n", "tenants.acme.rules[0]",
			"it needs an approval, and approvals are off: ask ops"},
	} {
		d := mustParse(t, acme(off+c.lines)).Decide(call())
		wantVerb(t, d, Deny, c.rule)
		if d.Message != c.message {
			t.Errorf("message %q, want %q", d.Message, c.message)
		}
	}
	wantVerb(t, mustParse(t, acme(off+"    mode: yolo\n")).Decide(call()), Allow, "mode yolo, risk medium")
}

func TestRiskIsRaisedAndNeverLowered(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    mode: auto
    rules:
      - {tool: core__raise, risk: medium}
      - {tool: core__raise, risk: high}
      - {tool: core__raise, risk: low}
      - {tool: core__lower, risk: low}
      - {tool: core__both, risk: high, decision: require_approval}
      - {tool: core__allowed, risk: high}
      - {tool: core__allowed, decision: allow}
      - {tool: "*", risks: [high], decision: deny}
`))
	for _, c := range []struct {
		tool     string
		declared toolspec.Risk
		verb     Verb
		rule     string
		risk     toolspec.Risk
	}{
		{"core__raise", toolspec.LowRisk, RequireApproval, "mode auto, risk high", toolspec.HighRisk},
		{"core__lower", toolspec.MediumRisk, RequireApproval, "mode auto, risk medium", toolspec.MediumRisk},
		{"core__plain", toolspec.LowRisk, Allow, "mode auto, risk low", toolspec.LowRisk},
		{"core__both", toolspec.LowRisk, RequireApproval, "tenants.acme.rules[4]", toolspec.HighRisk},
		{"core__allowed", toolspec.LowRisk, Allow, "tenants.acme.rules[6]", toolspec.HighRisk},
		// risks matches what is declared, not what it was raised to.
		{"core__plain", toolspec.HighRisk, Deny, "tenants.acme.rules[7]", toolspec.HighRisk},
	} {
		f := call()
		f.ToolID, f.Risk = c.tool, c.declared
		d := p.Decide(f)
		wantVerb(t, d, c.verb, c.rule)
		if d.Risk != c.risk {
			t.Errorf("%s %s: risk %s, want %s", c.tool, c.declared, d.Risk, c.risk)
		}
	}
}

// TestRiskOutsideADirectory: the same tool has a high risk outside of a directory and its own inside
// (PO-16), as docs/policy.md shows it.
func TestRiskOutsideADirectory(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    mode: auto
    rules:
      - {tool: core__write_file, when: '!args.path.startsWith("notes/") || args.path.contains("..")', risk: high}
`))
	for path, want := range map[string]toolspec.Risk{
		"notes/a.md": toolspec.MediumRisk, "a.md": toolspec.HighRisk, "notes/../a.md": toolspec.HighRisk, "Notes/a.md": toolspec.HighRisk, "notes": toolspec.HighRisk,
	} {
		f := call()
		f.Args = []byte(`{"path":"` + path + `","content":""}`)
		if d := p.Decide(f); d.Risk != want || d.Verb != RequireApproval {
			t.Errorf("%s: %s with risk %s, want %s", path, d.Verb, d.Risk, want)
		}
	}
}
