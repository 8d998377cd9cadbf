package chaos

import (
	"errors"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// Options say what a run does. All but Worker have defaults.
type Options struct {
	// Seed is what the plan is drawn from: the same seed and options give the
	// same calls and faults.
	Seed uint64
	// For is how long calls are submitted and things break: 1 s to 24 h, by
	// default 60 s. What is under way then has Settle to end, 3 min by default.
	For, Settle time.Duration
	// Calls is how many calls are submitted, 1 to 100 000; by default 10 in 3 s.
	Calls int
	// Workers is how many workers run at once, 1 to 16; 2 by default.
	Workers int
	// Every is the mean time between two kills, 100 ms at least; 2 s by default.
	// The other faults come less often, in proportion.
	Every time.Duration
	// Faults are the kinds that the run plans.
	Faults []oracle.FaultKind
	// Worker makes the command of one worker process, which calls Serve. The run
	// adds to its environment and takes its standard input.
	Worker func() *exec.Cmd
	// Progress gets a line at a time; nil means silence.
	Progress func(string)
	// Log gets what the workers write; nil keeps only the end of it, for the
	// error of a worker that does not start.
	Log io.Writer
	// Evidence is a directory for the records and histories of calls that violate
	// an oracle, and of the slowest ones; empty means none.
	Evidence string

	// only is the one tool that is called; empty means the mix.
	only string
}

const (
	defaultFor     = time.Minute
	defaultSettle  = 3 * time.Minute
	defaultEvery   = 2 * time.Second
	defaultWorkers = 2
)

// DefaultCalls is how many calls a run of some time submits by default.
func DefaultCalls(all time.Duration) int { return max(1, int(all*10/(3*time.Second))) }

func (o Options) complete() (Options, error) {
	if o.For == 0 {
		o.For = defaultFor
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Workers == 0 {
		o.Workers = defaultWorkers
	}
	if o.Calls == 0 {
		o.Calls = DefaultCalls(o.For)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	switch {
	case o.Worker == nil:
		return o, errors.New("chaos: no worker command was given")
	case o.For < time.Second || o.For > 24*time.Hour:
		return o, errors.New("the time must be between 1s and 24h")
	case o.Calls < 1 || o.Calls > 100_000:
		return o, errors.New("the number of calls must be between 1 and 100000")
	case o.Workers < 1 || o.Workers > 16:
		return o, errors.New("the number of workers must be between 1 and 16")
	case o.Every < 100*time.Millisecond:
		return o, errors.New("the time between kills must be 100ms at least")
	}
	return o, nil
}

func (o Options) has(kind oracle.FaultKind) bool { return slices.Contains(o.Faults, kind) }
