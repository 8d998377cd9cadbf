package app

import (
	"fmt"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/workflows/contract"
)

// PrintEscalations says to whom a request went while nobody decided, and to whom it still
// goes, under labels of a width.
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
