package health

import (
	"context"
	"slices"
	"sync"
	"time"
)

// State is the state of a check.
type State string

// States of checks.
const (
	OK State = "ok"
	// Degraded means that calls run, and that something needs attention.
	Degraded State = "degraded"
	// Failed means that calls cannot run.
	Failed State = "failed"
	// Waiting means that this part is not checked yet: the start has not come to it, or another check must succeed first.
	Waiting State = "waiting"
)

// Names of checks, in the order of a report.
const (
	Worker   = "worker"
	Database = "database"
	Policy   = "policy"
	KeyRing  = "keyring"
	Temporal = "temporal"
	Sources  = "sources"
	// Deployment is a check of workers with a version only.
	Deployment = "deployment"
)

var names = []string{Worker, Database, Policy, KeyRing, Temporal, Sources, Deployment}

// Statuses of reports.
const (
	Ready    = "ready"
	NotReady = "not_ready"
	// ReadyDegraded is a report that is ready with a check that is degraded.
	ReadyDegraded = "degraded"
)

// Check is the result of one check. Message is one sentence.
type Check struct {
	Name    string `json:"name"`
	State   State  `json:"state"`
	Message string `json:"message"`
}

// Report is the answer to the probe of readiness.
type Report struct {
	Status string  `json:"status"`
	Checks []Check `json:"checks"`
}

const (
	// checkTime bounds one set of checks. Kubernetes gives a probe one second by default.
	checkTime = 800 * time.Millisecond
	// keepTime is how long a set of checks answers probes.
	keepTime = time.Second
)

// Board is what a worker knows of its own health. The methods of a nil Board do nothing.
type Board struct {
	mu       sync.Mutex
	waits    map[string]string // what the start waits for, by the name of a check
	checks   func(context.Context) []Check
	stopping bool
	// checking has room for one set of checks at a time.
	checking chan struct{}
	kept     []Check
	keptAt   time.Time
}

// NewBoard returns the board of a worker that starts.
func NewBoard() *Board {
	return &Board{waits: map[string]string{}, checking: make(chan struct{}, 1)}
}

// Wait records that the start waits for a part, and why. An empty sentence means that it waits no more.
func (b *Board) Wait(name, sentence string) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waits[name] = sentence; sentence == "" {
		delete(b.waits, name)
	}
}

// Started says that the worker runs. From now on, checks tell how it is. checks returns the results in any order, and ends with its
// context.
func (b *Board) Started(checks func(context.Context) []Check) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.checks = checks
}

// Stopping says that the worker takes no more calls. It is not ready from now on, and no check runs any more when
// Stopping has returned.
func (b *Board) Stopping() {
	if b == nil {
		return
	}
	b.mu.Lock()
	before := b.stopping
	b.stopping = true
	b.mu.Unlock()
	if before {
		return
	}
	b.checking <- struct{}{} // nobody takes it out, so no check starts: the worker now closes the connections that checks use
}

// Report returns the report of now. It may be a second old.
func (b *Board) Report(ctx context.Context) Report {
	b.mu.Lock()
	stopping, checks, waits := b.stopping, b.checks, make(map[string]string, len(b.waits))
	for name, sentence := range b.waits {
		waits[name] = sentence
	}
	b.mu.Unlock()
	switch {
	case stopping:
		return reportOf([]Check{{Worker, Failed, "the worker is stopping"}})
	case checks == nil:
		return reportOf(starting(waits))
	}
	found, stopped := b.run(ctx, checks)
	if stopped {
		return reportOf([]Check{{Worker, Failed, "the worker is stopping"}})
	}
	if !slices.ContainsFunc(found, func(c Check) bool { return c.Name == Worker }) {
		found = append([]Check{{Worker, OK, "the worker runs"}}, found...)
	}
	return reportOf(found)
}

// run returns results of the checks that are at most keepTime old. All probes wait for one set of checks.
func (b *Board) run(ctx context.Context, checks func(context.Context) []Check) (found []Check, stopped bool) {
	select {
	case b.checking <- struct{}{}:
	case <-ctx.Done():
		return []Check{{Worker, Failed, "the checks take too long"}}, false
	case <-time.After(2 * checkTime): // Stopping has the place
		b.mu.Lock()
		defer b.mu.Unlock()
		return []Check{{Worker, Failed, "the checks take too long"}}, b.stopping
	}
	defer func() { <-b.checking }()
	if time.Since(b.keptAt) < keepTime {
		return b.kept, false
	}
	// The checks do not end with the probe that began them: others wait for them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkTime)
	defer cancel()
	b.kept, b.keptAt = checks(ctx), time.Now()
	return b.kept, false
}

func starting(waits map[string]string) []Check {
	all := []Check{{Worker, Waiting, "the worker starts"}}
	for _, name := range names[1:] {
		if name == Deployment {
			continue
		}
		if sentence := waits[name]; sentence != "" {
			all = append(all, Check{name, Failed, sentence})
		} else {
			all = append(all, Check{name, Waiting, "the start has not checked this yet"})
		}
	}
	return all
}

func reportOf(checks []Check) Report {
	slices.SortStableFunc(checks, func(a, b Check) int { return slices.Index(names, a.Name) - slices.Index(names, b.Name) })
	r := Report{Status: Ready, Checks: checks}
	for _, c := range checks {
		switch c.State {
		case Failed, Waiting:
			r.Status = NotReady
		case Degraded:
			if r.Status == Ready {
				r.Status = ReadyDegraded
			}
		case OK:
		}
	}
	return r
}
