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
	// CrashAt is `<point>[:n]`: the point, and the hit at which the signal is sent, 1 by default.
	// Empty means no signal.
	CrashAt = "PAWL_CRASH_AT"
	// CrashBy is KILL, STOP or TERM; KILL by default.
	CrashBy = "PAWL_CRASH_BY"
)

// By is the signal that the process sends to itself.
type By string

// The signals.
const (
	// Kill ends the process: the step after the point never happens.
	Kill By = "KILL"
	// Stop stops the process until it gets SIGCONT.
	Stop By = "STOP"
	// Term asks the process to end; the step continues.
	Term By = "TERM"
)

// Plan is the fault of one process. The zero Plan has no fault.
type Plan struct {
	At point.Name
	// Nth is the hit at which the signal is sent, counted from 1.
	Nth int
	By  By
}

// Parse reads CrashAt and CrashBy with a function such as os.Getenv.
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

// Environ returns the variables that Parse reads.
func (p Plan) Environ() []string {
	if p.At == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s=%s:%d", CrashAt, p.At, max(p.Nth, 1)), fmt.Sprintf("%s=%s", CrashBy, p.By)}
}
