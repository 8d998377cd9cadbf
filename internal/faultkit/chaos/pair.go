package chaos

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/faultkit/point"
)

// Strike is a fault that hits a call at a point.
type Strike struct {
	At   point.Name
	Kind oracle.FaultKind
}

// String returns POINT/FAULT.
func (s Strike) String() string { return string(s.At) + "/" + string(s.Kind) }

// wide reports whether the fault hits all calls of its servers.
func (s Strike) wide() bool { return !ofOneCall(s.Kind) }

// Pair is two strikes at one call. Then hits when the call reaches its point for the first time
// after First.
type Pair struct{ First, Then Strike }

// String returns FIRST+THEN.
func (p Pair) String() string { return p.First.String() + "+" + p.Then.String() }

// route returns the points in the order in which a call that needs an approval reaches them.
func route() []point.Name {
	return []point.Name{
		point.AdmitBefore, point.AdmitAfter, point.WaitBefore, point.WaitAfter, point.DecideBefore, point.DecideAfter,
		point.ClaimBefore, point.ClaimAfter, point.EffectBefore, point.EffectAfter, point.SaveBefore, point.SaveAfter, point.AnswerBefore, point.AnswerAfter,
		point.CheckBefore, point.CheckAfter, point.SettleBefore, point.SettleAfter, point.CloseBefore, point.CloseAfter,
	}
}

func rank(p point.Name) int { return slices.Index(route(), p) }

// within reports whether p lies between from and to, inclusive.
func within(p, from, to point.Name) bool { return rank(p) >= rank(from) && rank(p) <= rank(to) }

// Strikes returns all strikes: each fault at the points where it makes a difference.
func Strikes() []Strike {
	var strikes []Strike
	add := func(kind oracle.FaultKind, points ...point.Name) {
		for _, p := range points {
			strikes = append(strikes, Strike{At: p, Kind: kind})
		}
	}
	add(oracle.Kill, point.AdmitAfter, point.DecideAfter, point.ClaimBefore, point.ClaimAfter, point.EffectAfter, point.SaveAfter, point.AnswerBefore, point.SettleAfter)
	add(oracle.Stop, point.ClaimBefore, point.EffectBefore, point.SettleBefore)
	add(oracle.Lock, point.ClaimBefore, point.CheckBefore, point.SettleBefore)
	add(oracle.PostgresFreeze, point.AdmitBefore, point.ClaimBefore, point.SaveBefore, point.CheckBefore, point.SettleBefore)
	add(oracle.TemporalFreeze, point.EffectBefore, point.AnswerBefore, point.CloseBefore)
	add(oracle.Late, point.AdmitAfter, point.WaitAfter, point.DecideAfter, point.ClaimBefore, point.ClaimAfter, point.EffectBefore,
		point.SaveBefore, point.SaveAfter, point.CheckBefore, point.CheckAfter, point.AnswerBefore, point.SettleBefore, point.SettleAfter)
	anew := []point.Name{
		point.DecideAfter, point.ClaimBefore, point.ClaimAfter, point.EffectBefore, point.EffectAfter, point.AnswerBefore, point.SettleBefore, point.SettleAfter,
	}
	add(oracle.ResetFirst, anew...)
	add(oracle.ResetLast, append([]point.Name{point.SaveBefore, point.SaveAfter}, anew...)...)
	add(oracle.Restart, append([]point.Name{point.WaitAfter}, anew...)...)
	over := []point.Name{point.ClaimBefore, point.ClaimAfter, point.EffectAfter, point.SettleBefore}
	add(oracle.Terminate, over...)
	add(oracle.Delete, over...)
	add(oracle.Cancel, append([]point.Name{point.WaitAfter}, over...)...)
	add(oracle.Garbage, point.WaitAfter, point.ClaimAfter)
	running := []point.Name{point.ClaimBefore, point.ClaimAfter, point.EffectAfter}
	for _, kind := range []oracle.FaultKind{
		oracle.Pause, oracle.ActivityReset, oracle.MadeUpOK, oracle.MadeUpUndispatched, oracle.MadeUpNothing, oracle.MadeUpFailure,
	} {
		add(kind, running...)
	}
	return strikes
}

