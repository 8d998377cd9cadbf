package chaos

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
)

// Plan is the plan of a whole run. It is drawn before the run, so it does not depend on the speed
// of the machine. Times count from the start of the run.
type Plan struct {
	Calls  []PlannedCall
	Faults []PlannedFault
}

// PlannedCall is a call that the run submits at At.
type PlannedCall struct {
	At         time.Duration
	ToolCallID string
	ToolID     string
	In         ledger.In
	// Duplicate makes a second client submit the same call at the same time. Conflict makes a client submit
	// the id with other arguments, ConflictAfter the call was accepted.
	Duplicate, Conflict bool
	ConflictAfter       time.Duration
	// Decisions are the planned decisions; the first is the earliest. None means that no person
	// decides.
	Decisions []PlannedDecision
}

// CallsInWords returns the number of planned calls of each tool, as text.
func (p Plan) CallsInWords() string {
	words := make([]string, 0, len(mix()))
	for _, s := range mix() {
		n := 0
		for _, c := range p.Calls {
			if c.ToolID == s.toolID {
				n++
			}
		}
		words = append(words, fmt.Sprintf("%s %d", s.toolID, n))
	}
	return strings.Join(words, ", ")
}

// FaultsInWords returns the number of planned faults of each kind, as text.
func (p Plan) FaultsInWords() string {
	n := map[oracle.FaultKind]int{}
	for _, f := range p.Faults {
		n[f.Kind]++
	}
	return FaultsInWords(n)
}

// asked reports whether the call waits for a person.
func (c PlannedCall) asked() bool { return c.ToolID == ledger.Ask }

// PlannedDecision is sent After the call was accepted.
type PlannedDecision struct {
	After    time.Duration
	Verb     toolspec.Verb
	Approver string
	// Signal sends the decision as a signal; otherwise it is an update.
	Signal bool
}

// PlannedFault is a fault of the worker in Slot, of a server, or of one call.
type PlannedFault struct {
	At   time.Duration
	Kind oracle.FaultKind
	Slot int
	// For is the duration of the fault, 0 for a kind without a duration.
	For time.Duration
	// Pick selects the target among the calls that can be hit at the time, if the fault is aimed at
	// one call.
	Pick uint64
}

// share is the percentage of calls that use a tool.
type share struct {
	toolID  string
	percent int
}

// mix returns the share of each tool. Most tools can be repeated, as in production.
func mix() []share {
	return []share{{ledger.LocalRead, 15}, {ledger.Read, 15}, {ledger.Put, 15}, {ledger.Send, 15}, {ledger.Ask, 15}, {ledger.Quick, 15}, {ledger.QuickPut, 10}}
}

// The random streams of a seed. Each kind of fault has its own stream, so a plan without one kind
// is otherwise the same.
const (
	callStream  = 1
	faultStream = 100
)

// NewPlan draws the plan of a run.
func NewPlan(o Options) Plan {
	return Plan{Calls: drawCalls(o), Faults: drawAllFaults(o)}
}

func drawAllFaults(o Options) (faults []PlannedFault) {
	for i, kind := range Kinds() {
		if o.has(kind) {
			random := rand.New(rand.NewPCG(o.Seed, faultStream+uint64(i)))
			faults = append(faults, drawFaults(random, kind, o)...)
		}
	}
	slices.SortStableFunc(faults, func(a, b PlannedFault) int { return cmp.Compare(a.At, b.At) })
	return faults
}

func drawCalls(o Options) []PlannedCall {
	random := rand.New(rand.NewPCG(o.Seed, callStream))
	calls := make([]PlannedCall, o.Calls)
	for i := range calls {
		calls[i] = drawCall(random, o)
	}
	slices.SortStableFunc(calls, func(a, b PlannedCall) int { return cmp.Compare(a.At, b.At) })
	for i := range calls {
		id := fmt.Sprintf("c%05d", i+1)
		calls[i].ToolCallID, calls[i].In.Text = id, "effect of "+id
	}
	return calls
}

