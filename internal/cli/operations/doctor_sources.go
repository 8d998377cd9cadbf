package operations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
)

// sources checks that no source of a running worker has a fault, and that running workers have the same definition of
// each tool. A tool that a worker has left out does not fail the check, because it affects no other tool. If no worker
// has sources besides its program and the check finds no fault, sources adds no line.
func (d *diagnosis) sources(workers []catalog.WorkerSources, conflicts []string, err error) {
	if err != nil {
		d.add("sources", err, "")
		return
	}
	sourceCount, degraded := 0, map[string]bool{}
	var faults, leftTools []string
	for _, w := range workers {
		for _, s := range w.Sources {
			name := strings.TrimSpace(s.Kind + " " + s.Name)
			if s.Kind != "builtin" && s.Kind != "worker" {
				sourceCount++
			}
			if s.Fault != "" {
				degraded[w.WorkerID] = true
				faults = append(faults, fmt.Sprintf("%s since %s: %s", name, s.Since, s.Fault))
			}
			if s.LeftOutCount > 0 {
				leftTools = append(leftTools, leftOut(name, s))
			}
		}
	}
	var failures, notes []string
	if len(faults) > 0 {
		failures = append(failures, fmt.Sprintf("%d of %d workers are degraded: %s", len(degraded), len(workers), first(faults)))
	}
	if len(conflicts) > 0 {
		failures = append(failures, "running workers have different definitions of "+first(conflicts)+
			": lists show that of the worker that started last; if no deployment is in progress, give all workers the same program and the same sources")
	}
	if len(leftTools) > 0 {
		notes = append(notes, "workers have left out "+first(leftTools))
	}
	if len(failures) > 0 {
		d.add("sources", errors.New(strings.Join(append(failures, notes...), "; ")), "")
	} else if sourceCount > 0 {
		d.add("sources", nil, strings.Join(append([]string{fmt.Sprintf("%d work", sourceCount)}, notes...), "; "))
	}
}

// leftOut describes the tools that a worker has not taken from a source.
func leftOut(source string, s catalog.SourceState) string {
	why := make([]string, len(s.LeftOut))
	for i, l := range s.LeftOut {
		why[i] = app.OneLine(l.Why, 200)
	}
	return fmt.Sprintf("%d tools of %s (%s)", s.LeftOutCount, source, strings.Join(why, "; "))
}

// first joins the first entries, without repetitions.
func first(entries []string) string {
	var shown []string
	seen := map[string]bool{}
	for _, e := range entries {
		if !seen[e] {
			seen[e] = true
			shown = append(shown, e)
		}
	}
	return names(shown)
}
