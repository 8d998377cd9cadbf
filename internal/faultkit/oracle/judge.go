package oracle

import (
	"slices"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
)

// Oracle is a property that must hold for every run.
type Oracle struct {
	// Name is one word.
	Name string
	// Means is the property as a sentence.
	Means string
	judge func(*view, *Verdict)
}

// Violation is a call for which the property of an oracle does not hold.
type Violation struct {
	// ToolCallID is empty if the violation is about the whole run.
	ToolCallID string `json:"call,omitempty"`
	Why        string `json:"why"`
}

// Verdict is the judgement of one oracle about a run.
type Verdict struct {
	Name  string `json:"oracle"`
	Means string `json:"means"`
	// Checked is the number of checks. 0 means that the run had nothing to check.
	Checked    int         `json:"checked"`
	Violations []Violation `json:"violations"`
}

// Held reports whether there is no violation.
func (v *Verdict) Held() bool { return len(v.Violations) == 0 }

// All returns the oracles in the order of a report. The last oracle, progress, decides whether the
// run is void.
func All() []Oracle {
	return []Oracle{
		{"settled", "every accepted call is settled, or visibly waits for a person who never decided", settled},
		{"unbroken", "no workflow failed, timed out or was terminated", unbroken},
		{"once", "a tool that must not be repeated had one effect per key at the most, and one more for each retry that a person wanted", once},
		{"accounted", "a tool that must not be repeated had no effect unless the call says ok or outcome_unknown", accounted},
		{"genuine", "no result has a value or a failure that somebody made up", genuine},
		{"done", "every call that ended ok had its effect", done},
		{"claimed", "outside the local lane every effect has a claim of its own", claimed},
		{"exact", "every effect is one of a known call, with the arguments as submitted", exact},
		{"agreed", "the record, the workflow's result and what submitters were told are the same", agreed},
		{"told", "a settled call has one start event and one result event, and no other call has any", checkEvents},
		{"released", "a settled call holds no open approval request", released},
		{"survived", "every read and idempotent call ended ok unless its deadline ran out", survived},
		{"unknown", "outcome_unknown stands only where a claim was hit by a fault", unknown},
		{"approved", "every effect that needs an approval has an earlier one, of exactly that call", approved},
		{"decided", "a decision that was confirmed is the one that stands", decided},
		{"refused", "an id that is used for other arguments is answered with conflict", refused},
		{"manned", "every worker that ended was ended by somebody", checkWorkerExits},
		{"bounded", "no history is longer than a call's attempts and faults explain", bounded},
		{"progress", "at least 60 % of the accepted calls ended ok; otherwise the run is void", progress},
	}
}

// Void is the name of the oracle that makes a run void.
const Void = "progress"

// Judge returns the verdict of each oracle.
func Judge(s Snapshot) []Verdict {
	v := newView(s)
	verdicts := make([]Verdict, 0, len(All()))
	for _, o := range All() {
		verdict := Verdict{Name: o.Name, Means: o.Means, Violations: []Violation{}}
		o.judge(v, &verdict)
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

func (v *Verdict) blame(toolCallID, why string) {
	v.Violations = append(v.Violations, Violation{ToolCallID: toolCallID, Why: why})
}

// view is a snapshot with indexes by call.
type view struct {
	Snapshot
	known   map[string]*Call
	effects map[string][]ledger.Effect
	// at holds the faults of one call, by toolCallId. common holds the other faults.
	at     map[string][]Fault
	common []Fault
}

func newView(s Snapshot) *view {
	v := &view{Snapshot: s, known: map[string]*Call{}, effects: map[string][]ledger.Effect{}, at: map[string][]Fault{}}
	for i := range s.Calls {
		v.known[s.Calls[i].InvocationID] = &s.Calls[i]
	}
	for _, e := range s.Effects {
		v.effects[e.InvocationID] = append(v.effects[e.InvocationID], e)
	}
	for _, f := range s.Faults {
		if f.Call == "" {
			v.common = append(v.common, f)
		} else {
			v.at[f.Call] = append(v.at[f.Call], f)
		}
	}
	return v
}

// faultsOf returns the faults that may have hit the call.
func (v *view) faultsOf(c *Call) []Fault { return slices.Concat(v.common, v.at[c.ToolCallID]) }

// settledRecords calls f with every call whose record has a result.
func (v *view) settledRecords(f func(*Call)) {
	for i := range v.Calls {
		if c := &v.Calls[i]; c.Record != nil && c.Record.Result != nil {
			f(c)
		}
	}
}
