package chaos

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// LoadReport is the result of a run under load.
type LoadReport struct {
	Seed  uint64        `json:"seed"`
	Steps []StepFigures `json:"steps"`
	// Calls counts the submitted calls by tool and outcome.
	Calls  map[string]map[string]int `json:"calls"`
	Faults map[oracle.FaultKind]int  `json:"faults"`
	// Submitted is the number of accepted calls, Effects the number of their effects.
	Submitted int `json:"submitted"`
	Effects   int `json:"effects"`
	// Lost is the number of calls that have no result, or that ended ok without an effect. Doubled is the number of calls with a second effect
	// although the tool must not be repeated.
	Lost    int `json:"lost"`
	Doubled int `json:"doubled"`
	// LeakedPlaces is the number of places of semaphores that stay taken.
	LeakedPlaces int          `json:"leakedPlaces"`
	Secrets      SecretSearch `json:"secrets"`
	// Verdicts are the verdicts of all oracles.
	Verdicts []oracle.Verdict `json:"verdicts"`
}

// Held reports whether nothing was lost, doubled or leaked, and no oracle was violated.
func (r *LoadReport) Held() bool {
	return r.Lost == 0 && r.Doubled == 0 && r.LeakedPlaces == 0 && r.Secrets.Leaked == 0 && r.Secrets.Unread == 0 && r.Secrets.Histories > 0 &&
		!slices.ContainsFunc(r.Verdicts, func(v oracle.Verdict) bool { return !v.Held() })
}

// lostBy are the oracles that a lost call violates.
var lostBy = []string{"settled", "unbroken", "done"}

func (r *LoadReport) add(f Figures) {
	r.Calls, r.Effects = f.Calls, f.Effects
	lost := map[string]bool{}
	for _, v := range r.Verdicts {
		switch v.Name {
		case "once":
			r.Doubled = len(v.Violations)
		case "settled":
			r.Submitted = v.Checked
		}
		if slices.Contains(lostBy, v.Name) {
			for _, violation := range v.Violations {
				lost[violation.ToolCallID] = true
			}
		}
	}
	r.Lost = len(lost)
}

// StepFigures are the figures of a step.
type StepFigures struct {
	LoadStep
	// Seconds is the length of the step, Ended the number of calls that ended in it, and PerSecond their number per second.
	Seconds   float64 `json:"seconds"`
	Ended     int     `json:"ended"`
	PerSecond float64 `json:"perSecond"`
	// Lanes are the times from the submit to the result, by kind of call.
	Lanes []LaneFigures `json:"lanes"`
	// Processors is the mean number of processors that each program used: empty if the system does not tell, or if faults end programs.
	Processors processors `json:"processors"`
	// Uses are what the workers use after a tenth of the step and at its end. A worker that is not there does not count.
	Uses []Use `json:"uses"`
}

// LaneFigures has the number and the times of the calls of one tool, which Lane names.
type LaneFigures struct {
	Lane  string  `json:"lane"`
	Calls int     `json:"calls"`
	P50Ms float64 `json:"p50Ms"`
	P95Ms float64 `json:"p95Ms"`
	P99Ms float64 `json:"p99Ms"`
	MaxMs float64 `json:"maxMs"`
}

// laneName describes the calls of a tool.
func laneName(toolID string) string {
	switch toolID {
	case ledger.LocalRead:
		return "read, local lane"
	case ledger.Read:
		return "read, regular lane"
	case ledger.Account:
		return "read with a connection"
	case ledger.Put:
		return "idempotent write, semaphore, quota"
	case ledger.Send:
		return "write"
	case ledger.Quick:
		return "write, claimed lane"
	case ledger.QuickPut:
		return "idempotent write, claimed lane"
	default:
		return "write with an approval"
	}
}

// measure counts the calls that ended within the step.
func (f *StepFigures) measure(calls []*call, from, to time.Time) {
	times := map[string][]time.Duration{}
	for _, c := range calls {
		if ended := c.began.Add(c.took); c.isAnswered() && !c.began.Before(from) && !ended.After(to) {
			f.Ended++
			times[c.ToolID] = append(times[c.ToolID], c.took)
		}
	}
	f.PerSecond = float64(f.Ended) / to.Sub(from).Seconds()
	for _, s := range loadMix() {
		took := times[s.toolID]
		if len(took) == 0 {
			continue
		}
		slices.Sort(took)
		at := func(percent int) float64 { return float64(took[(len(took)-1)*percent/100].Microseconds()) / 1000 }
		f.Lanes = append(f.Lanes, LaneFigures{
			Lane: laneName(s.toolID), Calls: len(took), P50Ms: at(50), P95Ms: at(95), P99Ms: at(99), MaxMs: at(100),
		})
	}
}

// String is the line of a step.
func (f *StepFigures) String() string {
	return fmt.Sprintf("%d workers, %d calls at the same time: %d calls, %.1f in a second; %s", f.Workers, f.Submitters, f.Ended, f.PerSecond, f.Processors)
}

// processors is the mean number of processors, or the processor time in seconds, of each program.
type processors []programTime

type programTime struct {
	Program string  `json:"program"`
	Used    float64 `json:"used"`
}

// since returns the mean number of processors that were used since before.
func (p processors) since(before processors, elapsed time.Duration) processors {
	mean := slices.Clone(p)
	for i := range mean {
		mean[i].Used = (mean[i].Used - before[i].Used) / elapsed.Seconds()
	}
	return mean
}

// String lists the programs and their sum.
func (p processors) String() string {
	if len(p) == 0 {
		return "processors unknown"
	}
	var words []string
	sum := 0.0
	for _, t := range p {
		words = append(words, fmt.Sprintf("%s %.2f", t.Program, t.Used))
		sum += t.Used
	}
	return fmt.Sprintf("%.2f processors: %s", sum, strings.Join(words, ", "))
}

// processors returns the processor time of each program so far. It returns nil for a run with faults, because they end programs.
func (l *load) processors() processors {
	if !canTell || len(l.plan.Faults) > 0 {
		return nil
	}
	workers := []int{}
	for _, s := range l.workers.slots {
		workers = append(workers, s.get().pid())
	}
	used := processors{{"workers", seconds(workers...)}, {"submitters", seconds(os.Getpid())}}
	if t := l.servers.stack.Temporal(); t != nil {
		used = append(used, programTime{"Temporal", seconds(t.PID())})
		if t.Store() != nil {
			used = append(used, programTime{"Temporal's Postgres", seconds(withChildren(t.Store().PID())...)})
		}
	}
	if p := l.servers.stack.Postgres(); p != nil {
		used = append(used, programTime{"Pawl's Postgres", seconds(withChildren(p.PID())...)})
	}
	return used
}
