package policy

import (
	"time"

	"go.yaml.in/yaml/v4"
)

// escalations reads the escalation steps of a request.
func (r *reader) escalations(n *yaml.Node, path string) (steps []escalationDoc) {
	var last time.Duration
	r.list(n, path, MaxEscalations, func(n *yaml.Node, path string) {
		var e escalationDoc
		r.mapping(n, path,
			field{name: "after", required: "is missing; say how long a request waits before, such as 2h", read: func(n *yaml.Node, path string) {
				e.After = r.expiry(n, path)
				after, _ := duration(e.After)
				if e.After != "" && after <= last {
					r.fail(n, path, "must be later than the step before it")
				}
				last = max(last, after)
			}},
			field{name: "approvers", required: "is missing; say to whom the request goes", read: func(n *yaml.Node, path string) {
				r.list(n, path, MaxApprovers, func(n *yaml.Node, path string) { e.Approvers = append(e.Approvers, r.identityPattern(n, path)) })
				r.notEmpty(n, path, "say to whom the request goes")
			}},
		)
		steps = append(steps, e)
	})
	r.notEmpty(n, path, "leave it out where a request stays with its approvers")
	return steps
}

// timely refuses reminders and escalations that are due after the request expires, and
// escalations that add nobody.
func (r *reader) timely(n *yaml.Node, path string, a approvalsDoc) {
	life, _ := duration(a.ExpiresAfter)
	if remind, ok := duration(a.RemindAfter); ok && life > 0 && remind >= life {
		r.fail(n, join(path, "remindAfter"), "must be sooner than expiresAfter, which is %s", brief(life))
	}
	if len(a.Escalate) == 0 {
		return
	}
	// The steps are in order; otherwise that is a fault already.
	if last, ok := duration(a.Escalate[len(a.Escalate)-1].After); ok && life > 0 && last >= life {
		r.fail(n, join(path, "escalate"), "must be sooner than expiresAfter, which is %s", brief(life))
	}
	for _, s := range a.seats() {
		if len(s.Approvers) > 0 {
			return
		}
	}
	r.fail(n, join(path, "escalate"), "widens nothing, for anyone may decide; name approvers")
}

// seats returns the chain, or one seat for a document without a chain.
func (a approvalsDoc) seats() []seatDoc {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []seatDoc{{Approvers: a.Approvers, Quorum: a.Quorum}}
}
