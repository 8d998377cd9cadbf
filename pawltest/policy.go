package pawltest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
)

// Policy reads a policy file. A fault in it ends the test.
func Policy(t testing.TB, file string) *policy.Policy {
	t.Helper()
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.Parse(file, doc)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Decide returns the decision of a policy about the call, with the explanation. The tool's own
// schema checks the arguments: arguments that it refuses end the test, because no call with them
// ever reaches a policy. If Args is nil, Decide returns the decision before the arguments are
// known.
func (c Call) Decide(t testing.TB, p *policy.Policy) review.Explanation {
	t.Helper()
	b := newCallWorker(t, c, nil)
	if err := review.Check(p, b.tools.Specs()); err != nil {
		t.Fatal(err)
	}
	ctx := b.call.Context
	facts := policy.Facts{
		TenantID: ctx.TenantID, ActorID: ctx.ActorID, SubjectID: ctx.SubjectID, RunID: ctx.RunID, ConnectionID: ctx.ConnectionID, ToolIDs: ctx.ToolIDs,
	}
	if c.Args != nil {
		hydrated, refused := b.hydrate()
		if refused != nil {
			t.Fatalf("pawltest: policy never sees these arguments of %s: %s: %s", b.inv.ToolID, refused.Code, refused.SafeMessage)
		}
		facts.Args, facts.HasArgs, facts.NoSchema = hydrated.Args, true, hydrated.NoSchema
	}
	return review.Explain(p, facts.Of(b.bound.Spec()))
}

// Cases runs a file of policy cases, as `pawl policy test` does, each as a subtest. It judges them
// by the declarations and the schemas of these tools and of the built-in ones, and needs no
// database. The file names the policy. A case without a tenant has [Tenant]. The conditions of the
// policy must fit the tools.
func Cases(t *testing.T, file string, own ...toolspec.Tool) {
	t.Helper()
	for _, one := range trials(t, file, own) {
		t.Run(one.name, func(t *testing.T) {
			for _, problem := range one.problems {
				t.Error(problem)
			}
		})
	}
}

// trial is a case with its fault.
type trial struct {
	name     string
	problems []string
}

// trials judges the cases of a file.
func trials(t testing.TB, file string, own []toolspec.Tool) []trial {
	t.Helper()
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := review.ParseCases(file, doc)
	if err != nil {
		t.Fatal(err)
	}
	if cases.Policy == "" || cases.Policy == "active" {
		t.Fatalf("pawltest: %s names no policy: write policy: and a file beside it", file)
	}
	named := cases.Policy
	if !filepath.IsAbs(named) {
		named = filepath.Join(filepath.Dir(file), named)
	}
	p, specs := Policy(t, named), specsOf(t, own)
	if err := review.Check(p, specs); err != nil {
		t.Fatal(err)
	}
	list := make([]trial, len(cases.List))
	for i, one := range cases.List {
		list[i].name = one.Name
		if one.Facts.TenantID == "" {
			one.Facts.TenantID = Tenant
		}
		explained, differences, err := cases.Judge(one, p, specs)
		if err != nil {
			list[i].problems = []string{fmt.Sprintf("%s:%d: %v", file, one.Line, err)}
		}
		for _, d := range differences {
			list[i].problems = append(list[i].problems, fmt.Sprintf("%s:%d: the %s is %s, want %s", file, one.Line, d.What, d.Got, d.Want))
		}
		if len(differences) > 0 {
			list[i].problems = append(list[i].problems, explained.Text())
		}
	}
	return list
}

// specsOf returns what a worker with these tools and the built-in ones publishes.
func specsOf(t testing.TB, own []toolspec.Tool) []toolspec.Spec {
	t.Helper()
	var provided []toolspec.Provided
	for _, tool := range own {
		for _, name := range tool.Definition().Capabilities {
			provided = append(provided, toolspec.NewCapability[any](name).Provide(nil))
		}
	}
	for _, name := range []toolspec.CapabilityName{capability.ClockKey.Name(), capability.FilesKey.Name(), capability.OutputsKey.Name(), capability.CommandsKey.Name(), capability.ProgressKey.Name()} {
		provided = append(provided, toolspec.NewCapability[any](name).Provide(nil))
	}
	none, err := toolspec.NewCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	// Nothing runs here, so it does not matter what a capability does.
	return registryOf(t, none.With(provided...), append(tools.All(), own...)...).Specs()
}
