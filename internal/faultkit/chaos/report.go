package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// Report is the result of a run.
type Report struct {
	Seed     uint64           `json:"seed"`
	For      time.Duration    `json:"forNs"`
	Workers  int              `json:"workers"`
	Verdicts []oracle.Verdict `json:"verdicts"`
	Figures  Figures          `json:"figures"`
}

// Held reports whether no oracle was violated.
func (r *Report) Held() bool {
	return !slices.ContainsFunc(r.Verdicts, func(v oracle.Verdict) bool { return !v.Held() })
}

// Figures are statistics for people. No verdict depends on them.
type Figures struct {
	// Calls counts calls by tool and outcome. A call that waits for a person has the outcome
	// waiting_approval.
	Calls map[string]map[string]int `json:"calls"`
	// Faults counts faults by kind, including workers that crashed without a planned fault.
	Faults map[oracle.FaultKind]int `json:"faults"`
	// Effects is the number of effects, Repeated the number of calls with more than one.
	Effects  int `json:"effects"`
	Repeated int `json:"repeated"`
	// Attempts is the number of dispatched attempts, Lost the number of those without an answer.
	Attempts int `json:"attempts"`
	Lost     int `json:"lost"`
	// Duplicates and Conflicts count further submits of a call's id, Decisions the decisions that were
	// sent.
	Duplicates int `json:"twins"`
	Conflicts  int `json:"rivals"`
	Decisions  int `json:"decisions"`
	// Duration is the time from the start of a workflow to its end, including the time that people
	// take.
	Duration Spread `json:"durationMs"`
	// Events is the length of the histories.
	Events Spread `json:"events"`
}

// Spread is the median, the 95th percentile and the maximum of some numbers.
type Spread struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	Max int64 `json:"max"`
}

func spreadOf(values []int64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	slices.Sort(values)
	at := func(percent int) int64 { return values[(len(values)-1)*percent/100] }
	return Spread{P50: at(50), P95: at(95), Max: at(100)}
}

func (r *run) report(s oracle.Snapshot) *Report {
	return &Report{Seed: r.Seed, For: r.For, Workers: r.Workers, Verdicts: oracle.Judge(s), Figures: figuresOf(s)}
}

func figuresOf(s oracle.Snapshot) Figures {
	f := Figures{Calls: map[string]map[string]int{}, Faults: countFaults(s.Faults), Effects: len(s.Effects)}
	perCall := map[string]int{}
	for _, e := range s.Effects {
		if perCall[e.InvocationID]++; perCall[e.InvocationID] == 2 {
			f.Repeated++
		}
	}
	var durations, events []int64
	for i := range s.Calls {
		c := &s.Calls[i]
		if f.Calls[c.ToolID] == nil {
			f.Calls[c.ToolID] = map[string]int{}
		}
		f.Calls[c.ToolID][outcomeOf(c)]++
		f.Duplicates += max(0, len(c.Answers)-1)
		f.Conflicts += len(c.Rivals)
		f.Decisions += len(c.Decisions)
		if c.Workflow.Events > 0 {
			events = append(events, c.Workflow.Events)
		}
		if !c.Workflow.Ended.IsZero() {
			durations = append(durations, c.Workflow.Ended.Sub(c.Workflow.Started).Milliseconds())
		}
		if c.Record == nil {
			continue
		}
		f.Attempts += c.Record.Attempts
		for _, a := range c.Record.AttemptList {
			if a.Outcome != "ok" {
				f.Lost++
			}
		}
	}
	f.Duration, f.Events = spreadOf(durations), spreadOf(events)
	return f
}

func outcomeOf(c *oracle.Call) string {
	switch {
	case !c.Accepted:
		return "not accepted"
	case c.Record == nil:
		return "no record"
	case c.Record.Outcome == "":
		return string(c.Record.Status)
	}
	return c.Record.Outcome
}

func countFaults(faults []oracle.Fault) map[oracle.FaultKind]int {
	n := map[oracle.FaultKind]int{}
	for _, f := range faults {
		n[f.Kind]++
	}
	return n
}

// FaultsInWords lists counts of faults in the order of Kinds.
func FaultsInWords(n map[oracle.FaultKind]int) string {
	var words []string
	for _, kind := range append(Kinds(), oracle.Late, oracle.Stall, oracle.Crash) {
		if n[kind] > 0 {
			words = append(words, fmt.Sprintf("%s %d", kind, n[kind]))
		}
	}
	if len(words) == 0 {
		return "no faults"
	}
	return strings.Join(words, ", ")
}
