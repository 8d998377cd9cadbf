package approval

import (
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/toolspec"
)

// maxCarried bounds the decisions that a call passes on when it moves to another task queue, in bytes of JSON.
// Anybody who can send signals can fill the inbox, and Temporal limits the size of all arguments of a workflow.
const maxCarried = 256 << 10

// Carried returns the decisions that the next Temporal run of a call must know: the edits that counted, because the
// record does not hold the edited arguments, and the decisions that wait in the inbox. The oldest come
// first. Decisions beyond maxCarried are left out; their senders can send them again.
func (a *Approvals) Carried() []toolspec.Decision {
	all := slices.Clone(a.inbox.countedEdits)
	for _, entry := range a.inbox.deliveries {
		all = append(all, entry.decision)
	}
	size := 0
	for i, d := range all {
		data, err := json.Marshal(d) //workflowcheck:ignore
		if size += len(data); err != nil || size > maxCarried {
			return all[:i]
		}
	}
	return all
}
