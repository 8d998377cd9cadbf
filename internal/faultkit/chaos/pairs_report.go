package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// PairReport is the result of a run of pairs.
type PairReport struct {
	Seed  uint64 `json:"seed"`
	Lanes int    `json:"lanes"`
	// Planned is the number of pairs that were planned.
	Planned int           `json:"planned"`
	Took    time.Duration `json:"tookNs"`
	// Calls is the number of calls. The first strike hit First of them, both strikes hit Both of
	// them.
	Calls    int                      `json:"calls"`
	First    int                      `json:"first"`
	Both     int                      `json:"both"`
	Effects  int                      `json:"effects"`
	Faults   map[oracle.FaultKind]int `json:"faults"`
	Verdicts []oracle.Verdict         `json:"verdicts"`
	// Failed lists the strikes that failed.
	Failed []string `json:"failed,omitempty"`
	// Pairs lists the pairs that were run, in the order of their violations, most first.
	Pairs []*PairFigures `json:"pairs"`

	byName map[string]*PairFigures
	pairOf map[string]*PairFigures // by toolCallId
}

// PairFigures counts the calls of one pair.
type PairFigures struct {
	Name  string `json:"name"`
	Calls int    `json:"calls"`
	First int    `json:"first"`
	Both  int    `json:"both"`
	// Outcomes counts calls by their outcome.
	Outcomes map[string]int `json:"outcomes"`
	// Violated lists the calls that violate an oracle, with the oracle.
	Violated []Blame `json:"violated,omitempty"`
}

// Blame is a violation with the name of its oracle.
type Blame struct {
	Oracle string `json:"oracle"`
	oracle.Violation
}

// Held reports whether every oracle held and every strike could be carried out.
func (r *PairReport) Held() bool {
	return len(r.Failed) == 0 && !slices.ContainsFunc(r.Verdicts, func(v oracle.Verdict) bool { return !v.Held() })
}

func newPairReport(o PairOptions) *PairReport {
	return &PairReport{
		Seed: o.Seed, Lanes: o.Lanes, Planned: len(o.Pairs), Faults: map[oracle.FaultKind]int{},
		byName: map[string]*PairFigures{}, pairOf: map[string]*PairFigures{},
	}
}

// enter adds a batch that has ended.
func (r *PairReport) enter(batch []*pairCall, seen oracle.Snapshot, verdicts []oracle.Verdict) {
	for i, c := range batch {
		name := c.pair.String()
		f := r.byName[name]
		if f == nil {
			f = &PairFigures{Name: name, Outcomes: map[string]int{}}
			r.byName[name], r.Pairs = f, append(r.Pairs, f)
		}
		r.pairOf[c.ToolCallID] = f
		r.Calls++
		f.Calls++
		f.Outcomes[outcomeOf(&seen.Calls[i])]++
		c.state.Lock()
		if c.first {
			r.First++
			f.First++
		}
		if c.both {
			r.Both++
			f.Both++
		}
		for _, err := range c.errs {
			r.Failed = append(r.Failed, c.ToolCallID+" "+err.Error())
		}
		c.state.Unlock()
	}
	r.blame(verdicts)
}

// blame adds each violation to the pair of its call. A call is added once per oracle.
func (r *PairReport) blame(verdicts []oracle.Verdict) {
	for _, v := range verdicts {
		for _, violation := range v.Violations {
			f, b := r.pairOf[violation.ToolCallID], Blame{v.Name, violation}
			if f != nil && !slices.ContainsFunc(f.Violated, func(x Blame) bool { return x.Oracle == b.Oracle && x.ToolCallID == b.ToolCallID }) {
				f.Violated = append(f.Violated, b)
			}
		}
	}
}

func (r *PairReport) violations() (n int) {
	for _, f := range r.Pairs {
		n += len(f.Violated)
	}
	return n
}

// add adds the verdicts, faults and effects of a whole lane.
func (r *PairReport) add(verdicts []oracle.Verdict, faults []oracle.Fault, effects int) {
	if r.Verdicts == nil {
		r.Verdicts = verdicts
	} else {
		for i, v := range verdicts {
			r.Verdicts[i].Checked += v.Checked
			r.Verdicts[i].Violations = append(r.Verdicts[i].Violations, v.Violations...)
		}
	}
	r.blame(verdicts)
	r.Effects += effects
	for kind, n := range countFaults(faults) {
		r.Faults[kind] += n
	}
	slices.SortStableFunc(r.Pairs, func(a, b *PairFigures) int {
		return cmp.Or(cmp.Compare(len(b.Violated), len(a.Violated)), cmp.Compare(a.Name, b.Name))
	})
}
