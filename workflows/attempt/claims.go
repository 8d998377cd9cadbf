package attempt

import (
	"slices"

	"github.com/pawl-run/pawl/workflows/contract"
)

// claims holds the claims that this Temporal run can account for: their attempts answered, or a probe or a
// person said whether they took effect. Every other claim in the record belongs to an attempt
// without an answer, whose effect may have happened.
type claims struct {
	known []knownClaim
}

// knownClaim is a claim that the run can account for.
type knownClaim struct {
	contract.Claim
	// repeatable says that another attempt may follow this attempt, even if the tool is
	// not repeatable.
	repeatable bool
	// over says that the call need not wait for the tool of the attempt: the tool no longer runs, or can have no
	// effect any more.
	over bool
}

// addAnswer adds the claim of an attempt that answered. repeatable says that another
// attempt may follow this attempt. addAnswer ignores an answer without a claim id: its attempt
// tried to write no claim.
func (c *claims) addAnswer(dispatch int, out contract.ExecuteOut, repeatable bool) {
	if out.ClaimID != "" {
		c.known = append(c.known, knownClaim{contract.Claim{Dispatch: dispatch, ID: out.ClaimID}, repeatable, !out.LeftBehind})
	}
}

// resolve adds claims after a probe or a person said whether their attempts took effect. None of these
// claims prevents another attempt. All of them count as over: their tools have ended, or the service refuses
// their requests, or the call ends now.
func (c *claims) resolve(all []contract.Claim) {
	for _, claim := range all {
		c.known = append(c.known, knownClaim{claim, true, true})
	}
}

// repeatable returns the claims after which another attempt is safe.
func (c *claims) repeatable() []contract.Claim {
	return c.filter(func(k knownClaim) bool { return k.repeatable })
}

// over returns the claims whose tool no longer runs.
func (c *claims) over() []contract.Claim {
	return c.filter(func(k knownClaim) bool { return k.over })
}

// accounted returns all claims that the run can account for.
func (c *claims) accounted() []contract.Claim {
	return c.filter(func(knownClaim) bool { return true })
}

// filter returns the claims for which fits returns true, each claim once.
func (c *claims) filter(fits func(knownClaim) bool) []contract.Claim {
	var found []contract.Claim
	for _, k := range c.known {
		if fits(k) && !slices.Contains(found, k.Claim) {
			found = append(found, k.Claim)
		}
	}
	return found
}
