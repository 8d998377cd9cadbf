package review

import (
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

func TestDiff(t *testing.T) {
	base := acme(`    allowedTools: [core__a, core__b, core__c]
    mode: auto
    rules:
      - {tool: core__a, decision: deny}
      - {tool: core__b, decision: allow}
`)
	for name, c := range map[string]struct {
		to   string
		want []Change
	}{
		"written otherwise": {
			to: "# why\nversion: 1\ntenants: {acme: {mode: auto, approvals: {enabled: true, expiresAfter: 1d}, allowedTools: [core__a, core__b, core__c], " +
				"rules: [{decision: deny, tool: core__a}, {tool: core__b, decision: allow}]}}\n",
		},
		"a value": {
			to: acme("    allowedTools: [core__a, core__b, core__c]\n    mode: ask\n    approvals: {expiresAfter: 2d}\n" +
				"    rules: [{tool: core__a, decision: deny}, {tool: core__b, decision: allow}]\n"),
			want: []Change{
				{Path: "tenants.acme.approvals.expiresAfter", Removed: []string{"24h0m0s"}, Added: []string{"48h0m0s"}},
				{Path: "tenants.acme.mode", Removed: []string{"auto"}, Added: []string{"ask"}},
			},
		},
		"entries of lists": {
			to: acme("    allowedTools: [core__a, core__x, core__c]\n    mode: auto\n    rules: [{tool: core__b, decision: allow}, {tool: core__a, decision: deny}]\n"),
			want: []Change{
				{Path: "tenants.acme.allowedTools", Removed: []string{"core__b"}, Added: []string{"core__x"}},
				// Which of two rules of a class explains is a matter of order.
				{Path: "tenants.acme.rules", Removed: []string{`{"decision":"deny","tool":"core__a"}`}, Added: []string{`{"decision":"deny","tool":"core__a"}`}},
			},
		},
		"another tenant": {
			to: base + "  beta: {allowedTools: []}\n",
			want: []Change{
				{Path: "tenants.beta.approvals.allowSelfApproval", Added: []string{"false"}},
				{Path: "tenants.beta.approvals.allowUnsigned", Added: []string{"false"}},
				{Path: "tenants.beta.approvals.enabled", Added: []string{"true"}},
				{Path: "tenants.beta.approvals.expiresAfter", Added: []string{"24h0m0s"}},
				{Path: "tenants.beta.mode", Added: []string{"ask"}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Diff(mustParse(t, base), mustParse(t, c.to)); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
	if got := Diff(nil, mustParse(t, acme("    allowedTools: [core__*]\n    mode: auto\n"))); len(got) == 0 || got[0].Removed != nil {
		t.Errorf("from none: %+v", got)
	}
	if got := Diff(nil, nil); got != nil {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestDiffProperties: taking away what was removed from the one list and what was
// added from the other leaves the same.
func TestDiffProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lists := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 8)
		a, b := lists.Draw(t, "a"), lists.Draw(t, "b")
		removed, added := apart(a, b)
		without := func(list, gone []string) (left []string) {
			for _, e := range list {
				if len(gone) > 0 && gone[0] == e {
					gone = gone[1:]
					continue
				}
				left = append(left, e)
			}
			return left
		}
		if len(a)-len(removed) != len(b)-len(added) {
			t.Fatalf("%v to %v: removed %v, added %v", a, b, removed, added)
		}
		if reflect.DeepEqual(a, b) != (len(removed)+len(added) == 0) {
			t.Fatalf("%v to %v: removed %v, added %v", a, b, removed, added)
		}
		if len(without(a, removed)) != len(a)-len(removed) || len(without(b, added)) != len(b)-len(added) {
			t.Fatalf("%v to %v: removed %v, added %v", a, b, removed, added)
		}
	})
}

func TestShifts(t *testing.T) {
	tools := []toolspec.Spec{
		{Name: "core__a", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk},
		{Name: "core__b", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk},
		{Name: "core__open", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, NoSchema: true},
	}
	from := mustParse(t, acme("    allowedTools: [core__*]\n    mode: auto\n"))
	to := mustParse(t, "version: 1\ntenants: {acme: {allowedTools: [core__a, core__open], mode: ask, noSchemaMode: ask}, beta: {allowedTools: [core__b], mode: yolo}}\n")
	var got []string
	for _, s := range Shifts(from, to, tools) {
		got = append(got, s.TenantID+" "+s.ToolID+" "+string(s.Before.Verb)+" "+string(s.After.Verb)+" "+s.After.Rule)
	}
	want := []string{
		"acme core__a allow require_approval mode ask, risk low",
		"acme core__b require_approval deny allowedTools",
		"acme core__open deny require_approval call without schema",
		"beta core__b deny allow mode yolo, risk medium",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Shifts(from, from, tools); got != nil {
		t.Errorf("the same policy: %+v", got)
	}
	if got := Shifts(nil, from, tools); len(got) != 2 {
		t.Errorf("from none: %+v", got)
	}
}
