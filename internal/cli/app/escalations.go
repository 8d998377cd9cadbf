package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/workflows/contract"
)

// PrintEscalations prints the escalation steps of a request: the approvers of each step and the
// time of the step. It prints the steps to come only for an open request. Labels are padded to
// width characters.
func (a *App) PrintEscalations(r reads.Approval, width int) {
	for i, e := range r.Escalations {
		label, since := "went to", "since"
		if i >= r.Escalated {
			if r.State != contract.RequestOpen {
				return
			}
			label, since = "goes to", "at"
		}
		fmt.Fprintf(a.Out, "  %-*s  %s, %s %s\n", width, label, OneLine(e.Approvers, 200), since, FormatTime(time.UnixMilli(e.AtMs)))
	}
}

// PrintMissing prints the approvals that an open request still needs. It prints nothing if the request needs one
// approval and no decision has counted yet: the list of its approvers, which the caller prints, says the same.
func (a *App) PrintMissing(r reads.Approval, width int) {
	begun := slices.ContainsFunc(r.Decisions, func(d reads.DecisionRecord) bool { return d.Counted })
	if len(r.Missing) > 1 || len(r.Missing) > 0 && begun {
		fmt.Fprintf(a.Out, "  %-*s  %s\n", width, "missing", OneLine(strings.Join(r.Missing, "; "), 200))
	}
}
