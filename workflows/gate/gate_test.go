package gate

import (
	"testing"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// TestJudgeRunsWhatThePlanHas: a stage of the gate that the recorded plan does not have is not run, and the stages after it are.
func TestJudgeRunsWhatThePlanHas(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plan []hook.Stage
		want int
	}{"none": {nil, 0}, "the second only": {[]hook.Stage{Consent}, 1}, "both": {[]hook.Stage{Authorize, Consent}, 2}} {
		plan := hook.Plan{}
		for _, s := range tc.plan {
			plan.Pre = append(plan.Pre, hook.Step{Stage: s})
		}
		c := &envelope.Call{}
		c.Adopt(contract.AdmitOut{Plan: &plan})
		var ran []hook.Stage
		verdict, until := judge(nil, c, func(_ workflow.Context, step hook.Step, _ int) hook.Verdict {
			ran = append(ran, step.Stage)
			return hook.Verdict{Outcome: hook.Asked, Ask: &hook.Ask{Hook: string(step.Stage)}}
		}, Authorize, Consent)
		if len(ran) != tc.want || until != nil || (verdict.Ask != nil) != (tc.want > 0) {
			t.Errorf("%s: ran %v, verdict %+v", name, ran, verdict)
		}
		// Without the stage there is nobody to ask either.
		if HasApproverHooks(c) {
			t.Errorf("%s: the plan has no hooks that name approvers", name)
		}
	}
}
