package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

// row is a line of testdata/decisions.txt.
type row struct {
	text  string
	facts policy.Facts
	want  string // verdict and rule
}

func readRows(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("testdata/decisions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		call, want, ok := strings.Cut(line, " => ")
		words := strings.Fields(call)
		if !ok || len(words) < 4 {
			t.Fatalf("not a decision: %s", line)
		}
		rows = append(rows, row{text: line, facts: rowFacts(t, words), want: want})
	}
	return rows
}

func rowFacts(t *testing.T, words []string) policy.Facts {
	t.Helper()
	f := policy.Facts{TenantID: words[0], ToolID: "core__" + words[1], RunID: "r1"}
	switch name := words[1]; name {
	case "out":
		f.ToolID, f.Effect, f.Risk = "out__tool", toolspec.ReadOnly, toolspec.LowRisk
	case "odd":
		f.Effect = toolspec.ReadOnly
	default:
		f.Effect = map[byte]toolspec.Effect{'r': toolspec.ReadOnly, 's': toolspec.StateChange, 'e': toolspec.ExternalSideEffect}[name[0]]
		f.Risk = map[byte]toolspec.Risk{'l': toolspec.LowRisk, 'm': toolspec.MediumRisk, 'h': toolspec.HighRisk}[name[1]]
	}
	f.ActorID = map[string]string{"ann": "user:ann", "bob": "user:bob", "bot": "agent:bot"}[words[2]]
	if words[3] != "-" {
		f.Args, f.HasArgs = json.RawMessage(words[3]), true
	}
	for _, flag := range words[4:] {
		switch name, value, _ := strings.Cut(flag, "="); name {
		case "repaired":
			f.Repaired = true
		case "noschema":
			f.NoSchema = true
		case "connection":
			f.ConnectionID = value
		case "run":
			f.RunID = value
		case "ids":
			f.ToolIDs = []string{value}
		default:
			t.Fatalf("flag %q", flag)
		}
	}
	return f
}

// TestDecisions: tool x effect x risk x mode x rule x role x condition, with the
// verdicts of testdata/decisions.txt. Why each is so stands in
// testdata/decisions.explained, which -update rewrites.
func TestDecisions(t *testing.T) {
	doc, err := os.ReadFile("testdata/decisions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse("policy.yaml", doc)
	if err != nil {
		t.Fatal(err)
	}
	rows := readRows(t)
	if len(rows) < 150 {
		t.Errorf("only %d decisions", len(rows))
	}
	seen := map[string]bool{}
	var explained strings.Builder
	for _, r := range rows {
		if seen[r.text] {
			t.Errorf("twice: %s", r.text)
		}
		seen[r.text] = true
		d := p.Decide(r.facts)
		verdict := map[policy.Verb]string{policy.Allow: "allow", policy.RequireApproval: "ask", policy.Deny: "deny"}[d.Verb]
		if d.Undetermined {
			verdict = "open"
		}
		rule := strings.TrimPrefix(d.Rule, "tenants."+r.facts.TenantID+".")
		if got := verdict + " " + rule; got != r.want {
			t.Errorf("%s: got %s", r.text, got)
		}
		fmt.Fprintf(&explained, "## %s\n%s\n", r.text, review.Explain(p, r.facts).Text())
	}
	const golden = "testdata/decisions.explained"
	if policytest.Updating() {
		if err := os.WriteFile(golden, []byte(explained.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if explained.String() != string(want) {
		t.Error("the explanations are not those of " + golden + ": go test ./policy -update, and read the diff")
	}
}
