package policy

import (
	"strings"

	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// genFacts draws calls of the tenant acme.
func genFacts() *rapid.Generator[Facts] {
	return rapid.Custom(func(t *rapid.T) Facts {
		f := Facts{
			TenantID: "acme", ActorID: rapid.SampledFrom([]string{"user:ann", "agent:a", ""}).Draw(t, "actor"), RunID: "r", ToolID: policytest.Tools().Draw(t, "call"),
			Effect: policytest.Effects().Draw(t, "effect"), Risk: policytest.Risks().Draw(t, "declared"), HasArgs: true, Args: []byte(policytest.Args().Draw(t, "args")),
			Repaired: rapid.IntRange(0, 4).Draw(t, "repaired") == 0, NoSchema: rapid.IntRange(0, 4).Draw(t, "no schema") == 0,
		}
		if strings.HasPrefix(f.ToolID, "mcp__") || rapid.IntRange(0, 9).Draw(t, "discovered") == 0 {
			f.Discovered = &toolspec.Discovered{Digest: policytest.Digests().Draw(t, "digest")}
		}
		if rapid.IntRange(0, 3).Draw(t, "narrowed") == 0 {
			f.ToolIDs = rapid.SliceOf(policytest.Tools()).Draw(t, "tool ids")
		}
		return f
	})
}
