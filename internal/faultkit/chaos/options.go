package chaos

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// Options configure a run. Each field except Worker has a default.
type Options struct {
	// Seed determines the plan: equal seeds and options give equal calls and faults.
	Seed uint64
	// For is how long the run submits calls and injects faults: 1 s to 24 h, 60 s by default.
	// Settle is how long calls then have to end, 3 min by default.
	For, Settle time.Duration
	// Calls is the number of calls, 1 to 100 000; by default 10 in 3 s.
	Calls int
	// Workers is the number of workers that run at the same time, 1 to 16; 2 by default.
	Workers int
	// Every is the mean time between two kills, at least 100 ms; 2 s by default. Other faults are
	// proportionally less frequent.
	Every time.Duration
	// Faults are the kinds of faults in the plan.
	Faults []oracle.FaultKind
	// Worker returns the command of one worker process, which calls Serve. The run adds variables
	// to its environment and uses its standard input.
	Worker func() *exec.Cmd
	// Progress gets one line at a time; nil means no progress.
	Progress func(string)
	// Log gets the output of the workers. If nil, only the end of it is kept, for the error of a
	// worker that does not start.
	Log io.Writer
	// Evidence is a directory for the records and histories of calls that violate an oracle, and of
	// the slowest calls. Empty means no files.
	Evidence string

	// FullServer makes the run start a full Temporal server with Postgres persistence instead of a dev
	// server.
	FullServer bool
	// TemporalAddress and DatabaseURL name servers that run already. If one is empty, the run starts
	// that server. A run injects no faults into servers that it did not start.
	TemporalAddress, DatabaseURL string
}

const (
	defaultFor     = time.Minute
	defaultSettle  = 3 * time.Minute
	defaultEvery   = 2 * time.Second
	defaultWorkers = 2
)

// DefaultCalls returns the default number of calls of a run of this length.
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
	case o.Calls < 1 || o.Calls > MaxCalls:
		return o, errors.New("the number of calls must be between 1 and 100000")
	case o.Workers < 1 || o.Workers > 16:
		return o, errors.New("the number of workers must be between 1 and 16")
	case o.Every < 100*time.Millisecond:
		return o, errors.New("the time between kills must be 100ms at least")
	}
	return o, o.checkServers()
}

// checkServers returns an error for a fault of a server that the run does not start.
func (o Options) checkServers() error {
	for _, kind := range o.Faults {
		switch {
		case slices.Contains([]oracle.FaultKind{oracle.Temporal, oracle.TemporalFreeze}, kind) && o.TemporalAddress != "",
			slices.Contains([]oracle.FaultKind{oracle.Postgres, oracle.PostgresFreeze, oracle.Lock}, kind) && o.DatabaseURL != "":
			return fmt.Errorf("the fault %s is for a server that the run starts: leave it out, or let the run start the server", kind)
		}
	}
	if o.FullServer && o.TemporalAddress != "" {
		return errors.New("the Temporal server is either one that runs already or one that the run starts")
	}
	return nil
}

// runID returns the id of the run of all calls. On servers that ran before, it is new each time: they know the calls of earlier runs.
func (o Options) runID() string {
	id := fmt.Sprintf("chaos-%d", o.Seed)
	if o.TemporalAddress != "" || o.DatabaseURL != "" {
		id += "-" + rand.Text()[:8]
	}
	return id
}

func (o Options) has(kind oracle.FaultKind) bool { return slices.Contains(o.Faults, kind) }
