package operations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/catalog"
)

// sources checks that the sources of the tools of running workers work, and that the workers have the same definitions. Tools that were left
// out do not fail the check: they affect no other tool. It adds no line if no worker has sources besides its program.
func (d *diagnosis) sources(workers []catalog.WorkerSources, conflicts []string, err error) {
	if err != nil {
		d.add("sources", err, "")
		return
	}
	count, degraded := 0, map[string]bool{}
	var faults, left []string
	for _, w := range workers {
		for _, s := range w.Sources {
			name := strings.TrimSpace(s.Kind + " " + s.Name)
			if s.Kind != "builtin" && s.Kind != "worker" {
				count++
			}
			if s.Fault != "" {
				degraded[w.WorkerID] = true
				faults = append(faults, fmt.Sprintf("%s since %s: %s", name, s.Since, s.Fault))
			}
			if s.LeftOutCount > 0 {
				left = append(left, leftOut(name, s))
			}
		}
	}
	var wrong, notes []string
	if len(faults) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d workers are degraded: %s", len(degraded), len(workers), first(faults)))
	}
	if len(conflicts) > 0 {
		wrong = append(wrong, "running workers have different definitions of "+first(conflicts)+
			": lists show that of the worker that started last; if no deployment is in progress, give all workers the same program and the same sources")
	}
	if len(left) > 0 {
		notes = append(notes, "workers have left out "+first(left))
	}
	if len(wrong) > 0 {
		d.add("sources", errors.New(strings.Join(append(wrong, notes...), "; ")), "")
	} else if count > 0 {
		d.add("sources", nil, strings.Join(append([]string{fmt.Sprintf("%d work", count)}, notes...), "; "))
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
