package operations

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
)

// checkPools shows the pools with their workers and open calls. A pool with open calls needs a worker. It adds no line if there are no pools.
func (d *diagnosis) checkPools(open func(queue string) (int64, error)) {
	var lines, faults []string
	for _, pool := range d.pools {
		calls, err := open(toolspec.PoolQueue(pool.Name))
		line := fmt.Sprintf("%s has %s", pool.Name, counted(int64(pool.Running), "worker"))
		if err == nil { // Temporal may have no visibility store
			line += " and " + counted(calls, "open call")
		}
		if lines = append(lines, line); pool.Running == 0 && calls > 0 {
			faults = append(faults, fmt.Sprintf("%s: start a worker with PAWL_POOL=%s; until then workers of the shared task queue move its calls to "+
				"other workers that have their tools, and end them at their deadlines", line, pool.Name))
		}
	}
	switch {
	case len(faults) > 0:
		d.add("pools", errors.New(strings.Join(faults, "; ")), "")
	case len(lines) > 0:
		d.add("pools", nil, strings.Join(lines, "; "))
	}
}

func counted(n int64, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