// Pairs returns all pairs of strikes that can hit one call, in a fixed order.
func Pairs() []Pair {
	var pairs []Pair
	for _, first := range Strikes() {
		for _, then := range Strikes() {
			if p := (Pair{first, then}); p.meet() {
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// meet reports whether the call can reach the point of Then after First.
func (p Pair) meet() bool {
	first, then := p.First, p.Then
	inDoubt := within(then.At, point.CheckBefore, point.CheckAfter)
	switch {
	case within(first.At, point.CheckBefore, point.CheckAfter):
		return false // without an earlier fault no attempt is in doubt
	case inDoubt && !first.loses():
		return false
	case first.Kind == oracle.Terminate || first.Kind == oracle.Delete:
		// The attempt that was running continues.
		return rank(then.At) > rank(first.At) && rank(then.At) <= rank(point.AnswerBefore)
	}
	again := first.again()
	return rank(then.At) >= rank(again) && (then.At != first.At || rank(again) <= rank(first.At) && first.repeats())
}

// loses reports whether the strike can lose the answer of an attempt.
func (s Strike) loses() bool {
	switch s.Kind {
	case oracle.Kill, oracle.Stop, oracle.TemporalFreeze, oracle.Pause, oracle.ActivityReset, oracle.MadeUpFailure:
		return within(s.At, point.ClaimBefore, point.AnswerBefore)
	default:
		return false
	}
}

// repeats reports whether the call can reach points again after the strike.
func (s Strike) repeats() bool {
	return s.Kind != oracle.Cancel && s.Kind != oracle.Garbage && s.Kind != oracle.MadeUpOK
}

// again returns the first point that the call can reach after the strike.
func (s Strike) again() point.Name {
	switch s.Kind {
	case oracle.ResetFirst, oracle.Restart:
		return point.AdmitBefore
	case oracle.ResetLast:
		return point.DecideBefore
	case oracle.Pause, oracle.ActivityReset, oracle.MadeUpUndispatched, oracle.MadeUpNothing, oracle.MadeUpFailure:
		return point.ClaimBefore
	case oracle.Kill, oracle.Stop, oracle.TemporalFreeze:
		switch {
		case within(s.At, point.AdmitBefore, point.WaitAfter):
			return point.AdmitBefore // the workflow task is repeated
		case within(s.At, point.ClaimBefore, point.AnswerAfter):
			return point.ClaimBefore
		}
	default:
	}
	if !s.repeats() {
		return route()[rank(s.At)+1]
	}
	place, _, _ := strings.Cut(string(s.At), ".")
	return point.Name(place + ".before")
}

// toolOf returns the tool of the nth call of a pair. Three of four calls use a tool that must not
// be repeated.
func (p Pair) toolOf(n int) string {
	for _, s := range []Strike{p.First, p.Then} {
		if within(s.At, point.WaitBefore, point.DecideAfter) {
			return ledger.Ask
		}
	}
	return []string{ledger.Ask, ledger.Send, ledger.Ask, ledger.Put}[n%4]
}

// saves reports whether a strike hits at the commit of a large value.
func (p Pair) saves() bool {
	return within(p.First.At, point.SaveBefore, point.SaveAfter) || within(p.Then.At, point.SaveBefore, point.SaveAfter)
}

// MatchPairs returns the pairs whose name matches a pattern of path.Match, in which * does not
// match a slash. Without a pattern it returns all pairs.
func MatchPairs(patterns ...string) ([]Pair, error) {
	if len(patterns) == 0 {
		return Pairs(), nil
	}
	var pairs []Pair
	for _, pair := range Pairs() {
		for _, pattern := range patterns {
			like, err := path.Match(pattern, pair.String())
			if err != nil {
				return nil, fmt.Errorf("the pattern %q of pairs: %w", pattern, err)
			}
			if like {
				pairs = append(pairs, pair)
				break
			}
		}
	}
	if len(pairs) == 0 {
		return nil, fmt.Errorf("no pair is like %q: --list-pairs shows all", patterns)
	}
	return pairs, nil
}