func drawCall(random *rand.Rand, o Options) PlannedCall {
	c := PlannedCall{At: upTo(random, o.For), ToolID: drawTool(random)}
	longest := 1500
	if ledger.Fast(c.ToolID) {
		longest = 400 // it runs inside a workflow task
	}
	c.In.BeforeMs, c.In.AfterMs = random.IntN(longest), random.IntN(longest)
	c.Duplicate = random.IntN(100) < 10
	if c.Conflict = random.IntN(100) < 5; c.Conflict {
		c.ConflictAfter = upTo(random, 5*time.Second)
	}
	if c.asked() {
		c.Decisions = drawDecisions(random, o.For)
	}
	return c
}

func drawTool(random *rand.Rand) string { return drawFrom(random, mix()) }

func drawFrom(random *rand.Rand, tools []share) string {
	n := random.IntN(100)
	for _, s := range tools {
		if n -= s.percent; n < 0 {
			return s.toolID
		}
	}
	return ledger.LocalRead
}

// drawDecisions draws the decisions of one call. Of 100 calls, 3 wait forever, 10 are denied and 87
// approved, a fifth of the approvals late. A fifth of the decisions is sent twice, and a tenth is
// followed by the opposite decision of another person.
func drawDecisions(random *rand.Rand, all time.Duration) []PlannedDecision {
	kind := random.IntN(100)
	if kind < 3 {
		return nil
	}
	d := PlannedDecision{After: upTo(random, 3*time.Second), Verb: toolspec.Approve, Approver: "user:ann", Signal: random.IntN(2) == 0}
	if kind < 13 {
		d.Verb = toolspec.Deny
	} else if random.IntN(5) == 0 {
		d.After += upTo(random, min(all, 20*time.Second))
	}
	decisions := []PlannedDecision{d}
	switch extra := random.IntN(10); {
	case extra < 2:
		again := d
		again.After, again.Signal = d.After+upTo(random, time.Second), random.IntN(2) == 0
		decisions = append(decisions, again)
	case extra == 2:
		contrary := PlannedDecision{After: d.After + upTo(random, time.Second), Verb: toolspec.Deny, Approver: "user:bob", Signal: random.IntN(2) == 0}
		if d.Verb == toolspec.Deny {
			contrary.Verb = toolspec.Approve
		}
		decisions = append(decisions, contrary)
	}
	return decisions
}

// faultTiming is the mean interval of a fault, in intervals of kills, and the range of its duration.
type faultTiming struct {
	kills         int
	atLeast, most time.Duration
}

func timingOf(kind oracle.FaultKind) faultTiming {
	switch kind {
	case oracle.Term:
		return faultTiming{kills: 8}
	case oracle.Stop:
		return faultTiming{kills: 6, atLeast: time.Second, most: 12 * time.Second}
	case oracle.Postgres:
		return faultTiming{kills: 10, most: 2 * time.Second}
	case oracle.Temporal:
		return faultTiming{kills: 20, atLeast: time.Second, most: 5 * time.Second}
	case oracle.PostgresFreeze:
		return faultTiming{kills: 20, atLeast: time.Second, most: 6 * time.Second}
	case oracle.TemporalFreeze:
		return faultTiming{kills: 30, atLeast: time.Second, most: 8 * time.Second}
	case oracle.Lock:
		return faultTiming{kills: 15, atLeast: time.Second, most: 6 * time.Second}
	case oracle.Kill:
		return faultTiming{kills: 1}
	default: // faults of one call have many kinds
		return faultTiming{kills: 15}
	}
}

func drawFaults(random *rand.Rand, kind oracle.FaultKind, o Options) (faults []PlannedFault) {
	r := timingOf(kind)
	mean := o.Every * time.Duration(r.kills)
	for at := mean/2 + upTo(random, mean); at < o.For; at += mean/2 + upTo(random, mean) {
		f := PlannedFault{At: at, Kind: kind, Slot: random.IntN(o.Workers)}
		if r.most > 0 {
			f.For = r.atLeast + upTo(random, r.most-r.atLeast)
		}
		if ofOneCall(kind) {
			f.Pick = random.Uint64()
		}
		faults = append(faults, f)
	}
	return faults
}

// upTo draws a duration below limit, in whole milliseconds.
func upTo(random *rand.Rand, limit time.Duration) time.Duration {
	return time.Duration(random.Int64N(max(1, limit.Milliseconds()))) * time.Millisecond
}
