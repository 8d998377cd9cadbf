package tools_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
)

// safety is what a tool that does more than compute must declare, and what the shipped policy says of its calls in the mode auto.
type safety struct {
	effect toolspec.Effect
	risk   toolspec.Risk
	auto   policy.Verb
}

// The categories of the specification.
var (
	reads       = safety{toolspec.ReadOnly, toolspec.LowRisk, policy.Allow}
	remembers   = safety{toolspec.StateChange, toolspec.LowRisk, policy.Allow}
	writes      = safety{toolspec.StateChange, toolspec.MediumRisk, policy.RequireApproval}
	destroys    = safety{toolspec.StateChange, toolspec.HighRisk, policy.RequireApproval}
	runs        = safety{toolspec.ExternalSideEffect, toolspec.HighRisk, policy.RequireApproval}
	administers = safety{toolspec.StateChange, toolspec.HighRisk, policy.Deny}
)

// specified has every tool that takes a capability. It is written by hand on purpose: what a tool may touch is decided by a person
// and reviewed here, not taken from the declaration of its author (docs/adr/0038).
var specified = map[string]safety{
	// File discovery and reads.
	"core__glob":            reads,
	"core__grep":            reads,
	"core__ls":              reads,
	"core__read_file":       reads,
	"core__read_image":      reads,
	"core__read_many_files": reads,
	// Writes.
	"core__delete_file": destroys,
	"core__edit_file":   writes,
	"core__write_file":  writes,
	// Shell and web.
	"core__shell":      runs,
	"core__web_fetch":  reads,
	"core__web_search": reads,
	// Memory, planning and goals.
	"core__complete_goal":     remembers,
	"core__create_checkpoint": remembers,
	"core__create_goal":       remembers,
	"core__memory":            remembers,
	"core__read_reasoning":    reads,
	"core__record_decision":   remembers,
	"core__remember":          remembers,
	"core__switch_goal":       remembers,
	"core__write_memory_dump": remembers,
	"core__write_todos":       remembers,
	// What an agent does is decided call by call, and its caller's document has to name it.
	"core__run_agent": reads,
	// The rest.
	"core__get_current_time":       reads,
	"core__tool_output_cache":      reads,
	"core__tool_output_cache_grep": reads,
	"core__trigger_hot_swap":       administers,
}

// TestSafety (PO-14, PO-20): every tool has the effect and the risk of the specification, and the shipped policy asks about its calls
// as the specification says. A tool without capabilities can only compute, so it needs no row.
func TestSafety(t *testing.T) {
	t.Parallel()
	shipped := policy.DevelopmentYAML()
	if strings.Count(shipped, "\n    mode: auto\n") != 1 {
		t.Fatal("the shipped policy has another mode")
	}
	for _, tool := range append(tools.All(), tools.WriteMemoryDump(), tools.WebSearchConnected()) {
		d := tool.Definition()
		want, ok := specified[d.ID]
		if !ok {
			if want = reads; len(d.Capabilities) > 0 {
				t.Errorf("%s takes %v: add its effect, its risk and what happens in the mode auto to specified, in tools/safety_test.go", d.ID, d.Capabilities)
				continue
			}
		}
		if d.Effect != want.effect || d.Risk != want.risk {
			t.Errorf("%s is %s with %s risk, want %s with %s risk", d.ID, d.Effect, d.Risk, want.effect, want.risk)
		}
		for mode, verb := range map[string]policy.Verb{"yolo": policy.Allow, "auto": want.auto, "ask": policy.RequireApproval} {
			if want.auto == policy.Deny {
				verb = policy.Deny // no mode lifts a denial
			}
			p, err := policy.Parse(mode, []byte(strings.Replace(shipped, "mode: auto", "mode: "+mode, 1)))
			if err != nil {
				t.Fatal(err)
			}
			decision := p.Decide(policy.Facts{
				TenantID: "acme", ActorID: "agent:a", RunID: "run", ToolID: d.ID, Effect: d.Effect, Risk: d.Risk, Tags: d.Tags,
				Args: []byte(d.Examples[0].Args), HasArgs: true,
			})
			if decision.Verb != verb {
				t.Errorf("%s in the mode %s: %s by %s, want %s", d.ID, mode, decision.Verb, decision.Rule, verb)
			}
		}
	}
}
