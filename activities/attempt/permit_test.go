package attempt

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// BenchmarkPermit signs and verifies a permit over 2 KiB of arguments, as each attempt with a claim does.
func BenchmarkPermit(b *testing.B) {
	ring := workerkeytest.New()
	ctx := contract.WithExecution(b.Context(), contract.Execution{RunID: "run"})
	a := New(Parts{Keys: ring})
	facts := hook.Facts{
		InvocationID: "88b82c3b-4e6e-8416-bc6e-50b0e53720ce", ToolID: "core__tool", ToolCallID: "call-1", ToolDigest: strings.Repeat("d", 64),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`{"text":"` + strings.Repeat("x", 2000) + `"}`),
	}
	terms := hook.Terms{MaxRuntimeMs: 30_000, MaxResultBytes: 1 << 20}
	for b.Loop() {
		var v hook.Verdict
		if err := a.Permit(ctx, hook.StageInput{Facts: facts, Terms: &terms}, &v); err != nil {
			b.Fatal(err)
		}
		if _, ok, err := a.verifyPermit(ctx, v.Permit, facts, terms, true); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
