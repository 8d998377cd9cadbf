package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/internal/cli/app"
)

// The kinds of findings.
const (
	// kindClaim: the call is open in the record and in Temporal, and attempts may have run that the
	// record does not know.
	kindClaim = "claim_lost"
	// kindCall: a tool of the call may have run, and the record does not know the call.
	kindCall = "call_lost"
	// kindUnrecorded: the call waits in Temporal, its tool has not run, and the record does not know the
	// call.
	kindUnrecorded = "call_not_recorded"
	// kindEnded: the call is open in the record, and its workflow has ended or is gone.
	kindEnded = "workflow_ended"
	// kindBehind: the call is settled in the record, and its workflow goes on.
	kindBehind = "workflow_behind"
	// kindUnsure: the call is open, and attempts may have run that neither the record nor Temporal knows:
	// both were restored, or the attempts of the call run inside workflow tasks.
	kindUnsure = "call_unsure"
	// kindRun: the run of an agent goes on in Temporal with more rounds than the record has.
	kindRun = "run_behind"
	// kindRunEnded: the run of an agent is open in the record, and its workflow has ended or is gone.
	kindRunEnded = "run_ended"
	// kindUnread: the history cannot be read, so nothing is changed.
	kindUnread = "not_read"
	// kindFailed: the call or run could not be compared, or not be mended.
	kindFailed = "failed"
	kindOrigin = "database_moved"
)

type finding struct {
	Kind       string `json:"kind"`
	WorkflowID string `json:"workflowId,omitempty"`
	// InvocationID is empty if the finding is about a run.
	InvocationID string `json:"invocationId,omitempty"`
	// Outcome is the code with which a mended call has ended; empty if the call goes on.
	Outcome string `json:"outcome,omitempty"`
	Text    string `json:"text"`
	Mended  bool   `json:"mended"`
}

// report is the output of the command.
type report struct {
	Older string `json:"older"`
	Mend  bool   `json:"mend"`
	// Open counts the calls that are open in the record.
	Open int `json:"open"`
	// Listed counts the Temporal runs of calls that Temporal lists.
	Listed int `json:"listed"`
	// Harmless counts the ended calls that the record does not know and whose tools have not run. They stay as they are.
	Harmless int `json:"harmless"`
	// Strangers counts the workflows that have the id of a call, but were not run by a worker of Pawl. The command
	// takes nothing from them.
	Strangers int       `json:"strangers"`
	Findings  []finding `json:"findings"`

	mu sync.Mutex
}

// add adds a finding. Several goroutines may call add and count at the same time.
func (r *report) add(f finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Findings = append(r.Findings, f)
}

// count adds one to a number of the report.
func (r *report) count(n *int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*n++
}

// countOf returns the number of findings of a kind.
func (r *report) countOf(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.Findings {
		if f.Kind == kind {
			n++
		}
	}
	return n
}

func (r *report) unmended() (n int) {
	for _, f := range r.Findings {
		if !f.Mended {
			n++
		}
	}
	return n
}

// finish prints the report, and returns an error if differences are left that were not mended.
func (r *report) finish(a *app.App) error {
	slices.SortStableFunc(r.Findings, func(x, y finding) int { return strings.Compare(x.Kind, y.Kind) })
	if a.JSON {
		if err := app.PrintJSON(a.Out, r); err != nil {
			return err
		}
	} else {
		for _, f := range r.Findings {
			what := "DIFFERS"
			if f.Mended {
				what = "mended "
			}
			fmt.Fprintf(a.Out, "%s  %-17s %s%s\n", what, f.Kind, prefix(f.WorkflowID), app.OneLine(f.Text, 300))
		}
		fmt.Fprintf(a.Out, "%d calls are open in the record, Temporal has %d runs of calls; %d differences, %d mended; %d ended calls without an effect are not in the record\n",
			r.Open, r.Listed, len(r.Findings), len(r.Findings)-r.unmended(), r.Harmless)
		if r.Strangers > 0 {
			fmt.Fprintf(a.Out, "%d workflows have ids of calls and were not run by workers of Pawl: nothing was taken from them\n", r.Strangers)
		}
	}
	if r.unmended() > 0 {
		return app.Silent(errors.New("the record and Temporal differ"))
	}
	return nil
}

func prefix(workflowID string) string {
	if workflowID == "" {
		return ""
	}
	return app.OneLine(workflowID, 200) + ": "
}
