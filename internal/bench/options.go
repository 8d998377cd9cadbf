package bench

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Store is where the Temporal server keeps its state.
type Store string

// The stores.
const (
	Memory Store = "memory"
	// File commits to the disk, like a server in production.
	File Store = "file"
)

// Bounds and defaults.
const (
	MinRounds   = 1
	MaxRounds   = 100
	MaxCalls    = 100_000
	MaxParallel = 256
	// DefaultRounds, DefaultCalls and DefaultParallel measure for about three minutes in memory.
	DefaultRounds   = 3
	DefaultCalls    = 60
	DefaultParallel = 16
	// loadFactor is the number of calls that measure the throughput for each call that measures the
	// latency.
	loadFactor = 5
)

// Options of a run.
type Options struct {
	// Rounds is the number of rounds. Each round measures every case once.
	Rounds int
	// Calls is the number of calls per round that measure the latency, one after the other. Five times
	// as many calls measure the throughput.
	Calls int
	// Parallel is the number of calls that run at the same time while the throughput is measured.
	Parallel int
	// Cases are the names of the cases to measure; nil means all cases. `bare` is always measured.
	Cases []string
	// Store is the store of the Temporal server, if the run starts a server.
	Store Store
	// FullServer makes the run start a full Temporal server, whose Postgres is another than Pawl's and commits to the disk. Store
	// is then without effect.
	FullServer bool
	// TemporalAddress and DatabaseURL name running servers. If one is empty, the run starts that server.
	TemporalAddress, DatabaseURL string
	// Submitter returns the command of a process that calls Submit, for the cases that submit calls from
	// another process.
	Submitter func() *exec.Cmd
	// Worker returns the command of the worker process of Park. The process calls Work.
	Worker func() *exec.Cmd
	// Telemetry has Pawl's worker serve metrics, and send metrics and every trace to a receiver in this process.
	Telemetry bool
	// Progress gets one line at a time.
	Progress func(string)
}

// Check returns an error if an option is out of its bounds or unknown.
func (o Options) Check() error {
	switch {
	case o.Rounds < MinRounds || o.Rounds > MaxRounds:
		return fmt.Errorf("rounds are between %d and %d", MinRounds, MaxRounds)
	case o.Calls < 1 || o.Calls > MaxCalls:
		return fmt.Errorf("calls are between 1 and %d", MaxCalls)
	case o.Parallel < 1 || o.Parallel > MaxParallel:
		return fmt.Errorf("the concurrency is between 1 and %d", MaxParallel)
	case o.FullServer && o.TemporalAddress != "":
		return errors.New("TEMPORAL_ADDRESS names a server: unset it to measure on a full server of the benchmark")
	case o.Store != Memory && o.Store != File:
		return fmt.Errorf("the store is memory or file")
	}
	for _, name := range o.Cases {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("there is no case %q; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

func (o Options) wants(name string) bool {
	return name == bare || len(o.Cases) == 0 || slices.Contains(o.Cases, name)
}
