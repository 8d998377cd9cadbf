package document

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/policy/strictyaml"
	"go.yaml.in/yaml/v4"
)

// escalations reads the escalation steps of a request.
func (r *reader) escalations(n *yaml.Node, path string) (steps []Escalation) {
	var last time.Duration
	r.List(n, path, MaxEscalations, func(n *yaml.Node, path string) {
		var e Escalation
		r.Mapping(n, path,
			field{Name: "after", Required: "is missing; say how long a request waits before, such as 2h", Read: func(n *yaml.Node, path string) {
				e.After = r.duration(n, path)
				after := e.After.Value()
				if e.After != "" && after <= last {
					r.Fail(n, path, "must be later than the step before it")
				}
				last = max(last, after)
			}},
			field{Name: "approvers", Required: "is missing; say to whom the request goes", Read: func(n *yaml.Node, path string) {
				r.List(n, path, MaxApprovers, func(n *yaml.Node, path string) { e.Approvers = append(e.Approvers, r.identityPattern(n, path)) })
				r.NotEmpty(n, path, "say to whom the request goes")
			}},
		)
		r.addApprovers(n, path, e.Approvers, 0)
		steps = append(steps, e)
	})
	r.NotEmpty(n, path, "leave it out where a request stays with its approvers")
	return steps
}

// checkSteps refuses a reminder or an escalation that is due after the request expires. It also
// refuses escalations of a request on which anyone may decide, because they would add nobody.
func (r *reader) checkSteps(n *yaml.Node, path string, a Approvals) {
	life := a.ExpiresAfter.Value()
	if life > 0 && a.RemindAfter.Value() >= life {
		r.Fail(n, strictyaml.Join(path, "remindAfter"), "must be sooner than expiresAfter, which is %s", Brief(life))
	}
	if len(a.Escalate) == 0 {
		return
	}
	// The steps are in order; otherwise that is a fault already.
	if last := a.Escalate[len(a.Escalate)-1].After.Value(); life > 0 && last >= life {
		r.Fail(n, strictyaml.Join(path, "escalate"), "must be sooner than expiresAfter, which is %s", Brief(life))
	}
	namesApprovers := slices.ContainsFunc(a.entries(), func(e ChainEntry) bool { return len(e.Approvers) > 0 })
	if !namesApprovers {
		r.Fail(n, strictyaml.Join(path, "escalate"), "widens nothing, for anyone may decide; name approvers")
	}
}
