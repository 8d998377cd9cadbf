package oracle

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func once(v *view, out *Verdict) {
	perKey := map[string][]ledger.Effect{}
	for _, e := range v.Effects {
		perKey[e.Key] = append(perKey[e.Key], e)
	}
	for i := range v.Calls {
		c := &v.Calls[i]
		if c.Repeatable || !c.Accepted {
			continue
		}
		out.Checked++
		// No other call has the key of this call, so the keys of its own effects are enough.
		seen := map[string]bool{}
		for _, e := range v.effects[c.InvocationID] {
			if n := len(perKey[e.Key]); n > 1+retries(c) && !seen[e.Key] {
				out.blame(c.ToolCallID, fmt.Sprintf("%d effects, in attempts %s", n, attemptsOf(perKey[e.Key])))
			}
			seen[e.Key] = true
		}
		if len(seen) > 1 {
			out.blame(c.ToolCallID, fmt.Sprintf("its effects have %d different keys", len(seen)))
		}
	}
}

// retries returns how often a person retried the call although it may have had its effect.
func retries(c *Call) (n int) {
	if c.Record == nil {
		return 0
	}
	for i := range c.Record.Approvals {
		if c.Record.Approvals[i].State == contract.RequestRetried {
			n++
		}
	}
	return n
}

func accounted(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		// The oracle decided checks denied calls.
		if r := c.Record.Result; c.Repeatable || r.OK || r.ErrorCode == toolspec.CodeOutcomeUnknown || r.ErrorCode == toolspec.CodeApprovalDenied {
			return
		}
		out.Checked++
		if n := len(v.effects[c.InvocationID]); n > 0 {
			out.blame(c.ToolCallID, fmt.Sprintf("ended with %s, and had %d effects", c.Record.Result.ErrorCode, n))
		}
	})
}

func attemptsOf(effects []ledger.Effect) string {
	text := ""
	for i, e := range effects {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d by process %d", e.Attempt, e.PID)
	}
	return text
}

func done(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		if !c.Record.Result.OK {
			return
		}
		out.Checked++
		if len(v.effects[c.InvocationID]) == 0 {
			out.blame(c.ToolCallID, "ended ok without an effect")
		}
	})
}

func claims(record *reads.Detail) (list []reads.ClaimRecord) {
	for _, claim := range record.Claims {
		if claim.Kind == "claim" {
			list = append(list, claim)
		}
	}
	return list
}

func claimed(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		n := len(v.effects[c.InvocationID])
		if c.Record == nil || n == 0 || c.Record.Plan.Lane == hook.LocalLane {
			continue
		}
		out.Checked++
		if have := len(claims(c.Record)); n > have {
			out.blame(c.ToolCallID, fmt.Sprintf("%d effects, and %d claims", n, have))
		}
	}
}

func exact(v *view, out *Verdict) {
	for _, e := range v.Effects {
		out.Checked++
		c := v.known[e.InvocationID]
		switch {
		case c == nil:
			out.blame(e.ToolCallID, "an effect of a call that nobody submitted")
		case e.ToolID != c.ToolID || e.ToolCallID != c.ToolCallID:
			out.blame(c.ToolCallID, fmt.Sprintf("an effect of %s %s", e.ToolID, e.ToolCallID))
		case e.Digest != c.ArgsDigest:
			out.blame(c.ToolCallID, "an effect with other arguments than were submitted")
		}
	}
}

// faultSlack is the maximum difference between the clocks of the record and of a fault. It is also
// how late after a kill an activity may still write its claim.
const faultSlack = time.Second

func unknown(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		if c.Record.Result.ErrorCode != toolspec.CodeOutcomeUnknown {
			return
		}
		out.Checked++
		made := claims(c.Record)
		switch {
		case c.Repeatable:
			out.blame(c.ToolCallID, "its tool may be repeated")
		case len(made) == 0:
			out.blame(c.ToolCallID, "nothing was claimed")
		case !v.hit(c, made):
			out.blame(c.ToolCallID, fmt.Sprintf("no fault fell between its claim at %s and its end", made[len(made)-1].At.Format(time.TimeOnly)))
		}
	})
}

// hit reports whether a fault fell between the first claim and the end of the call. If the worker
// that had the effect is known, the fault must have hit that worker.
func (v *view) hit(c *Call, made []reads.ClaimRecord) bool {
	from, to := made[0].At.Add(-faultSlack), c.Workflow.Ended
	if c.Record.SettledAt != nil {
		to = *c.Record.SettledAt
	}
	worker := 0
	if effects := v.effects[c.InvocationID]; len(effects) > 0 {
		worker = effects[len(effects)-1].PID
	}
	for _, f := range v.faultsOf(c) {
		if f.To.Before(from) || f.From.After(to) {
			continue
		}
		if f.PID == 0 || worker == 0 || f.PID == worker {
			return true
		}
	}
	return false
}
