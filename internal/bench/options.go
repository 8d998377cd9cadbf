package bench

import (
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
	// loadFactor is how many more calls the throughput is measured with than the latency.
	loadFactor = 5
)

// Options of a run.
type Options struct {
	// Rounds is how often every case is measured; in each round all of them are.
	Rounds int
	// Calls is how many calls one after the other measure the latency, in a round; five times as many measure the throughput.
	Calls int
	// Parallel is how many calls are on their way at once then.
	Parallel int
	// Cases are the names to measure; nil is all of them. `bare` is always measured.
	Cases []string
	// Store is for a Temporal server that the run starts.
	Store Store
	// TemporalAddress and DatabaseURL name servers that run; empty starts some.
	TemporalAddress, DatabaseURL string
	// Submitter makes the process that submits calls from outside; it runs Submit.
	Submitter func() *exec.Cmd
	// Worker makes the process that works in Park; it runs Work.
	Worker func() *exec.Cmd
	// Progress gets one line at a time.
	Progress func(string)
}

// Check says what is wrong with the options.
func (o Options) Check() error {
	switch {
	case o.Rounds < MinRounds || o.Rounds > MaxRounds:
		return fmt.Errorf("rounds are between %d and %d", MinRounds, MaxRounds)
	case o.Calls < 1 || o.Calls > MaxCalls:
		return fmt.Errorf("calls are between 1 and %d", MaxCalls)
	case o.Parallel < 1 || o.Parallel > MaxParallel:
		return fmt.Errorf("the concurrency is between 1 and %d", MaxParallel)
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
