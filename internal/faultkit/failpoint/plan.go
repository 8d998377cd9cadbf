package failpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// The variables that a process of a fault test reads.
const (
	// CrashAt is `<point>[:n]`: where, and at the how-manyth time, by default the
	// first. Empty means nowhere.
	CrashAt = "PAWL_CRASH_AT"
	// CrashBy is KILL, which is the default, STOP or TERM.
	CrashBy = "PAWL_CRASH_BY"
)

// By is the signal that the process sends to itself.
type By string

// The signals.
const (
	// Kill ends the process: the step after the point never happens.
	Kill By = "KILL"
	// Stop holds the process until somebody continues it.
	Stop By = "STOP"
	// Term asks the process to end; the step goes on.
	Term By = "TERM"
)

// Plan is what goes wrong in one process. The zero Plan is nothing.
type Plan struct {
	At point.Name
	// Nth counts how often the point is reached, from 1.
	Nth int
	By  By
}

// Parse reads CrashAt and CrashBy by a look-up such as os.Getenv.
func Parse(getenv func(string) string) (Plan, error) {
	text := getenv(CrashAt)
	if text == "" {
		return Plan{}, nil
	}
	name, times, counted := strings.Cut(text, ":")
	plan := Plan{At: point.Name(name), Nth: 1, By: By(getenv(CrashBy))}
	if !slices.Contains(point.All(), plan.At) {
		return Plan{}, fmt.Errorf("%s: there is no point %q; there are %v", CrashAt, name, point.All())
	}
	if counted {
		n, err := strconv.Atoi(times)
		if err != nil || n < 1 {
			return Plan{}, fmt.Errorf("%s: %q must be a number from 1", CrashAt, times)
		}
		plan.Nth = n
	}
	switch plan.By {
	case "":
		plan.By = Kill
	case Kill, Stop, Term:
	default:
		return Plan{}, fmt.Errorf("%s: %q is none of KILL, STOP and TERM", CrashBy, string(plan.By))
	}
	return plan, nil
}

// Environ is the plan as Parse reads it.
func (p Plan) Environ() []string {
	if p.At == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s:%d", CrashAt, p.At, max(p.Nth, 1)), fmt.Sprintf("%s=%s", CrashBy, p.By)}
}
