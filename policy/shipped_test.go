package policy

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func TestDevelopment(t *testing.T) {
	p := Development()
	f := call()
	d := p.Decide(f)
	wantVerb(t, d, RequireApproval, "mode auto, risk medium")
	if ok, reason := d.Approval.MayDecide(Voter{Identity: "user:bob"}, f.ActorID); !ok {
		t.Error(reason)
	}
	if ok, _ := d.Approval.MayDecide(Voter{Identity: f.ActorID}, f.ActorID); ok {
		t.Error("the requester may decide")
	}
	if !strings.Contains(DevelopmentYAML(), "DEVELOPMENT ONLY") {
		t.Error("the danger is not written beside the line")
	}
}

// TestShippedLimits: every shipped policy bounds what a tenant runs at once, and its searches more so. A call over the limit waits.
func TestShippedLimits(t *testing.T) {
	for _, path := range []string{"development.yaml", "../internal/devcli/demo.yaml", "../examples/policy.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Parse(path, text)
		if err != nil {
			t.Fatal(err)
		}
		for tool, want := range map[string][]int{"core__ls": {50}, "core__grep": {50, 4}} {
			var got []int
			for _, l := range p.Limits(Facts{TenantID: "acme", ToolID: tool}) {
				got = append(got, l.Concurrent)
				if !l.Wait {
					t.Errorf("%s: %s fails calls of %s", path, l.Source, tool)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %s runs at most %v at once, want %v", path, tool, got, want)
			}
		}
	}
}

// TestShippedHosts: every shipped policy asks about a page of a host that it does not list, in every mode.
func TestShippedHosts(t *testing.T) {
	for _, path := range []string{"development.yaml", "../internal/devcli/demo.yaml", "../examples/policy.yaml"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []string{"ask", "auto", "yolo"} {
			p, err := Parse(path, []byte(strings.Replace(string(text), "mode: auto", "mode: "+mode, 1)))
			if err != nil {
				t.Fatal(err)
			}
			for url, want := range map[string]Verb{"https://go.dev/doc": Allow, "https://evil.test/?x=go.dev": RequireApproval, "https://go.dev@evil.test/": RequireApproval} {
				if mode == "ask" {
					want = RequireApproval
				}
				d := p.Decide(Facts{
					TenantID: "acme", ActorID: "agent:a", ToolID: "core__web_fetch", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Args: []byte(`{"url":"` + url + `"}`), HasArgs: true,
				})
				if d.Verb != want {
					t.Errorf("%s in mode %s: %s is %s by %s, want %s", path, mode, url, d.Verb, d.Rule, want)
				}
			}
		}
	}
}

// What stands commented out in the shipped file is right as well.
func TestDevelopmentComments(t *testing.T) {
	var b strings.Builder
	for line := range strings.Lines(DevelopmentYAML()) {
		code, commented := strings.CutPrefix(strings.TrimSpace(line), "# ")
		for _, start := range []string{"requireApprovalForEffects:", "  - tool:", "  decision:", "  risks:", "  risk:", "  message:", "  when:", "budgets:", "- tool:", "  per:", "  quota:", "approvers:",
			"roles:", "  admin:", "features:", "  writes:", "overrides:", "    mode:"} {
			if commented && strings.HasPrefix(code, start) {
				line = strings.Replace(line, "# ", "", 1)
			}
		}
		b.WriteString(line)
	}
	p, err := Parse("development.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	f := call()
	f.Args = []byte(`{"path":"/x"}`)
	d := p.Decide(f)
	wantVerb(t, d, Allow, "tenants.acme.rules[2]")
	if d.Budgets.MaxRuntimeMs == 0 || len(d.Approval.Approvers) != 1 || len(p.Limits(Facts{TenantID: "acme", ToolID: "core__grep"})) != 3 ||
		len(p.Roles("acme", "user:ann")) != 1 || len(p.Features(call())) != 1 || len(p.tenants["acme"].overrides) != 1 {
		t.Errorf("not everything was uncommented: %+v", d)
	}
}

// The form in which a decision is recorded.
func TestDecisionJSON(t *testing.T) {
	got, err := json.Marshal(Development().Decide(call()))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"verb":"require_approval","risk":"medium","message":"mode auto asks for calls of risk medium","rule":"mode auto, risk medium",` +
		`"budgets":{},"approval":{"enabled":true,"expiresAfterMs":3600000,"allowUnsigned":true}}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
